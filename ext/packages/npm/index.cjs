// Where the files of this platform are, and how a connection gets the library. In the repository
// make puts them beside this file. Otherwise they are in optional packages, of which npm installs
// the one that fits: sqlite-bloom-linux-x64 and so on.
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const { batchesOf, explain, makeClass, optionsOf, problem, shown } = require("./filter.cjs");
const { version } = require("./package.json");

const LIBRARIES = { linux: "bloom.so", darwin: "bloom.dylib", win32: "bloom.dll" };

// Which packages may hold the library: on Linux there are two C libraries.
function candidates(platform, processor) {
  const name = `sqlite-bloom-${platform === "win32" ? "windows" : platform}-${processor}`;
  return platform === "linux" ? [name, `${name}-musl`] : [name];
}

// Whether this Linux has musl. The report would ask name servers for every open socket, which takes
// seconds.
function isMusl() {
  if (!process.report || process.versions.bun || process.versions.deno) return false;
  const before = process.report.excludeNetwork;
  process.report.excludeNetwork = true;
  const { header } = process.report.getReport();
  process.report.excludeNetwork = before;
  return header !== undefined && !header.glibcVersionRuntime;
}

// A file inside an archive of Electron cannot be loaded. If it is unpacked, it is beside it.
function resolved(name, file) {
  try {
    const found = require.resolve(`${name}/${file}`);
    const unpacked = found.replace(/\bapp\.asar(?=[\\/])/, "app.asar.unpacked");
    if (unpacked === found || fs.existsSync(unpacked)) return unpacked;
    throw new Error(
      `sqlite-bloom: ${found} is inside app.asar, from where no library can be loaded. ` +
        'Unpack it: "asarUnpack": ["**/sqlite-bloom-*/**"] in electron-builder, or ' +
        '"asar": { "unpack": "**/sqlite-bloom-*/**" } in Electron Forge',
    );
  } catch (error) {
    if (String(error.message).includes("app.asar,")) throw error;
    return undefined;
  }
}

const found = {}; // once and for all

function pathOf(file) {
  found[file] ??= resolved(".", file);
  if (found[file] !== undefined) return found[file];
  const names = candidates(process.platform, process.arch);
  const paths = names.map((name) => resolved(name, file));
  const installed = paths.filter((one) => one !== undefined);
  // npm installs the one that fits; whoever copied both has us ask.
  if (installed.length > 0)
    return (found[file] = installed.length > 1 && isMusl() ? paths[1] : installed[0]);
  throw new Error(
    `sqlite-bloom: no ${file} for ${process.platform} on ${process.arch}: ` +
      `the package ${names.join(" or ")} is not installed. ` +
      "If you installed the folder of the repository, run make in the repository, and then " +
      "npm uninstall sqlite-bloom, and install it again. " +
      "It is an optional dependency: install without --omit=optional and --no-optional, " +
      "and on the machine that runs it. From tarballs, install its tarball beside that of " +
      `sqlite-bloom: npm install ./sqlite-bloom-${version}.tgz ./${names[0]}-${version}.tgz. ` +
      "In a bundled server, leave sqlite-bloom out of the bundle (--external:sqlite-bloom) and " +
      "ship node_modules. There is one for linux, darwin and win32 on x64 and arm64",
  );
}

const getLoadablePath = () => pathOf(LIBRARIES[process.platform]);

// What makes the class Filter. Where it cannot be loaded, the rest of this module works.
function addon() {
  try {
    const define = require(pathOf("filter.node"));
    if (typeof define === "function") return define;
    throw new Error("sqlite-bloom: filter.node finds no Node-API in this program");
  } catch (error) {
    return () => class {
      constructor() {
        throw error;
      }
    };
  }
}

const Filter = makeClass(addon());

