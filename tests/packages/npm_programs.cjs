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
  const says = (message, work) => assert.throws(work, { message });
  const refused = "Pass a string, number, bigint or Uint8Array";

  const odd = ["", "a\n", "\r", "\ufeffx", "ü", 1.5, 2 ** 53 - 1, -(2 ** 53 - 1), -1, 0,
    2n ** 63n - 1n, -(2n ** 63n), new Uint8Array([97]), new Uint8Array([255])];
  const many = Array.from({ length: 3500 }, (_, i) => (i % 3 ? `k${i}` : i));
  for (const keys of [odd, many, [...odd, ...many], ["\ufeff"], [7]])
    assert.deepEqual(built(keys, { options: "counting" }), agg(keys, ", NULL, 0.01, 'counting'"));
  assert.deepEqual(built([1, null, undefined, NaN, "a"], { n: 50, p: 0.001 }),
    agg([1, "a"], ", 50, 0.001"));
  says("sqlite-bloom: build(): there is no key, and an empty filter lets everything pass. Look" +
    " where the keys come from, or make an empty filter with SELECT bloom_new(n)", () => built([]));
  says("sqlite-bloom: build(): keys is not an iterable of keys. Pass an array, as in [key]",
    () => built("abc"));
  says(`sqlite-bloom: build(): key 2 is of type object. ${refused}`, () => built([1, {}]));
  says(`sqlite-bloom: build(): key 1 is a bigint of more than 64 bits. ${refused}`,
    () => built([2n ** 63n]));

  database.exec("CREATE VIRTUAL TABLE seen USING bloom(capacity=20000)");
  const reports = [];
  const progress = (count) => reports.push(count);
  assert.equal(addAll(database, "seen", many, { progress }), 3500);
  assert.equal(addAll(database, "seen", []), 0);
  for (const key of many) assert.equal(value("SELECT count(*) FROM seen WHERE key = ?", key), 1);
  const before = value("SELECT info FROM seen");
  const numbers = Array.from({ length: 120000 }, (_, i) => i);
  says("mine", () => addAll(database, "seen", (function* () {
    yield* numbers.slice(4000, 9000);
    throw new Error("mine");
  })()));
  assert.equal(value("SELECT info FROM seen"), before);
  built(numbers, { progress });
  assert.deepEqual(reports, [3500, 100000, 120000]);
  database.exec("CREATE VIRTUAL TABLE listed USING bloom(key=URL)"); // the table says how
  addAll(database, "listed", ["http://evil.example/"]);
  assert.equal(value("SELECT count(*) FROM listed WHERE key MATCH ?", "a.evil.example/b"), 1);
}

const [what, ...names] = isMainThread ? process.argv.slice(2) : ["mix", ...workerData];
if (what === "feed") feed(...names);
else mix(names);
