#!/bin/sh
# Fetches what the tests of packages and hosts need of PyPI and npm besides the packages, once, into
# the folder build/drivers: what opens databases in Python and in JavaScript, ORMs, Playwright,
# bundlers.
# `make packages` and `make hosts` call it. Every environment of a test sees what is in there.
set -eu
cd "$(dirname "$0")/../.."
folder=build/drivers
mkdir -p $folder/node24 $folder/node26

[ -x $folder/bin/python ] || "${PYTHON:-python3}" -m venv $folder
$folder/bin/python -m pip install -q --disable-pip-version-check --no-compile \
    apsw sqlalchemy alembic peewee greenlet aiosqlite django mypy pysqlite3-binary \
    sqlcipher3-wheels adbc-driver-sqlite pyarrow numpy pandas polars scrapy datasette sqlite-utils \
    setuptools playwright hypothesis
# This one's module is named apsw, too.
$folder/bin/python -m pip install -q --disable-pip-version-check --no-compile --upgrade \
    --target $folder/multiple_ciphers apsw-sqlite3mc

command -v npm >/dev/null || exit 0
npm_install() {
    npm install --silent --no-audit --no-fund --prefer-offline --prefix "$@"
}
# Some compile SQLite here, and fast: the last option counts.
mkdir -p $folder/compilers
for name in cc gcc c++ g++; do
    printf '#!/bin/sh\nexec %s "$@" -O0\n' "$(command -v $name || echo $name)" \
        >$folder/compilers/$name
    chmod +x $folder/compilers/$name
done
PATH=$PWD/$folder/compilers:$PATH npm_install $folder better-sqlite3@12 sqlite3@6 libsql bun deno \
    drizzle-orm@0.45 knex@3 kysely@0.28 typeorm@1 \
    typescript@5 @types/better-sqlite3 @types/node axe-core \
    vite@8.3.8 webpack@5.112.2 webpack-cli@7.3.1 esbuild@0.28.2 rollup@4.68.8 \
    @rollup/plugin-node-resolve@16.0.3 parcel@2.16.4
# Apart, because npm would compile with a Node.js that it found among the packages.
npm_install $folder/node24 node@24
npm_install $folder/node26 node@26
