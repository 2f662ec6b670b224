// The WebAssembly module under Node.js: node web_module.mjs MODULE THEIRS OURS. THEIRS is a
// database with a filter table in WAL mode, written by another SQLite, and OURS is written for it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const [module, theirs, ours] = process.argv.slice(2);
const { open, openInWorker } = await import(module);
// What an error says, of a call or of a promise.
const words = (error) => `${error.constructor.name}: ${error.message}`;
const said = (call) => {
  try {
    return call();
  } catch (error) {
    return words(error);
  }
};

const [database, other] = await Promise.all([open(), open()]);
const one = (sql, parameters) => database.run(sql, parameters)[0].rows[0];

// Databases are apart, and closing one ends its statements.
database.run("CREATE TABLE apart(x)");
const gone = other.prepare("SELECT 1");
assert.deepEqual(other.run("SELECT count(*) FROM sqlite_master")[0].rows, [[0]]);
other.close();

// Errors and their messages.
const far = await openInWorker();
const view = "an ArrayBuffer or view of one";
const plain = "Pass a plain object of options:";
const reads = "asText, maximumRows, maximumCells, maximumLength, longestValue";
const few = database.prepare("SELECT ?");
for (const [message, call] of [
  [`parameter 1 is of type Date. Pass a number, BigInt, boolean, string, null, ${view.slice(3)}`,
    () => database.run("SELECT ?", [new Date()])],
  ["RangeError: parameter 1: 18446744073709551621 has more than 64 bits",
    () => database.run("SELECT ?", [2n ** 64n + 5n])],
  ['the parameters are "a". Pass an array or a plain object',
    () => database.run("SELECT ?", "a")],
  ["the parameters are null. Pass an array or a plain object",
    () => far.run("SELECT ?", null)],
  ["RangeError: 2 parameters are wanted, 1 given", () => database.run("SELECT ?1, ?2", [1])],
  ["RangeError: 1 parameter is wanted, none given", () => database.run("SELECT ?")],
  ["parameter 1 is undefined. Pass null for NULL", () => database.run("SELECT ?", [undefined])],
  ["parameter 1 is undefined. Pass null for NULL", () => few.all(new Array(1))],
  ["RangeError: parameter @b is missing", () => database.run("SELECT :a, @b", { a: 1 })],
  ["RangeError: the statement has no parameter b, c",
    () => database.run("SELECT :a", { a: 1, b: 2, c: 3 })],
  ["RangeError: parameter 1 has no name: give an array", () => database.run("SELECT ?", { a: 1 })],
  ["SqliteError: one statement is wanted, and there are more in the SQL",
    () => database.run("SELECT ?; SELECT 2", [1])],
  ["SqliteError: there is no statement in the SQL", () => database.prepare(" -- nothing")],
  ["SqliteError: the statement is finalized", () => gone.all()],
  ["SqliteError: the database is closed", () => other.run("SELECT 1")],
  ["SqliteError: file is not a database", () => open({ bytes: new Uint8Array(4096).fill(7) })],
  // Options that are not known are errors, as are values in their place.
  ["the SQL is undefined. Pass a string", () => far.run(undefined)],
  ["the SQL is null. Pass a string", () => database.prepare(null)],
  ['save(): argument 1 is "x.db". Leave it out', () => far.save("x.db")],
  ["prepare(): argument 2 is of type Array. Leave it out", () => database.prepare("SELECT ?", [1])],
  ["get(): argument 2 is of type Object. Leave it out", () => few.get([1], { asText: true })],
  [`all(): there is no option onResult. ${plain} ${reads}`, () => few.all([1], { onResult() {} })],
  ...[database, far].flatMap((on) => [
    [`run(): there is no option maxRows. ${plain} ${reads}, onResult, onProgress`,
      () => on.run("SELECT 1", [], { maxRows: 1 })],
    [`run(): argument 3 is 1. ${plain} ${reads}, onResult, onProgress`,
      () => on.run("SELECT 1", [], 1)],
    [`run(): maximumRows is NaN. Pass a whole number or Infinity, or leave it out`,
      () => on.run("SELECT 1", [], { maximumRows: NaN })],
    [`run(): asText is undefined. Pass true or false, or leave it out`,
      () => on.run("SELECT 1", [], { asText: undefined })],
    [`run(): onProgress is null. Pass a function, or leave it out`,
      () => on.run("SELECT 1", [], { onProgress: null })],
  ]),
  [`open(): argument 1 is "x.db". ${plain} wasm, bytes, files`, () => open("x.db")],
  [`open(): there is no option byte. ${plain} wasm, bytes, files`, () => open({ byte: 1 })],
  [`open(): bytes is "text". Pass ${view}, or leave it out`, () => open({ bytes: "text" })],
  [`open(): files is of type Map. Pass an object of names and bytes, or leave it out`,
    () => open({ files: new Map() })],
  [`the file a is "text". Pass ${view}`, () => open({ files: { a: "text" } })],
  [`openInWorker(): argument 1 is null. ${plain} wasm, bytes, files, worker`,
    () => openInWorker(null)],
  [`openInWorker(): worker is of type Object. Pass a Worker, or leave it out`,
    () => openInWorker({ worker: {} })],
])
  assert.equal(await (async () => call())().catch(words),
    /^(Range|Sqlite)Error/.test(message) ? message : `TypeError: ${message}`);

// The extension, and values of every kind there and back.
assert.equal(createHash("md5").update(one(process.env.FILTER)[0]).digest("hex"),
  process.env.FILTER_MD5);
