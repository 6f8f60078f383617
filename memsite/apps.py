from django.apps import AppConfig
from django.contrib.admin import apps


class MemsiteConfig(AppConfig):
    default = True
    name = "memsite"


class AdminConfig(apps.AdminConfig):
    default = False
    default_site = "memsite.admin.MemorySite"
