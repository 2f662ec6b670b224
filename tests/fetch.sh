#!/bin/sh
# Fetches what `make test` needs of PyPI and npm into build, once: `make fetch`. No suite of `make
# test` uses the network. A suite that needs what is not there skips and names this command.
set -eu
cd "$(dirname "$0")/.."

# packages FOLDER PACKAGE...: a Python in FOLDER with those packages.
packages() {
    [ -x "$1/bin/python" ] || "${PYTHON:-python3}" -m venv "$1"
    folder=$1
    shift
    "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@"
}

# apsw brings SQLite along: the newest release, and the one of Ubuntu 24.04.
packages build/venv apsw
packages build/venv3.45.1.0 apsw==3.45.1.0
# A parser of URLs by others, and engines that block.
packages build/exchange/python adblock==0.6.0
if command -v npm >/dev/null; then
    mkdir -p build/exchange/whatwg-url build/exchange/engines build/exchange/node
    npm install --silent --prefix build/exchange/node node-api-headers@1
    npm install --silent --prefix build/exchange/whatwg-url whatwg-url@16.0.1
    npm install --silent --prefix build/exchange/engines @ghostery/adblocker@2.18.2 \
        @gorhill/ubo-core@0.1.30
else
    echo "make fetch: npm is not installed, so whatwg-url and engines are missing (Debian: npm)" >&2
fi
