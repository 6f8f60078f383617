"""Who is at the admin: a superuser, or staff of a group with one scope."""

from collections.abc import Callable

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.test import Client

from memories.models import Grant
from memsite import groups


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def browser(admin_user: User) -> Client:
    return logged_in(admin_user)


@pytest.fixture
def member(db: None) -> Callable[..., User]:
    """Staff in a group, with grants for some scopes."""

    def make(group: str, *scopes: str) -> User:
        groups.make(apps)  # a test that flushes the database takes the groups of the migration along
        user = User.objects.create_user(f"a {group}", is_staff=True)
        user.groups.add(Group.objects.get(name=group))
        for scope in scopes:
            Grant.objects.create(user=user, scope=scope)
        return user

    return make


@pytest.fixture
def guest(member: Callable[..., User]) -> Client:
    """A viewer of the scope `team`."""
    return logged_in(member("viewer", "team"))
