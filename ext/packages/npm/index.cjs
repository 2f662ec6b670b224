// Where the library of this platform is, and how a connection gets it. In the repository make puts
// it beside this file. Otherwise the libraries are in optional packages, of which npm installs the
// one that fits: sqlite-bloom-linux-x64 and so on.
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const { inspect } = require("util");
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
  found ??= resolved(".");
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
      "If you installed the folder of the repository, run make in the repository, and then " +
      "npm uninstall sqlite-bloom, and install it again. " +
      "It is an optional dependency: install without --omit=optional and --no-optional, " +
      "and on the machine that runs it. From tarballs, install its tarball beside that of " +
      `sqlite-bloom: npm install ./sqlite-bloom-${version}.tgz ./${names[0]}-${version}.tgz. ` +
      "In a bundled server, leave sqlite-bloom out of the bundle (--external:sqlite-bloom) and " +
      "ship node_modules. There is one for linux, darwin and win32 on x64 and arm64",
  );
}

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

const isA = (type) => (value) => typeof value === type;
const isRate = (value) => value === null || (typeof value === "number" && !Number.isNaN(value));

// The options of each function: a test of the value, and what to pass. SQL checks the ranges.
const progress = [isA("function"), "a function"];
const OPTIONS = {
  build: {
    capacity: [Number.isSafeInteger, "a whole number"],
    fpr: [isRate, "a number between 0 and 1 (null for a bitmap)"],
    options: [isA("string"), 'text, for example "key=url"'],
    progress,
  },
  addAll: { progress },
};

// What others call these options.
const CALLED = new Map([
  ...["n", "size", "items"].map((word) => [word, "capacity"]),
  ...["p", "rate", "error_rate", "errorRate"].map((word) => [word, "fpr"]),
]);

const problem = (name, what) => new TypeError(`sqlite-bloom: ${name}(): ${what}`);
const shown = (value) => inspect(value, { depth: 0, breakLength: Infinity }).slice(0, 60);

// Whether a value is an object as { a: 1 } makes it, here or in another realm.
const isPlain = (value) =>
  typeof value === "object" && value !== null &&
  Object.getPrototypeOf(Object.getPrototypeOf(value) ?? Object.prototype) === null;

// The options of a call, its last argument. What is not known is an error, because a filter that
// was made without an option works, but otherwise than was meant.
function optionsOf(name, given, count) {
  const { [count - 1]: options = {}, [count]: more } = given;
  const known = OPTIONS[name];
  const advice = `Pass a plain object of options: ${Object.keys(known).join(", ")}`;
  if (!isPlain(options)) throw problem(name, `argument ${count} is ${shown(options)}. ${advice}`);
  if (given.length > count)
    throw problem(name, `argument ${count + 1} is ${shown(more)}. Leave it out`);
  const values = { ...options };
  for (const option of Reflect.ownKeys(values)) {
    if (!Object.hasOwn(known, option)) {
      const called = CALLED.get(option);
      throw problem(name, `there is no option ${String(option)}. ` +
        (Object.hasOwn(known, called) ? `It is called ${called}` : advice));
    }
    const [isRight, wanted] = known[option];
    if (!isRight(values[option]))
      throw problem(name, `${option} is ${shown(values[option])}. Pass ${wanted}, or leave it out`);
  }
  return values;
}

const badConnection = (name, database) =>
  problem(name, `the connection is ${shown(database)}. Pass a synchronous one, of ` +
    "better-sqlite3, node:sqlite (with allowExtension: true), bun:sqlite or libsql");

// What SQL returns, be rows objects or arrays.
const valueOf = (database, sql, ...bound) =>
  Object.values(database.prepare(sql)?.get?.(...bound) ?? {})[0];

function checkArguments(name, database, keys) {
  if (typeof database?.prepare !== "function" || Number(valueOf(database, "SELECT 1")) !== 1)
    throw badConnection(name, database);
  if (typeof keys === "string" || keys instanceof Uint8Array ||
      typeof keys?.[Symbol.iterator] !== "function")
    throw problem(name, `keys is ${shown(keys)}. Pass an iterable of keys, for example [key]`);
}

const PROGRESS_KEYS = 100_000;
const STATEMENT_KEYS = 1_000_000;
const BATCH_KEYS = 1000;
const BATCH_LENGTH = 1 << 20; // about, in characters

