#!/bin/sh
# newest.sh PROGRAM...: runs a Python program with PyPI's apsw, which brings SQLite's newest release
# along; it is installed into build/venv once. APSW=3.45.1.0 takes that release in its place.
cd "$(dirname "$0")/../.." || exit 1
folder=build/venv$APSW
python=$folder/bin/python
skip() {
    echo "skipped: $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}
if ! $python -c 'import apsw' 2>/dev/null; then
    "${PYTHON:-python3}" -m venv "$folder" >/dev/null || skip "python3 -m venv fails (python3-venv)"
    $python -m pip install -q "apsw${APSW:+==$APSW}" ||
        skip "PyPI's apsw${APSW:+ $APSW} cannot be installed"
fi
exec $python "$@"
