// SQLite with bloom in it, as WebAssembly: for browsers, workers, bun and deno. For Node.js, import
// sqlite-bloom-node.mjs, which exports the same.
//
//     import { open } from "./sqlite-bloom.mjs";
//     const database = await open();
//     const check = database.prepare("SELECT bloom_check(bloom_agg('a'), ?)");
//     console.log(check.get(["a"])); // [ 1 ]
//
// Databases are in memory; open({ bytes }) and save() read and write them whole. INTEGER comes as a
// number, beyond 2^53 as a BigInt; BLOB as a Uint8Array; NULL as null. sqlite-bloom.d.mts declares
// all of it.
import createEngine from "./engine.mjs";
import { SqliteError, expectCount, isPlain, optionsOf, shown } from "./sqlite-bloom-common.mjs";

export { SqliteError };

const [OK, ROW, DONE] = [0, 100, 101];
const [INTEGER, REAL, TEXT, BLOB] = [1, 2, 3, 4];
const TRANSIENT = -1;
const [FREE_ON_CLOSE, RESIZEABLE] = [1, 2]; // what SQLite may do with deserialized bytes
const STEPS_BETWEEN_REPORTS = 1 << 16; // of SQLite's virtual machine: some milliseconds

let engine;
let loading; // of the engine: the one promise that all who open wait for

async function load(wasm = new URL("./sqlite-bloom.wasm", import.meta.url)) {
  let source = await wasm;
  if (typeof source === "string" || source instanceof URL) {
    const answer = await fetch(source);
    if (!answer.ok)
      throw new Error(`${source} cannot be loaded: ${answer.status} ${answer.statusText}`);
    source = await answer.arrayBuffer();
  }
  engine = await new Promise((resolve, reject) => {
    createEngine({
      instantiateWasm(imports, receive) {
        // Bytes become { module, instance }, and a module becomes an instance.
        const made = WebAssembly.instantiate(source, imports);
        made.then((result) => receive(result.instance ?? result)).catch(reject);
        return {};
      },
      files: new Map(), // of each connection, those that readfile() reads
    }).then(resolve, reject);
  });
  if (engine._web_register() !== OK) throw new Error("bloom could not be registered");
}

/** Opens a database in memory. Options: those of sqlite-bloom.d.mts. */
export async function open() {
  const { wasm, bytes, files = {} } = optionsOf("open", arguments, 1);
  loading ??= load(wasm).catch((error) => {
    loading = undefined; // the next call tries again
    throw error;
  });
  await loading;
  return new Database(bytes, files);
}

let isGuarded = false; // whether a callback runs, in the middle of SQLite's work

function guarded(callback) {
  isGuarded = true;
  try {
    return callback();
  } finally {
    isGuarded = false;
  }
}

function expectIdle() {
  if (isGuarded) throw new SqliteError("onResult and onProgress cannot use a database");
}

function bytesOf(value, what, wanted = "an ArrayBuffer or view of one") {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  throw new TypeError(`${what} is ${shown(value)}. Pass ${wanted}`);
}

// Bytes in memory that the caller frees, with a zero behind them.
function allocated(bytes, allocate = engine._malloc) {
  const start = allocate(bytes.length + 1);
  if (start === 0) throw new SqliteError("out of memory");
  engine.HEAPU8.set(bytes, start);
  engine.HEAPU8[start + bytes.length] = 0;
  return start;
}

// SQL as C has it, in memory that the caller frees.
function allocatedText(sql) {
  if (typeof sql !== "string") throw new TypeError(`the SQL is ${shown(sql)}. Pass a string`);
  return allocated(new TextEncoder().encode(sql));
}

// The number of values in an array of parameters, or in an object of named ones.
function countOf(parameters) {
  if (Array.isArray(parameters)) return parameters.length;
  if (!isPlain(parameters))
    throw new TypeError(`the parameters are ${shown(parameters)}. Pass an array or a plain object`);
  return Object.keys(parameters).length;
}

export class Database {
  #handle;
  #statements = new Set(); // those that are open

