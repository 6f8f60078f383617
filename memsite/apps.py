from django.apps import AppConfig
from django.contrib.admin import apps


class MemsiteConfig(AppConfig):
    default = True
    name = "memsite"


class AdminConfig(apps.SimpleAdminConfig):
    """The admin of each app is imported with the URLs: what serves no admin starts without it."""

    default = False
    default_site = "memsite.admin.MemorySite"
