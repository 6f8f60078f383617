from django.contrib import admin
from django.urls import path

from memsite.api import api

admin.autodiscover()

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", api.urls),
]
