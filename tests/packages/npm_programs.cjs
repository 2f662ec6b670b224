// The package sqlite-bloom in a driver of Node.js: node npm_programs.cjs feed DRIVER, or mix DRIVER
// DRIVER for two drivers that bring an SQLite library each.
"use strict";
const assert = require("assert/strict");
const fs = require("fs");
const { Worker, isMainThread, workerData } = require("worker_threads");
const sqliteBloom = require("sqlite-bloom");

function open(name) {
  const driver = require(name);
  const database = driver.DatabaseSync
    ? new driver.DatabaseSync(":memory:", { allowExtension: true })
    : new driver(":memory:");
  sqliteBloom.load(database);
  sqliteBloom.load(database);
  return database;
}

// Both libraries in turn, in the main thread and then in three more.
function mix(names) {
  const databases = [0, 1, 2].flatMap(() => names.map(open));
  for (const database of databases)
    assert.equal(database.prepare("SELECT bloom_check(bloom_agg('a'), 'a') AS found").get().found,
      1);
  if (!isMainThread) return;
  assert.equal(fs.readdirSync(process.env.TMPDIR).length, 1);
  for (let i = 0; i < 3; i++)
    new Worker(__filename, { workerData: names }).on("error", (error) => { throw error; });
}

// Keys of every kind by addAll and in a Filter, against one INSERT a key.
function feed(name) {
  const { Filter, addAll } = sqliteBloom;
  const database = open(name);
  const value = (sql, ...bound) => Object.values(database.prepare(sql).get(...bound))[0];
  const agg = (keys, more) => {
    database.exec("DROP TABLE IF EXISTS t; CREATE TABLE t(x, y)");
    // libsql takes bytes as a list of values, if they are the only argument.
    const insert = database.prepare("INSERT INTO t VALUES (?, ?)");
    for (const key of keys) insert.run(key, 0);
    return Buffer.from(value(`SELECT bloom_agg(x${more}) FROM t`));
  };
  const says = (message, work) => assert.throws(work, { message: `sqlite-bloom: ${message}` });

  const odd = ["", "a\n", "\r", "\ufeffx", "ü", 1.5, 2 ** 53 - 1, -(2 ** 53 - 1), -1, 0,
    2n ** 63n - 1n, -(2n ** 63n), new Uint8Array([97]), new Uint8Array([255])];
  const many = Array.from({ length: 3500 }, (_, i) => (i % 3 ? `k${i}` : i));
  for (const keys of [odd, many, [...odd, ...many], ["\ufeff"], [7]]) {
    assert.deepEqual(Filter.build(keys, { layout: "counting" }).bytes(),
      agg(keys, ", NULL, 0.01, 'counting'"));
    database.exec("CREATE VIRTUAL TABLE made USING bloom(capacity=4000);" +
      "CREATE VIRTUAL TABLE wanted USING bloom(capacity=4000);" +
      "INSERT INTO wanted(key) SELECT x FROM t");
    addAll(database, "made", keys);
    assert.deepEqual(value("SELECT filter FROM made"), value("SELECT filter FROM wanted"));
    database.exec("DROP TABLE made; DROP TABLE wanted");
  }
  const urls = ["http://evil.example/", "bad.example/a"];
  const secret = "000102030405060708090a0b0c0d0e0f";
  assert.deepEqual(Filter.build(urls, { key: "url", salt: secret, fpr: 0.001 }).bytes(),
    agg(urls, `, NULL, 0.001, 'key=url, salt=${secret}'`));
  const list = "0.0.0.0 bad.example\n||evil.example/a\n";
  assert.deepEqual(Filter.fromBlocklist(list).bytes(),
    Buffer.from(value("SELECT bloom_list_agg(?)", list)));
  const filter = Filter.build(many, { capacity: 5000 });
  assert.deepEqual(many.map((key) => value("SELECT bloom_check(?, ?)", filter.bytes(), key)),
    many.map(() => 1));

  database.exec("CREATE VIRTUAL TABLE seen USING bloom(capacity=20000)");
  const connection = "Pass a synchronous one, of better-sqlite3, node:sqlite (with" +
    " allowExtension: true), bun:sqlite or libsql";
  const later = new (class Later { prepare() { return { get: () => this }; } })(); // node-sqlite3
  const key = "Pass a string, number, bigint of 64 bits or Uint8Array";
  for (const [said, ...given] of [
    ["there is no option p. Pass a plain object of options: progress", database, "seen", ["a"],
      { p: 0.5 }],
    ["argument 5 is 9. Leave it out", database, "seen", ["a"], {}, 9],
    [`the connection is undefined. ${connection}`],
    [`the connection is Later {}. ${connection}`, later, "seen", ["a"]],
    ["the table is null. Pass its name as a string", database, null, []],
    ["keys is 'abc'. Pass an iterable of keys, for example the lines of a text:"
      + " text.split(/\\r?\\n/).filter(Boolean)", database, "seen", "abc"],
    [`key 2 is {}. ${key}`, database, "seen", [1, {}]],
    [`key 1 is 9223372036854775808n. ${key}`, database, "seen", [2n ** 63n]],
    ["key 1 is 9007199254740992. Numbers beyond 2^53 are rounded. Pass a bigint, such as" +
      " 9007199254740993n", database, "seen", [2 ** 53]],
    ["key 2 is 'a\\ud800'. It has half of a surrogate pair. Pass text.toWellFormed(), or bytes",
      database, "seen", ["a", "a\ud800"]],
    ["each key has a line end, and would be found only with it. Pass" +
      " text.split(/\\r?\\n/).filter(Boolean)", database, "seen", ["a\r", "b\r", ""]],
  ])
    says(`addAll(): ${said}`, () => addAll(...given));
  assert.throws(() => addAll(database, "t", []), { message: "no such column: info" });
  const empty = value("SELECT info FROM seen");
  database.exec("CREATE VIRTUAL TABLE other USING bloom(capacity=20000)");
  assert.equal(value("SELECT info FROM other"), empty); // nothing was added
  const reports = [];
  const progress = (count) => reports.push(count);
  assert.equal(addAll(database, "seen", [...many, null, undefined], { progress }), 3500);
  assert.equal(addAll(database, "seen", []), 0);
  for (const key of many) assert.equal(value("SELECT count(*) FROM seen WHERE key = ?", key), 1);
  const before = value("SELECT info FROM seen");
  const numbers = Array.from({ length: 120000 }, (_, i) => i);
  const mine = function* () {
    yield* numbers.slice(4000, 9000);
    throw new Error("mine");
  };
  assert.throws(() => addAll(database, "seen", mine()), { message: "mine" });
  assert.equal(value("SELECT info FROM seen"), before);
  addAll(database, "other", numbers, { progress });
  assert.deepEqual(reports, [3500, 100000, 120000]);
  // A long text ends a statement amid a batch, and what was in it is not added again.
  database.exec("CREATE VIRTUAL TABLE counted USING bloom(capacity=9, layout=counting)");
  addAll(database, "counted", ["a", "x".repeat(2 ** 24), "b"]);
  assert.equal(value("SELECT bloom_count(filter, 'a') FROM counted"), 1);
  // Adding to another table meanwhile changes nothing.
  database.exec("CREATE VIRTUAL TABLE listed USING bloom(key=URL)");
  addAll(database, "listed", (function* () {
    yield "http://evil.example/";
    yield `http://${addAll(database, "other", many)}.example/`;
  })());
  for (const url of ["a.evil.example/b", "3500.example"])
    assert.equal(value("SELECT count(*) FROM listed WHERE key MATCH ?", url), 1);
}

const [what, ...names] = isMainThread ? process.argv.slice(2) : ["mix", ...workerData];
if (what === "feed") feed(...names);
else mix(names);
