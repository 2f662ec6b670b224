#!/bin/sh
# newest.sh PROGRAM...: runs a Python program with PyPI's apsw, which brings SQLite's newest release
# along, as `make fetch` has put it into build/venv. APSW=3.45.1.0 takes that release instead.
cd "$(dirname "$0")/../.." || exit 1
python=build/venv$APSW/bin/python
if ! $python -c 'import apsw' 2>/dev/null; then
    echo "skipped: PyPI's apsw${APSW:+ $APSW} is missing: make fetch"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
exec $python "$@"
