"""What the tests of exchange fetch into build/exchange, once; or why they skip."""
import functools
import importlib
import os
import pathlib
import shutil
import subprocess
import sys

BUILD = pathlib.Path(__file__).resolve().parent.parent.parent / "build/exchange"
PATIENCE = 240  # seconds for what a registry has to send
GO_PLACE = "/usr/local/go/bin"  # where Go's own archive is unpacked


class Missing(Exception):
    pass


def fetched(program, *arguments, **options):
    """Returns the output of a program that fetches; what it cannot do is a reason to skip."""
    path = os.environ["PATH"] + os.pathsep + GO_PLACE
    where = shutil.which(program, path=path)
    if where is None:
        raise Missing(f"{program} is not installed")
    BUILD.mkdir(parents=True, exist_ok=True)
    try:
        return subprocess.run([where, *arguments], check=True, timeout=PATIENCE,
                              capture_output=True, stdin=subprocess.DEVNULL, **options).stdout
    except (subprocess.SubprocessError, OSError) as problem:
        raise Missing(f"{program} {arguments[0]}: {problem}") from problem


@functools.cache
def module(name):
    """A module for this Python that `make fetch` has put there."""
    for place in (BUILD / "python").glob("lib/python*/site-packages"):
        if str(place) not in sys.path:
            sys.path.append(str(place))
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        raise Missing(f"{name} is missing: make fetch") from problem
