#!/bin/sh
# newest.sh PROGRAM...: runs a Python program with PyPI's apsw, which brings SQLite's newest release
# along; it is installed into build/venv once.
cd "$(dirname "$0")/../.." || exit 1
python=build/venv/bin/python
if ! $python -c 'import apsw' 2>/dev/null &&
    ! { "${PYTHON:-python3}" -m venv build/venv && $python -m pip install -q apsw; }; then
    echo "skipped: apsw cannot be installed from PyPI"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
exec $python "$@"
