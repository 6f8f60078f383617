"""What the groups of the admin may do. A group says what, a grant says in which scopes."""

from typing import Any

VIEWER = (
    "memories.view_memory",
    "memories.view_conflict",
    "memories.view_candidate",
    "memories.view_auditentry",
    "memories.view_projectalias",
    "telemetry.view_injection",
    "telemetry.view_harnesssession",
)
CURATOR = (
    *VIEWER,
    "memories.add_memory",
    "memories.change_memory",
    "memories.change_conflict",
    "memories.change_candidate",
    "memories.add_projectalias",
    "memories.change_projectalias",
    "memories.delete_projectalias",
)
OWNER = CURATOR
"""And maintenance, which asks for the group by its name."""
GROUPS = {"viewer": VIEWER, "curator": CURATOR, "owner": OWNER}


def make(apps: Any) -> None:
    """Create the groups with their permissions; one that exists gets what it lacks. Put superusers into owner.

    Django makes permissions after all migrations: on a new database those of the models must be made first.
    """
    from django.contrib.auth.management import create_permissions  # noqa: PLC0415 - reads models

    for label in ("memories", "telemetry"):
        config = apps.get_app_config(label)
        before = getattr(config, "models_module", None)  # that of a migration has none, and then nothing is made
        config.models_module = before or True
        create_permissions(config, apps=apps, verbosity=0)
        config.models_module = before
    permissions = apps.get_model("auth", "Permission").objects.select_related("content_type")
    known = {f"{one.content_type.app_label}.{one.codename}": one for one in permissions}
    for name, wanted in GROUPS.items():
        group, _created = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        group.permissions.add(*(known[permission] for permission in wanted))
    owner = apps.get_model("auth", "Group").objects.get(name="owner")
    owner.user_set.add(*apps.get_model("auth", "User").objects.filter(is_superuser=True))
