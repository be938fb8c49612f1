from __future__ import annotations

from django.db import migrations


def make(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        # Read by GET /v1/search: words anywhere in a text.
        schema_editor.execute(
            "CREATE INDEX entry_search ON threads_entry USING gin (search_text gin_trgm_ops)"
            " WHERE search_text IS NOT NULL"
        )


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX entry_search")


class Migration(migrations.Migration):
    # The extension with these operators is made there.
    dependencies = [("threads", "0002_chats_and_files"), ("identities", "0002_search_index")]

    operations = [migrations.RunPython(make, drop)]
