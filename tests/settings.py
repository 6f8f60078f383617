"""The product's settings on an empty configuration: no variable and no config.toml of the user reaches a test."""

import os
import tempfile
from pathlib import Path

GIVEN_MODEL = os.environ.get("MEMORY_MODEL_PATH", "")
HOME = Path(tempfile.mkdtemp(prefix="memsite-tests-"))
for name in [name for name in os.environ if name.startswith("MEMORY_") or name == "DATABASE_URL"]:
    del os.environ[name]
os.environ.update(HOME=str(HOME), XDG_CONFIG_HOME=str(HOME / "config"))

from memsite.settings import *  # noqa: E402, F403
from memsite.settings import DATABASES  # noqa: E402

DATABASES["default"]["TEST"] = {"NAME": HOME / "test.db"}
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
