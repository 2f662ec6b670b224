// Where the library of this platform is, and how a connection gets it. The libraries are in
// optional packages, of which npm installs the one that fits: sqlite-bloom-linux-x64 and so on.
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
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

// A library inside an archive of Electron cannot be loaded. If it is unpacked, it is beside it.
function resolved(name) {
  try {
    const file = require.resolve(`${name}/${LIBRARIES[process.platform]}`);
    const unpacked = file.replace(/\bapp\.asar(?=[\\/])/, "app.asar.unpacked");
    if (unpacked === file || fs.existsSync(unpacked)) return unpacked;
    throw new Error(
      `sqlite-bloom: ${file} is inside app.asar, from where no library can be loaded. ` +
        'Unpack it: "asarUnpack": ["**/sqlite-bloom-*/**"] in electron-builder, or ' +
        '"asar": { "unpack": "**/sqlite-bloom-*/**" } in Electron Forge',
    );
  } catch (error) {
    if (String(error.message).includes("app.asar,")) throw error;
    return undefined;
  }
}

let found; // once and for all

function getLoadablePath() {
  if (found !== undefined) return found;
  const names = candidates(process.platform, process.arch);
  const paths = names.map(resolved);
  const installed = paths.filter((file) => file !== undefined);
  // npm installs the one that fits; whoever copied both has us ask.
  if (installed.length > 0) {
    found = installed.length > 1 && isMusl() ? paths[1] : installed[0];
    return found;
  }
  throw new Error(
    `sqlite-bloom: no library for ${process.platform} on ${process.arch}: ` +
      `the package ${names.join(" or ")} is not installed. ` +
      "It is an optional dependency: install without --omit=optional and --no-optional, " +
      "and on the machine that runs it. From tarballs, install its tarball beside that of " +
      `sqlite-bloom: npm install ./sqlite-bloom-${version}.tgz ./${names[0]}-${version}.tgz. ` +
      "In a bundled server, leave sqlite-bloom out of the bundle (--external:sqlite-bloom) and " +
      "ship node_modules. There is one for linux, darwin and win32 on x64 and arm64",
  );
}

