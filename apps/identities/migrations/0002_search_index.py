from __future__ import annotations

from django.db import migrations


def make(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        # Read by the directory's search for words anywhere in a text.
        schema_editor.execute(
            "CREATE INDEX identity_search ON identities_identity USING gin (search_text gin_trgm_ops)"
            " WHERE listed"
        )


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX identity_search")


class Migration(migrations.Migration):
    dependencies = [("identities", "0001_initial")]

    operations = [migrations.RunPython(make, drop)]
