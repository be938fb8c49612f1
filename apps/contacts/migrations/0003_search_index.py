from __future__ import annotations

from django.db import migrations


def make(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        # Read by GET /v1/directory/rooms: words anywhere in a topic.
        schema_editor.execute(
            "CREATE INDEX room_search ON contacts_chat USING gin (search_text gin_trgm_ops)"
            " WHERE visibility = 'public'"
        )


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX room_search")


class Migration(migrations.Migration):
    # The extension with these operators is made there.
    dependencies = [("contacts", "0002_rooms"), ("identities", "0002_search_index")]

    operations = [migrations.RunPython(make, drop)]
