"""Every connection to SQLite that Django opens has the functions and tables of bloom."""

from django.apps import AppConfig
from django.db import connections
from django.db.backends.signals import connection_created

from .. import load


class BloomConfig(AppConfig):
    name = "sqlite_bloom.django"
    label = "sqlite_bloom"
    verbose_name = "sqlite-bloom"

    def ready(self):
        connection_created.connect(load_into, dispatch_uid="sqlite_bloom")
        for alias in connections:  # those that another app has opened already, in this thread
            if connections[alias].connection is not None:
                load_into(connections[alias])


# At the top level, because Django keeps a weak reference: a function inside ready would be gone.
def load_into(connection, **_):
    if connection.vendor == "sqlite":
        load(connection)