function load(database) {
  if (
    database === null ||
    typeof database !== "object" ||
    typeof database.loadExtension !== "function"
  ) {
    throw new TypeError(
      "sqlite-bloom: load(): this is not a connection that has loadExtension(). Pass one of " +
        "better-sqlite3, node:sqlite (with allowExtension: true) or bun:sqlite",
    );
  }
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

const PROGRESS_KEYS = 100_000;
const BATCH_KEYS = 1000;
const BATCH_LENGTH = 1 << 20; // about, in characters

// Collects keys in a temporary table, many in a row: strings as lines, whole numbers as 8 bytes
// each, everything else as it is. Rows are written to the file for temporary data, so memory stays
// flat.
class Feed {
  constructor(database, name, progress) {
    this.database = database;
    this.name = name;
    this.progress = progress;
    this.kinds = new Set();
    this.done = 0;
    this.clear();
    database.exec("CREATE TEMP TABLE IF NOT EXISTS bloom_feed(kind TEXT, batch)");
    database.exec("DELETE FROM temp.bloom_feed");
    this.insert = database.prepare("INSERT INTO temp.bloom_feed VALUES (?, ?)");
  }

  clear() {
    this.strings = [];
    this.length = 0;
    this.numbers = new DataView(new ArrayBuffer(8 * BATCH_KEYS));
    this.count = 0;
  }

  write(kind, batch) {
    this.insert.run(kind, batch);
    this.kinds.add(kind);
  }

  add(key) {
    if (key === null || key === undefined) return;
    this.done++;
    if (typeof key === "string" && key.length > 0) {
      this.length += key.length;
      if (this.strings.push(key) === BATCH_KEYS || this.length > BATCH_LENGTH) this.flushStrings();
    } else if (typeof key === "number" && Number.isSafeInteger(key)) {
      this.numbers.setUint32(8 * this.count, key >>> 0, true);
      this.numbers.setInt32(8 * this.count + 4, Math.floor(key / 2 ** 32), true);
      if (++this.count === BATCH_KEYS) this.flushNumbers();
    } else if (typeof key === "bigint" && BigInt.asIntN(64, key) === key) {
      this.numbers.setBigInt64(8 * this.count, key, true);
      if (++this.count === BATCH_KEYS) this.flushNumbers();
    } else if (typeof key === "string" || key instanceof Uint8Array || typeof key === "number") {
      if (!Number.isNaN(key)) this.write("key", key);
    } else {
      const type = typeof key;
      const what = type === "bigint" ? "a bigint of more than 64 bits" : `of type ${type}`;
      throw new TypeError(
        `sqlite-bloom: ${this.name}(): key ${this.done} is ${what}. ` +
          "Pass a string, number, bigint or Uint8Array",
      );
    }
    if (this.progress && this.done % PROGRESS_KEYS === 0) this.progress(this.done);
  }

  // The batch begins with a line end, since bloom_lines leaves out a byte order mark at its start.
  flushStrings() {
    let lines = this.strings;
    if (/[\r\n]/.test(lines.join(""))) {
      for (const key of lines) if (/[\r\n]/.test(key)) this.write("key", key);
      lines = lines.filter((key) => !/[\r\n]/.test(key));
    }
    if (lines.length > 0) this.write("lines", "\n" + lines.join("\n"));
    this.strings = [];
    this.length = 0;
  }

  flushNumbers() {
    const bytes = new Uint8Array(this.numbers.buffer, 0, 8 * this.count);
    if (this.count > 0) this.write("integers", bytes);
    this.count = 0;
  }

  // A subquery of all keys, in its column value; undefined when there is none.
  flush() {
    this.flushStrings();
    this.flushNumbers();
    const columns = { lines: "text", integers: "value", key: "batch" };
    const functions = { lines: "CROSS JOIN bloom_lines(batch)",
      integers: "CROSS JOIN bloom_integers(batch)", key: "" };
    const parts = [...this.kinds].map((kind) =>
      `SELECT ${columns[kind]} AS value FROM temp.bloom_feed ${functions[kind]} ` +
      `WHERE kind = '${kind}'`);
    return parts.length > 0 ? `(${parts.join(" UNION ALL ")})` : undefined;
  }

  empty() {
    this.database.exec("DELETE FROM temp.bloom_feed");
    this.kinds.clear();
  }

  reportTheEnd() {
    if (this.progress && this.done % PROGRESS_KEYS !== 0) this.progress(this.done);
  }
}

function checkKeys(keys, name) {
  if (typeof keys === "string" || keys instanceof Uint8Array ||
      typeof keys?.[Symbol.iterator] !== "function") {
    throw new TypeError(
      `sqlite-bloom: ${name}(): keys is not an iterable of keys. Pass an array, as in [key]`,
    );
  }
}

// Runs work within a savepoint: all of it or nothing.
function within(database, work) {
  database.exec("SAVEPOINT bloom_feed");
  try {
    return work();
  } catch (error) {
    database.exec("ROLLBACK TO bloom_feed");
    throw error;
  } finally {
    database.exec("RELEASE bloom_feed");
  }
}

function build(database, keys, { n = null, p = 0.01, options, progress } = {}) {
  checkKeys(keys, "build");
  return within(database, () => {
    const feed = new Feed(database, "build", progress);
    for (const key of keys) feed.add(key);
    const table = feed.flush();
    if (table === undefined) {
      throw new Error(
        "sqlite-bloom: build(): there is no key, and an empty filter lets everything pass. " +
          "Look where the keys come from, or make an empty filter with SELECT bloom_new(n)",
      );
    }
    const more = options === undefined ? [] : [options];
    const arguments_ = ["value", "CAST(? AS INTEGER)", "?", ...more.map(() => "?")];
    const row = database
      .prepare(`SELECT bloom_agg(${arguments_.join(", ")}) AS filter FROM ${table}`)
      .get(n, p, ...more);
    feed.empty();
    feed.reportTheEnd();
    return row.filter;
  });
}

function addAll(database, table, keys, { options, progress } = {}) {
  checkKeys(keys, "addAll");
  const name = `"${table.replaceAll('"', '""')}"`;
  const info = JSON.parse(database.prepare(`SELECT info FROM ${name}`).get().info);
  const limit = Math.max(BATCH_KEYS, Math.floor(info.capacity / 10));
  if (info.key !== undefined) options ??= `key=${info.key}`;
  const more = options === undefined ? [] : [options];
  return within(database, () => {
    const feed = new Feed(database, "addAll", progress);
    const flush = () => {
      const source = feed.flush();
      if (source === undefined) return;
      const hashes = options === undefined ? "bloom_hashes(value)" : "bloom_hashes(value, ?)";
      database
        .prepare(`INSERT INTO ${name}(${name}, key) SELECT 'add_all', ${hashes} FROM ${source}`)
        .run(...more);
      feed.empty();
    };
    for (const key of keys) {
      feed.add(key);
      if (feed.done % limit === 0) flush();
    }
    flush();
    feed.reportTheEnd();
    return feed.done;
  });
}

module.exports = { addAll, build, getLoadablePath, load };
