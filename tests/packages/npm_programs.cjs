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

// Keys of every kind by build and addAll, against one INSERT a key.
function feed(name) {
  const { addAll, build } = sqliteBloom;
  const database = open(name);
  const value = (sql, ...bound) => Object.values(database.prepare(sql).get(...bound))[0];
  const agg = (keys, more) => {
    database.exec("DROP TABLE IF EXISTS t; CREATE TABLE t(x, y)");
    // libsql takes bytes as a list of values, if they are the only argument.
    const insert = database.prepare("INSERT INTO t VALUES (?, ?)");
    for (const key of keys) insert.run(key, 0);
    return Buffer.from(value(`SELECT bloom_agg(x${more}) FROM t`));
  };
  const built = (keys, options) => Buffer.from(build(database, keys, options));
  const says = (message, work) => assert.throws(work, { message: `sqlite-bloom: ${message}` });

  const odd = ["", "a\n", "\r", "\ufeffx", "ü", 1.5, 2 ** 53 - 1, -(2 ** 53 - 1), -1, 0,
    2n ** 63n - 1n, -(2n ** 63n), new Uint8Array([97]), new Uint8Array([255])];
  const many = Array.from({ length: 3500 }, (_, i) => (i % 3 ? `k${i}` : i));
  for (const keys of [odd, many, [...odd, ...many], ["\ufeff"], [7]])
    assert.deepEqual(built(keys, { options: "counting" }), agg(keys, ", NULL, 0.01, 'counting'"));
  assert.deepEqual(built([1, null, undefined, NaN, "a"], { capacity: 50, fpr: 0.001 }),
    agg([1, "a"], ", 50, 0.001"));
  says("build(): there is no key, and an empty filter lets everything pass. Look where the keys" +
    " come from, or make an empty filter with SELECT bloom_new(n)", () => built([]));

  // What is not known is an error. Each message begins with what is wrong, a call for each.
  const plain = "Pass a plain object of options: capacity, fpr, options, progress";
  const rate = "Pass a number between 0 and 1 (null for a bitmap), or leave it out";
  const key = "Pass a string, number, bigint of 64 bits or Uint8Array";
  const connection = "Pass a synchronous one, of better-sqlite3, node:sqlite (with" +
    " allowExtension: true), bun:sqlite or libsql";
  const later = new (class Later { prepare() { return { get: () => this }; } })(); // node-sqlite3
  for (const [said, advice, ...given] of [
    ["there is no option p", "It is called fpr", database, ["a"], { p: 0.0001 }],
    ["there is no option error_rate", "It is called fpr", database, ["a"], { error_rate: 0.0001 }],
    ["there is no option n", "It is called capacity", database, ["a"], { n: 9 }],
    ["there is no option __proto__", plain, database, ["a"], JSON.parse('{"__proto__": 1}')],
    ["there is no option Symbol(p)", plain, database, ["a"], { [Symbol("p")]: 0.5 }],
    ["argument 3 is 0.001", plain, database, ["a"], 0.001],
    ["argument 3 is null", plain, database, ["a"], null],
    ["argument 3 is 'key=url'", plain, database, ["a"], "key=url"],
    ["argument 3 is [ 0.5 ]", plain, database, ["a"], [0.5]],
    ["argument 3 is {}", plain, database, ["a"], Object.create({ fpr: 0.5 })],
    ["argument 4 is 9", "Leave it out", database, ["a"], {}, 9],
    ["fpr is undefined", rate, database, ["a"], { fpr: undefined }],
    ["fpr is NaN", rate, database, ["a"], { fpr: NaN }],
    ["capacity is 9n", "Pass a whole number, or leave it out", database, ["a"],
      { capacity: 9n }],
    ["options is null", 'Pass text, for example "key=url", or leave it out', database, ["a"],
      { options: null }],
    ["the connection is undefined", connection],
    ["the connection is Later {}", connection, later, ["a"]],
    ["keys is null", "Pass an iterable of keys, for example [key]", database, null],
    ["keys is 'abc'", "Pass an iterable of keys, for example [key]", database, "abc"],
    ["key 2 is {}", key, database, [1, {}]],
    ["key 1 is 9223372036854775808n", key, database, [2n ** 63n]],
  ])
    says(`build(): ${said}. ${advice}`, () => build(...given));
  assert.throws(() => built(["a"], { get fpr() { throw new Error("mine"); } }),
    { message: "mine" });
  const other = require("vm").runInNewContext("Object.freeze({ fpr: 0.5 })"); // of another realm
  assert.deepEqual(built(["a"], other), agg(["a"], ", NULL, 0.5"));

  database.exec("CREATE VIRTUAL TABLE seen USING bloom(capacity=20000)");
  says("addAll(): there is no option p. Pass a plain object of options: progress",
    () => addAll(database, "seen", ["a"], { p: 0.5 }));
  says("addAll(): there is no option options. Pass a plain object of options: progress",
    () => addAll(database, "seen", ["a"], { options: "key=url" }));
  says("addAll(): the table is null. Pass its name as a string", () => addAll(database, null, []));
  assert.throws(() => addAll(database, "t", []), { message: "no such column: info" });
  // The lines of a text with their line ends, of which the last may have none; not keys among which
  // there is one.
  const each = "each key ends with a line end, as 'a\\r' does, and would only be found with it." +
    " Give the whole text to bloom_lines: ";
  for (const text of ["a\r\nb\r\nc", "a\r\nb\r\n", "a\r\n"]) {
    const lines = text.split("\n");
    says(`build(): ${each}SELECT bloom_agg(text) FROM bloom_lines(?)`,
      () => build(database, lines));
    says(`addAll(): ${each}INSERT INTO "seen"(key) SELECT text FROM bloom_lines(?)`,
      () => addAll(database, "seen", lines));
    assert.equal(value("SELECT count(*) FROM seen WHERE key IN ('a\r', 'a', '')"), 0);
  }
  for (const keys of [["a", "b\n"], ["a\n", 5, "b"], ["a\n", new Uint8Array([10]), "b"]])
    assert.deepEqual(built(keys), agg(keys, ""));
  const reports = [];
  const progress = (count) => reports.push(count);
  assert.equal(addAll(database, "seen", many, { progress }), 3500);
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
  built(numbers, { progress });
  assert.deepEqual(reports, [3500, 100000, 120000]);
  // The table says how, and building another filter meanwhile changes nothing.
  const salt = "salt='000102030405060708090a0b0c0d0e0f'";
  database.exec(`CREATE VIRTUAL TABLE listed USING bloom(key=URL, ${salt})`);
  addAll(database, "listed", (function* () {
    yield "http://evil.example/";
    yield `http://${built(many).length}.example/`;
  })());
  assert.equal(value("SELECT count(*) FROM listed WHERE key MATCH ?", "a.evil.example/b"), 1);
}

const [what, ...names] = isMainThread ? process.argv.slice(2) : ["mix", ...workerData];
if (what === "feed") feed(...names);
else mix(names);