  constructor(bytes, files) {
    const readable = new Map();
    for (const [name, content] of Object.entries(files))
      readable.set(name, bytesOf(content, `the file ${name}`));
    const place = engine._malloc(4);
    const text = allocatedText(":memory:");
    const status = engine._sqlite3_open(text, place);
    this.#handle = engine.HEAP32[place >> 2];
    engine._free(text);
    engine._free(place);
    this.#expect(status);
    engine.files.set(this.#handle, readable);
    if (bytes === undefined) return;
    try {
      this.#fill(bytesOf(bytes));
    } catch (error) {
      this.close();
      throw error;
    }
  }

  close() {
    expectIdle();
    for (const statement of this.#statements) statement.finalize();
    engine._sqlite3_close_v2(this.#handle);
    engine.files.delete(this.#handle);
    this.#handle = 0;
  }

  /** Takes the bytes of a database file for the content. */
  #fill(bytes) {
    if (bytes.length === 0) return; // what save() makes of an empty database
    const size = BigInt(bytes.length);
    const start = allocated(bytes, (room) => engine._sqlite3_malloc64(BigInt(room)));
    // A file in WAL mode says so here; in memory there is none, and SQLite would refuse it.
    if (bytes.length > 20 && engine.HEAPU8[start + 18] === 2)
      engine.HEAPU8.fill(1, start + 18, start + 20);
    const name = allocatedText("main");
    const status = engine._sqlite3_deserialize(this.#handle, name, start, size, size,
      FREE_ON_CLOSE | RESIZEABLE);
    engine._free(name);
    this.#expect(status);
    this.run("PRAGMA schema_version"); // which reads it
  }

  /** The database as the bytes of a file, which open({ bytes }) and every SQLite read. */
  save() {
    expectCount("save", arguments, 0);
    this.#expectOpen();
    const place = engine._malloc(8);
    const name = allocatedText("main");
    const start = engine._sqlite3_serialize(this.#handle, name, place, 0);
    const size = Number(engine.HEAP32[place >> 2]) >>> 0;
    engine._free(name);
    engine._free(place);
    if (start === 0 && size > 0) throw new SqliteError("out of memory");
    const bytes = engine.HEAPU8.slice(start, start + (start === 0 ? 0 : size));
    engine._sqlite3_free(start);
    return bytes;
  }

  /** One statement, to be run many times; see Statement. */
  prepare(sql) {
    expectCount("prepare", arguments, 1);
    this.#expectOpen();
    const start = allocatedText(sql);
    try {
      const [handle, next] = this.#compiled(start);
      if (handle === 0) throw new SqliteError("there is no statement in the SQL");
      const statement = new Statement(handle, (status) => this.#expect(status), this.#statements);
      let more = true; // what cannot be compiled is something, too
      try {
        const [other] = this.#compiled(next);
        more = other !== 0;
        engine._sqlite3_finalize(other);
      } catch {
        // An error of the second statement says nothing more than that there is one.
      }
      if (more) {
        statement.finalize();
        throw new SqliteError("one statement is wanted, and there are more in the SQL");
      }
      return statement;
    } finally {
      engine._free(start);
    }
  }

  /**
   * Runs all statements of the SQL, and returns { columns, rows, count } for each that has columns.
   * With parameters it must be one statement. Options: RunOptions of sqlite-bloom.d.mts. Neither
   * onResult nor onProgress may use a database.
   */
  run(sql, parameters = []) {
    const { onResult, onProgress, ...options } = optionsOf("run", arguments, 3);
    this.#expectOpen();
    const results = [];
    const work = { statement: 0, rows: 0 };
    const collect = (statement) => {
      work.statement += 1;
      try {
        const result = statement.result(parameters, options, work);
        if (result.columns.length === 0) return;
        results.push(result);
        if (onResult !== undefined) guarded(() => onResult(result));
      } finally {
        statement.finalize();
      }
    };
    const one = countOf(parameters) > 0 ? this.prepare(sql) : undefined;
    this.#watched(onProgress, work, () =>
      one === undefined ? this.#eachStatement(sql, collect) : collect(one),
    );
    return results;
  }

  #eachStatement(sql, use) {
    const start = allocatedText(sql);
    let next = start;
    try {
      while (engine.HEAPU8[next] !== 0) {
        const [handle, rest] = this.#compiled(next);
        if (handle !== 0)
          use(new Statement(handle, (status) => this.#expect(status), this.#statements));
        next = rest;
      }
    } catch (error) {
      const offset = engine._sqlite3_error_offset(this.#handle); // in bytes, -1 if not known
      const before = engine.HEAPU8.subarray(start, next + Math.max(0, offset));
      if (error instanceof SqliteError)
        error.position = new TextDecoder("utf-8", { ignoreBOM: true }).decode(before).length;
      throw error;
    } finally {
      engine._free(start);
    }
  }

  // Runs a function, and calls onProgress meanwhile. Nothing may be thrown through the engine: what
  // onProgress throws waits until SQLite has stopped.
  #watched(onProgress, work, run) {
    if (onProgress === undefined) return run();
    let thrown;
    engine.onProgress = (inserted) => {
      try {
        return guarded(() => onProgress({ ...work, inserted })) !== false;
      } catch (error) {
        thrown = { error };
        return false;
      }
    };
    engine._web_watch(this.#handle, STEPS_BETWEEN_REPORTS);
    try {
      return run();
    } catch (error) {
      throw thrown === undefined ? error : thrown.error;
    } finally {
      engine._web_watch(this.#handle, 0);
    }
  }

  /** The statement that begins at a place, 0 for blanks and comments, and the place behind it. */
  #compiled(place) {
    const results = engine._malloc(8);
    try {
      this.#expect(engine._sqlite3_prepare_v2(this.#handle, place, -1, results, results + 4));
      return [engine.HEAP32[results >> 2], engine.HEAP32[(results >> 2) + 1]];
    } finally {
      engine._free(results);
    }
  }

  #expectOpen() {
    if (this.#handle === 0) throw new SqliteError("the database is closed");
    expectIdle();
  }

  #expect(status) {
    if (status === OK) return;
    throw new SqliteError(engine.UTF8ToString(engine._sqlite3_errmsg(this.#handle)));
  }
}

/** A statement of a database. sqlite-bloom.d.mts says what can be bound. */
export class Statement {
  #handle;
  #expect;
  #siblings;

  constructor(handle, expect, siblings) {
    this.#handle = handle;
    this.#expect = expect;
    this.#siblings = siblings;
    siblings.add(this);
    const count = engine._sqlite3_column_count(handle);
    this.columns = Array.from({ length: count }, (_, i) =>
      engine.UTF8ToString(engine._sqlite3_column_name(handle, i)),
    );
  }

  /** All rows, each an array of values; options: those of Database.run but its functions. */
  all(parameters = []) {
    return this.result(parameters, optionsOf("all", arguments, 2)).rows;
  }

  /** { columns, rows, count }; work.rows counts the rows meanwhile. */
  result(parameters, options, work = {}) {
    const { maximumRows = Infinity, maximumCells = Infinity, maximumLength = Infinity } = options;
    const most = Math.min(maximumRows, Math.ceil(maximumCells / this.columns.length));
    const rows = [];
    let length = 0;
    work.rows = 0;
    this.#step(parameters, () => {
      work.rows += 1;
      if (rows.length >= most || length >= maximumLength) return true;
      const row = this.columns.map((_, i) => this.#value(i, options));
      for (const value of row) length += (value?.start ?? value)?.length ?? 0;
      rows.push(row);
      return true;
    });
    return { columns: this.columns, rows, count: work.rows };
  }

  /** The first row, or undefined. */
  get(parameters = []) {
    expectCount("get", arguments, 1);
    let row;
    this.#step(parameters, () => {
      row = this.columns.map((_, i) => this.#value(i));
      return false;
    });
    return row;
  }

  /** Frees it; closing the database does, too. */
  finalize() {
    if (this.#handle === 0) return;
    engine._sqlite3_finalize(this.#handle);
    this.#handle = 0;
    this.#siblings.delete(this);
  }

  #step(parameters, onRow) {
    if (this.#handle === 0) throw new SqliteError("the statement is finalized");
    expectIdle();
    this.#bind(parameters);
    try {
      let status;
      while ((status = engine._sqlite3_step(this.#handle)) === ROW) if (!onRow()) return;
      if (status !== DONE) this.#expect(status);
    } finally {
      engine._sqlite3_reset(this.#handle);
      engine._sqlite3_clear_bindings(this.#handle);
    }
  }

  #value(i, { asText = false, longestValue = Infinity } = {}) {
    const statement = this.#handle;
    const type = engine._sqlite3_column_type(statement, i);
    if (type === INTEGER && !asText) {
      const value = engine._sqlite3_column_int64(statement, i);
      return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value))
        ? Number(value)
        : value;
    }
    if (type === REAL && !asText) return engine._sqlite3_column_double(statement, i);
    if (type !== TEXT && type !== BLOB && !asText) return null;
    const isBlob = type === BLOB;
    const place = isBlob
      ? engine._sqlite3_column_blob(statement, i)
      : engine._sqlite3_column_text(statement, i);
    if (place === 0 && !isBlob) return null;
    const bytes = engine._sqlite3_column_bytes(statement, i);
    const isCut = bytes > longestValue;
    const kept = engine.HEAPU8.subarray(place, place + Math.min(bytes, longestValue));
    const start = isBlob
      ? kept.slice()
      : // A letter that the cut divides is left out.
        new TextDecoder("utf-8", { ignoreBOM: true }).decode(kept, { stream: isCut });
    return isCut ? { start, bytes } : start;
  }

  #bind(parameters) {
    const wanted = engine._sqlite3_bind_parameter_count(this.#handle);
    const given = countOf(parameters);
    const names = Array.from({ length: wanted }, (_, i) => this.#name(i + 1));
    const values = Array.isArray(parameters) ? parameters : this.#named(parameters, names);
    if (values.length !== wanted)
      throw new RangeError(
        `${wanted} parameter${wanted === 1 ? " is" : "s are"} wanted, ${given || "none"} given`,
      );
    for (const [i, value] of values.entries()) {
      if (value === undefined)
        throw new TypeError(`parameter ${i + 1} is undefined. Pass null for NULL`);
      this.#expect(this.#bindOne(i + 1, value));
    }
  }

  /** The name of a parameter with its sign; null for ? alone. */
  #name(i) {
    const start = engine._sqlite3_bind_parameter_name(this.#handle, i);
    return start === 0 ? null : engine.UTF8ToString(start);
  }

  #named(parameters, names) {
    const own = new Map(Object.entries(parameters));
    const values = names.map((name, i) => {
      if (name === null && own.size > 0)
        throw new RangeError(`parameter ${i + 1} has no name: give an array`);
      const key = [name, name?.slice(1)].find((one) => own.has(one));
      if (key === undefined) throw new RangeError(`parameter ${name ?? i + 1} is missing`);
      const value = own.get(key);
      own.delete(key);
      return value;
    });
    if (own.size > 0)
      throw new RangeError(`the statement has no parameter ${[...own.keys()].join(", ")}`);
    return values;
  }

  #bindOne(i, value) {
    const statement = this.#handle;
    if (value === null) return engine._sqlite3_bind_null(statement, i);
    if (typeof value === "bigint") {
      if (BigInt.asIntN(64, value) !== value)
        throw new RangeError(`parameter ${i}: ${value} has more than 64 bits`);
      return engine._sqlite3_bind_int64(statement, i, value);
    }
    if (typeof value === "boolean") return engine._sqlite3_bind_int64(statement, i, BigInt(value));
    if (typeof value === "number") {
      if (Number.isSafeInteger(value))
        return engine._sqlite3_bind_int64(statement, i, BigInt(value));
      return engine._sqlite3_bind_double(statement, i, value);
    }
    const isText = typeof value === "string";
    const bytes = isText
      ? new TextEncoder().encode(value)
      : bytesOf(
          value,
          `parameter ${i}`,
          "a number, BigInt, boolean, string, null, ArrayBuffer or view of one",
        );
    const start = allocated(bytes);
    const bind = isText ? engine._sqlite3_bind_text : engine._sqlite3_bind_blob;
    const status = bind(statement, i, start, bytes.length, TRANSIENT);
    engine._free(start);
    return status;
  }
}
