"""Checks URLs with a filter from a file, which fuse_file.sql writes. From the top folder:

    python3 sql/fuse_client.py FILE URL...
"""
import json
import pathlib
import sqlite3
import sys


def open_filter(path):
    """A connection that holds the filter. A file that is not a whole filter is an error."""
    connection = sqlite3.connect(":memory:")
    connection.enable_load_extension(True)
    connection.load_extension("./bloom")
    connection.execute("CREATE TABLE list(f BLOB NOT NULL)")
    connection.execute("INSERT INTO list VALUES (?)", [pathlib.Path(path).read_bytes()])
    connection.execute("SELECT bloom_info(f) FROM list").fetchone()
    return connection


def suspects(connection, urls):
    """The URLs that are probably on the list. One statement checks them all."""
    query = """SELECT value FROM json_each(?)
                WHERE bloom_check((SELECT bloom_pin(f) FROM list), value)"""
    return [url for url, in connection.execute(query, [json.dumps(urls)])]


if __name__ == "__main__":
    found = suspects(open_filter(sys.argv[1]), sys.argv[2:])
    for url in sys.argv[2:]:
        print("probably listed     " if url in found else "certainly not listed", url)
