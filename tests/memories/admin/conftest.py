"""Who is at the admin: its owner, or staff with one scope."""

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache
from django.test import Client

from memories.models import Grant


@pytest.fixture
def owner() -> User:
    return User.objects.create_superuser("owner", password="secret")


@pytest.fixture
def browser(owner: User) -> Client:
    cache.clear()
    client = Client()
    client.force_login(owner)
    return client


@pytest.fixture
def staff() -> User:
    """May do everything with memories, in the scope `team` only."""
    user = User.objects.create_user("staff", password="secret", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="memories"))
    Grant.objects.create(user=user, scope="team")
    return user


@pytest.fixture
def staff_browser(staff: User) -> Client:
    client = Client()
    client.force_login(staff)
    return client
