"""For Datasette and sqlite-utils: every connection that they open has the functions."""

import pluggy

from . import load


@pluggy.HookimplMarker("datasette")
@pluggy.HookimplMarker("sqlite_utils")
def prepare_connection(conn):
    load(conn)
