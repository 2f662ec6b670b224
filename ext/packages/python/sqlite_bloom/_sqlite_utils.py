"""The plugin of sqlite-utils: every connection that it opens has the functions."""

from sqlite_utils import hookimpl

from . import load


@hookimpl
def prepare_connection(conn):
    load(conn)
