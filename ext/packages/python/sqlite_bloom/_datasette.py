"""The plugin of Datasette: every connection that it opens has the functions."""

from datasette import hookimpl

from . import load


@hookimpl
def prepare_connection(conn):
    load(conn)
