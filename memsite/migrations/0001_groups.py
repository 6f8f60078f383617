from typing import Any

from django.db import migrations

from memsite import groups


def make(apps: Any, _schema_editor: Any) -> None:
    groups.make(apps)


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        ("memories", "0002_install_search"),
        ("telemetry", "0001_initial"),
    ]

    operations = [migrations.RunPython(make, migrations.RunPython.noop)]
