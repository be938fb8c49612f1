from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("threads", "0003_search_index"),
    ]

    operations = [
        migrations.AddField(
            model_name="fileversion",
            name="cursor",
            field=models.BigIntegerField(default=0),
            preserve_default=False,
        ),
    ]
