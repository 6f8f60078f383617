from django.db import migrations

from memories.operations import InstallSearch


class Migration(migrations.Migration):
    dependencies = [("memories", "0001_initial")]

    operations = [InstallSearch()]