let feeds = 0; // under way: keys and progress may call build and addAll in turn

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
    this.ended = 0; // keys that end with a line end
    this.lastEnded = 0; // the number of the last one
    this.strings = [];
    this.length = 0;
    this.numbers = new DataView(new ArrayBuffer(8 * BATCH_KEYS));
    this.count = 0;
    this.table = `temp.bloom_feed_${feeds}`;
    database.exec(`CREATE TABLE IF NOT EXISTS ${this.table}(kind TEXT, batch)`);
    this.empty();
    this.insert = database.prepare(`INSERT INTO ${this.table} VALUES (?, ?)`);
  }

  write(kind, batch) {
    this.insert.run(kind, batch);
    this.kinds.add(kind);
  }

  add(key) {
    if (key === null || key === undefined) return;
    this.done++;
    if (typeof key === "string" && key.length > 0 && !/[\r\n]/.test(key)) {
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
      if (typeof key === "string" && /[\r\n]$/.test(key)) {
        this.ended++;
        this.lastEnded = this.done;
      }
    } else {
      const advice = "Pass a string, number, bigint of 64 bits or Uint8Array";
      throw problem(this.name, `key ${this.done} is ${shown(key)}. ${advice}`);
    }
    if (this.progress && this.done % PROGRESS_KEYS === 0) this.progress(this.done);
  }

  // Refuses the lines of a text from which nobody has taken the line ends, because they are found
  // only with their line ends. The last line of a text may have none.
  refuseLines(sql) {
    const others = this.done - this.ended;
    if (this.ended > 0 && (others === 0 || (others === 1 && this.lastEnded < this.done)))
      throw problem(this.name, "each key ends with a line end, as 'a\\r' does, and would only be " +
        `found with it. Give the whole text to bloom_lines: ${sql} FROM bloom_lines(?)`);
  }

  // The batch begins with a line end, since bloom_lines leaves out a byte order mark at its start.
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

  // A subquery of all keys, in its column value; undefined when there is none.
  flush() {
    this.flushStrings();
    this.flushNumbers();
    const columns = { lines: "text AS value", integers: "value", key: "batch AS value" };
    const functions = { lines: ", bloom_lines(batch)", integers: ", bloom_integers(batch)" };
    const parts = [...this.kinds].map((kind) => `SELECT ${columns[kind]} FROM ${this.table}` +
      `${functions[kind] ?? ""} WHERE kind = '${kind}'`);
    return parts.length > 0 ? `(${parts.join(" UNION ALL ")})` : undefined;
  }

  empty() {
    this.database.exec(`DELETE FROM ${this.table}`);
    this.kinds.clear();
  }

  reportTheEnd() {
    if (this.progress && this.done % PROGRESS_KEYS !== 0) this.progress(this.done);
  }
}

// Runs work within a savepoint: all of it or nothing.
function within(database, work) {
  database.exec("SAVEPOINT bloom_feed");
  feeds++;
  try {
    return work();
  } catch (error) {
    database.exec("ROLLBACK TO bloom_feed");
    throw error;
  } finally {
    feeds--;
    database.exec("RELEASE bloom_feed");
  }
}

function build(database, keys) {
  const { capacity = null, fpr = 0.01, options, progress } = optionsOf("build", arguments, 3);
  checkArguments("build", database, keys);
  return within(database, () => {
    const feed = new Feed(database, "build", progress);
    for (const key of keys) feed.add(key);
    feed.refuseLines("SELECT bloom_agg(text)");
    const table = feed.flush();
    if (table === undefined) {
      throw new Error(
        "sqlite-bloom: build(): there is no key, and an empty filter lets everything pass. " +
          "Look where the keys come from, or make an empty filter with SELECT bloom_new(n)",
      );
    }
    const more = options === undefined ? [] : [options];
    const sql = `SELECT bloom_agg(value, CAST(? AS INTEGER), ?${more.length ? ", ?" : ""})`;
    const filter = valueOf(database, `${sql} FROM ${table}`, capacity, fpr, ...more);
    feed.empty();
    feed.reportTheEnd();
    return filter;
  });
}

// One statement adds many keys, because a filter table writes what it holds in memory whenever a
// statement of several rows begins.
function addAll(database, table, keys) {
  const { progress } = optionsOf("addAll", arguments, 4);
  checkArguments("addAll", database, keys);
  if (typeof table !== "string")
    throw problem("addAll", `the table is ${shown(table)}. Pass its name as a string`);
  const name = `"${table.replaceAll('"', '""')}"`;
  database.prepare(`SELECT info FROM ${name}`); // an error where there is no filter table
  return within(database, () => {
    const feed = new Feed(database, "addAll", progress);
    const flush = () => {
      const source = feed.flush();
      if (source === undefined) return;
      database.exec(`INSERT INTO ${name}(key) SELECT value FROM ${source}`);
      feed.empty();
    };
    for (const key of keys) {
      feed.add(key);
      if (feed.done % STATEMENT_KEYS === 0) flush();
    }
    feed.refuseLines(`INSERT INTO ${name}(key) SELECT text`);
    flush();
    feed.reportTheEnd();
    return feed.done;
  });
}

module.exports = { addAll, build, getLoadablePath, load };
