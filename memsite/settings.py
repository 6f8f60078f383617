"""Django settings, derived from one `Env`."""

import hashlib
import os

from django.utils.csp import CSP
from django.utils.functional import SimpleLazyObject

from memsite.env import read_env
from memsite.files import signing_key

MEMORY = read_env()

DEBUG = False
SECRET_KEY = SimpleLazyObject(lambda: signing_key(MEMORY.database))
ALLOWED_HOSTS = ["*"]  # memsite.guard checks Host before Django sees a request
ROOT_URLCONF = "memsite.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False
FORMAT_MODULE_PATH = "memsite.formats"

INSTALLED_APPS = [
    "memsite",  # first: its templates win over the admin's
    "memsite.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "ninja",
    "memories",
    "telemetry",
]

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": MEMORY.database,
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON",
        },
    }
}

# The admin's list; REST runs without any (memsite.asgi.ApiHandler).
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.csp",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

SECURE_CSP = {
    "default-src": [CSP.SELF],
    "script-src": [CSP.SELF, CSP.NONCE],
    "style-src": [CSP.SELF, CSP.NONCE],
    "img-src": [CSP.SELF, "data:"],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

# Cookies ignore ports, and several instances on one machine are normal.
_INSTANCE = hashlib.sha256(os.fsencode(MEMORY.database)).hexdigest()[:8]
SESSION_COOKIE_NAME = f"memory_session_{_INSTANCE}"
CSRF_COOKIE_NAME = f"memory_csrf_{_INSTANCE}"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True

STATIC_URL = "static/"

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "sesame.backends.ModelBackend",
]
SESAME_ONE_TIME = True
SESAME_MAX_AGE = 300
LOGIN_URL = "admin:login"
LOGIN_REDIRECT_URL = "admin:index"

DATA_UPLOAD_MAX_MEMORY_SIZE = None  # memsite.guard limits every body
DATA_UPLOAD_MAX_NUMBER_FIELDS = 50_000

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "memsite": {"level": "INFO"},
        "memories": {"level": "INFO"},
        "django.request": {"level": "ERROR"},  # a client's mistake is the client's to read
    },
}