function load(database) {
  if (typeof database?.loadExtension !== "function") throw badConnection("load", database);
  for (const file of [getLoadablePath(), ...copies]) {
    if (!isRefused(database, file)) return;
  }
  const copy = newCopy();
  database.loadExtension(copy);
  copies.push(copy);
}

// Private copies of the library, which this thread made for further SQLite libraries: a process may
// hold several, as those of node:sqlite and libsql, and one file serves one of them at a time.
const copies = [];

function newCopy() {
  const file = getLoadablePath();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sqlite-bloom-"));
  process.on("exit", () => {
    try {
      fs.rmSync(folder, { recursive: true });
    } catch {
      // Windows does not remove a library that is loaded.
    }
  });
  const copy = path.join(folder, path.basename(file));
  fs.copyFileSync(file, copy);
  return copy;
}

// Loads the file, unless it serves another SQLite library.
function isRefused(database, file) {
  try {
    database.loadExtension(file);
    return false;
  } catch (error) {
    if (!String(error).includes("serves another SQLite library")) throw error;
    return true;
  }
}

const badConnection = (name, database) =>
  problem(name, `the connection is ${shown(database)}. Pass a synchronous one, of ` +
    "better-sqlite3, node:sqlite (with allowExtension: true), bun:sqlite or libsql");

// What SQL returns, be rows objects or arrays.
const valueOf = (database, sql, ...bound) =>
  Object.values(database.prepare(sql)?.get?.(...bound) ?? {})[0];

const PROGRESS_KEYS = 100_000;
// Of one statement. A filter table writes what it holds in memory whenever one of several rows
// begins, so they are many.
const STATEMENT_KEYS = 200_000;
const STATEMENT_LENGTH = 1 << 24; // about, in characters

// What JSON hands to SQLite as it is. Elsewhere a zero byte ends a text, and digits may be rounded.
const isPlainKey = (key) => typeof key === "string"
  ? !key.includes("\0") && (key.isWellFormed?.() ?? !/\p{Surrogate}/u.test(key))
  : Number.isSafeInteger(key);

// Within a savepoint: all keys are added, or none.
function addAll(database, table, keys) {
  const { progress } = optionsOf("addAll", ["progress"], arguments, 4);
  if (typeof database?.prepare !== "function" || Number(valueOf(database, "SELECT 1")) !== 1)
    throw badConnection("addAll", database);
  if (typeof table !== "string")
    throw problem("addAll", `the table is ${shown(table)}. Pass its name as a string`);
  const name = `"${table.replaceAll('"', '""')}"`;
  database.prepare(`SELECT info FROM ${name}`); // an error where there is no filter table
  const addMany = database.prepare(`INSERT INTO ${name}(key) SELECT value FROM json_each(?)`);
  // libsql takes bytes as a list of values, if they are the only argument.
  const addOne = database.prepare(`INSERT INTO ${name}(key) SELECT ? WHERE ?`);
  let [done, plain, length] = [0, [], 0];
  const flush = () => {
    if (plain.length > 0) addMany.run(JSON.stringify(plain));
    [plain, length] = [[], 0];
  };
  database.exec("SAVEPOINT bloom_add_all");
  try {
    for (const batch of batchesOf("addAll", keys)) {
      for (const key of batch) {
        if (key === null || key === undefined) continue;
        done++;
        if (isPlainKey(key)) {
          length += key.length ?? 0;
          if (plain.push(key) === STATEMENT_KEYS || length > STATEMENT_LENGTH) flush();
        } else {
          explain("addAll", key, done);
          if (!Number.isNaN(key)) addOne.run(key, 1);
        }
        if (done % PROGRESS_KEYS === 0) progress?.(done);
      }
    }
    flush();
    if (done % PROGRESS_KEYS !== 0) progress?.(done);
    return done;
  } catch (error) {
    database.exec("ROLLBACK TO bloom_add_all");
    throw error;
  } finally {
    database.exec("RELEASE bloom_add_all");
  }
}

module.exports = { Filter, addAll, getLoadablePath, load };