assert.match(one("SELECT bloom_build()")[0],
  new RegExp(`^bloom ${process.env.RELEASE}, .*, linked in, 32 bits$`));
const bytes = new Uint8Array([0, 255]);
for (const value of [1, -1.5, 2n ** 62n, 9007199254740993n, "\ufeffa\0ü", bytes, null])
  assert.deepEqual(one("SELECT ?", [value]), [value]);
assert.deepEqual(one("SELECT ?, ?, ?", [true, bytes.buffer, new DataView(bytes.buffer, 1)]),
  [1, bytes, bytes.slice(1)]);

// Results that are cut.
const row = [{ start: "ä", bytes: 6 }, "abc", 5, null];
for (const [option, rows] of [[{ maximumCells: 8 }, [row, row]], [{ maximumLength: 3 }, [row]]]) {
  const [cut] = database.run("SELECT 'äöü', 'abc', 5, NULL FROM generate_series(1, 9)", [],
    { longestValue: 3, ...option });
  assert.deepEqual([cut.rows, cut.count], [rows, 9]);
}

// Files that other SQLites write and read; the bytes may grow.
const file = await open({ bytes: readFileSync(theirs) });
const counted = file.prepare("SELECT count(*) FROM seen WHERE key = ?");
assert.deepEqual(["a", "b"].map((key) => counted.get([key])), [[1], [0]]);
file.run("INSERT INTO seen(key) VALUES (?)", ["b"]);
file.run("CREATE TABLE more AS SELECT value FROM generate_series(1, 10000)");
const statement = file.prepare("SELECT value, $a AS a FROM more WHERE value < :b");
assert.deepEqual(statement.columns, ["value", "a"]);
assert.deepEqual(statement.all({ $a: "x", b: 3 }), [[1, "x"], [2, "x"]]);
assert.equal(statement.get({ a: 1, b: 0 }), undefined);
writeFileSync(ours, file.save());

// SQL reads the files that its database was given, and no others.
const list = new TextEncoder().encode("0.0.0.0 a.example\n||b.example/c^");
const reading = await open({ files: { "hösts.txt": list } });
const apart = await open({ files: { "hösts.txt": bytes } });
assert.deepEqual(reading.run("SELECT key FROM bloom_list(readfile('hösts.txt'))")[0].rows.flat(),
  ["a.example/", "b.example/c"]);
assert.deepEqual(apart.run("SELECT readfile('hösts.txt')")[0].rows, [[bytes]]);
assert.equal(said(() => apart.run("SELECT readfile('constructor')")),
  "SqliteError: readfile: open() was given no file 'constructor', and SQL in WebAssembly sees no" +
    " disk");

// An endless query in constant memory, here and in a worker, until its fifth report.
const endless = "SELECT 7 AS a; CREATE TABLE loop(x);" +
  "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c";
async function expectReports(on, message, stop) {
  const [results, rows] = [[], []];
  const stopped = async () => on.run(endless, [], {
    maximumRows: 3,
    onResult: (result) => results.push(result),
    onProgress({ statement, rows: count }) {
      assert.equal(statement, 3);
      return rows.push(count) < 5 || stop();
    },
  });
  assert.equal(await stopped().catch(words), message);
  assert.deepEqual(results, [{ columns: ["a"], rows: [[7]], count: 1 }]);
  assert.deepEqual(rows, [...new Set(rows)].sort((a, b) => a - b));
  assert(rows.length === 5 && rows[0] > 3);
}
await expectReports(database, "SqliteError: interrupted", () => false);
const remote = await openInWorker();
await expectReports(remote, "SqliteError: the worker was terminated", () => remote.terminate());

// What a worker sent before it ended comes too late, and is ignored.
const late = { terminate() {}, postMessage: () => late.onerror({ message: "lost" }) };
assert.equal(await openInWorker({ worker: late }).catch(words), "Error: lost");
for (const data of [{ id: 1, result: 1 }, { id: 1, call: "onProgress" }]) late.onmessage({ data });

// Progress of an INSERT, and callbacks that go wrong.
const series = "CREATE TABLE s(x); INSERT INTO s SELECT value FROM generate_series(1, 1000000)";
const inserted = [];
database.run(series, [], { onProgress: (report) => void inserted.push(report.inserted) });
assert(inserted.length > 10 && inserted.at(-1) > 900_000 && inserted.at(-1) <= 1_000_000);
assert.equal(said(() => database.run("SELECT 1", [], { onResult() { database.run("SELECT 2"); } })),
  "SqliteError: onResult and onProgress cannot use a database");
assert.equal(said(() => database.run(series.replaceAll(" s", " r"), [],
  { onProgress() { throw new RangeError("mine"); } })), "RangeError: mine");
assert.deepEqual(one("SELECT count(*) FROM s"), [1_000_000]);
database.close();

// Errors of a worker keep their kind and their place.
assert.equal(await far.run("SELECT ?").catch(words),
  "RangeError: 1 parameter is wanted, none given");
const again = await openInWorker({ bytes: await far.save() });
await again.close();
assert.equal(await again.run("SELECT 1").catch(words), "SqliteError: the database is closed");
const error = await far.run("SELECT 'ü';\nSELECT nonsense").catch((caught) => caught);
assert.equal(words(error), "SqliteError: no such column: nonsense");
assert.equal(error.position, "SELECT 'ü';\nSELECT ".length);
await far.close();
