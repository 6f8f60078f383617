"""The groups that a migration makes."""

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User

from memsite import groups
from tests.service import Home


@pytest.mark.django_db
def test_groups_grow_and_superusers_own():
    owner = User.objects.create_superuser("owner")
    groups.make(apps)
    viewer, curator = Group.objects.get(name="viewer"), Group.objects.get(name="curator")
    assert {one.codename.partition("_")[0] for one in viewer.permissions.all()} == {"view"}
    assert set(viewer.permissions.all()) < set(curator.permissions.all())
    assert owner.groups.filter(name="owner").exists()
    for group in Group.objects.filter(name__in=groups.GROUPS):
        assert not group.permissions.filter(content_type__model__in=["accesstoken", "grant"]).exists()


@pytest.mark.server
def test_a_new_store_has_the_groups_with_their_permissions_and_its_owner(home: Home):
    code = (
        "from memsite.store import prepare_store; prepare_store()\n"
        "from django.contrib.auth.models import Group, User\n"
        "print(sorted((group.name, group.permissions.count()) for group in Group.objects.all()))\n"
        "print([group.name for group in User.objects.get().groups.all()])"
    )
    answer = home.run("shell", "--no-imports", "-c", code)
    counts = {name: len(wanted) for name, wanted in groups.GROUPS.items()}
    assert answer.stdout.splitlines() == [str(sorted(counts.items())), "['owner']"], answer.stderr
