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
const STATEMENT_KEYS = 1_000_000;
const ROW_KEYS = 1000;
const ROW_LENGTH = 1 << 20; // about, in characters

let feeds = 0; // under way: keys and progress may call addAll in turn

// Collects keys in a temporary table, many in a row: strings as lines, whole numbers as 8 bytes
// each, everything else as it is. Rows are written to the file for temporary data, so memory stays
// flat.
class Feed {
  constructor(database) {
    this.database = database;
    this.kinds = new Set();
    this.done = 0;
    this.strings = [];
    this.length = 0;
    this.numbers = new DataView(new ArrayBuffer(8 * ROW_KEYS));
    this.count = 0;
    this.table = `temp.bloom_feed_${feeds}`;
    database.exec(`CREATE TABLE IF NOT EXISTS ${this.table}(kind TEXT, row)`);
    this.empty();
    this.insert = database.prepare(`INSERT INTO ${this.table} VALUES (?, ?)`);
  }

  write(kind, row) {
    this.insert.run(kind, row);
    this.kinds.add(kind);
  }

  add(key) {
    this.done++;
    if (typeof key === "string" && key.length > 0 && !/[\r\n\p{Surrogate}]/u.test(key)) {
      this.length += key.length;
      if (this.strings.push(key) === ROW_KEYS || this.length > ROW_LENGTH) this.flushStrings();
    } else if (typeof key === "number" && Number.isSafeInteger(key)) {
      this.numbers.setUint32(8 * this.count, key >>> 0, true);
      this.numbers.setInt32(8 * this.count + 4, Math.floor(key / 2 ** 32), true);
      if (++this.count === ROW_KEYS) this.flushNumbers();
    } else if (typeof key === "bigint" && BigInt.asIntN(64, key) === key) {
      this.numbers.setBigInt64(8 * this.count, key, true);
      if (++this.count === ROW_KEYS) this.flushNumbers();
    } else {
      explain("addAll", key, this.done);
      if (!Number.isNaN(key)) this.write("key", key);
    }
  }

  // The row begins with a line end, since bloom_lines leaves out a byte order mark at its start.
  flushStrings() {
    if (this.strings.length > 0) this.write("lines", "\n" + this.strings.join("\n"));
    this.strings = [];
    this.length = 0;
  }

  flushNumbers() {
    const bytes = new Uint8Array(this.numbers.buffer, 0, 8 * this.count);
    if (this.count > 0) this.write("integers", bytes);
    this.count = 0;
  }

  // Adds all keys so far to a filter table.
  flush(name) {
    this.flushStrings();
    this.flushNumbers();
    const columns = { lines: "text", integers: "value", key: "row" };
    const functions = { lines: ", bloom_lines(row)", integers: ", bloom_integers(row)", key: "" };
    const parts = [...this.kinds].map((kind) => `SELECT ${columns[kind]} FROM ${this.table}` +
      `${functions[kind]} WHERE kind = '${kind}'`);
    if (parts.length > 0)
      this.database.exec(`INSERT INTO ${name}(key) ${parts.join(" UNION ALL ")}`);
    this.empty();
  }

  empty() {
    this.database.exec(`DELETE FROM ${this.table}`);
    this.kinds.clear();
  }
}

// Within a savepoint: all keys are added, or none. One statement adds many, because a filter table
// writes what it holds in memory whenever a statement of several rows begins.
function addAll(database, table, keys) {
  const { progress } = optionsOf("addAll", ["progress"], arguments, 4);
  if (typeof database?.prepare !== "function" || Number(valueOf(database, "SELECT 1")) !== 1)
    throw badConnection("addAll", database);
  if (typeof table !== "string")
    throw problem("addAll", `the table is ${shown(table)}. Pass its name as a string`);
  const name = `"${table.replaceAll('"', '""')}"`;
  database.prepare(`SELECT info FROM ${name}`); // an error where there is no filter table
  database.exec("SAVEPOINT bloom_feed");
  feeds++;
  try {
    const feed = new Feed(database);
    for (const batch of batchesOf("addAll", keys)) {
      for (const key of batch) {
        if (key === null || key === undefined) continue;
        feed.add(key);
        if (feed.done % STATEMENT_KEYS === 0) feed.flush(name);
        if (feed.done % PROGRESS_KEYS === 0) progress?.(feed.done);
      }
    }
    feed.flush(name);
    if (feed.done % PROGRESS_KEYS !== 0) progress?.(feed.done);
    return feed.done;
  } catch (error) {
    database.exec("ROLLBACK TO bloom_feed");
    throw error;
  } finally {
    feeds--;
    database.exec("RELEASE bloom_feed");
  }
}

module.exports = { Filter, addAll, getLoadablePath, load };
