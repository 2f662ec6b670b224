// SQLite with bloom in it, as WebAssembly: for browsers, workers, Node.js, bun and deno.
//
//     import { open } from "./sqlite-bloom.mjs";
//     const database = await open();
//     const [result] = database.run("SELECT bloom_check(bloom_add(bloom_new(100), ?), ?)", ["a",
// "a"]);
//     console.log(result.columns, result.rows); // [ 'bloom_check(...)' ] [ [ 1 ] ]
//
// Databases are in memory. INTEGER comes as a number, beyond 2^53 as a BigInt; BLOB as a
// Uint8Array; NULL as null.
import createEngine from "./engine.mjs";

const [OK, ROW, DONE] = [0, 100, 101];
const [INTEGER, REAL, TEXT, BLOB] = [1, 2, 3, 4];
const TRANSIENT = -1;

let engine;
let loading; // of the engine: the one promise that all who open wait for

async function wasmBytes() {
  const address = new URL("sqlite-bloom.wasm", import.meta.url);
  if (address.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(address);
  }
  const answer = await fetch(address);
  if (!answer.ok)
    throw new Error(`${address} cannot be loaded: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

async function load(wasm) {
  engine = await createEngine({ wasmBinary: wasm ?? (await wasmBytes()) });
  if (engine._web_register() !== OK) throw new Error("bloom could not be registered");
}

/** Opens an empty database in memory. wasm: the bytes of sqlite-bloom.wasm, if not beside this. */
export async function open({ wasm } = {}) {
  loading ??= load(wasm).catch((error) => {
    loading = undefined; // the next one tries again
    throw error;
  });
  await loading;
  return new Database();
}

export class SqliteError extends Error {}

function bytesOf(value, i) {
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  if (ArrayBuffer.isView(value))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
  const what = Object.prototype.toString.call(value).slice("[object ".length, -1);
  throw new TypeError(
    `parameter ${i}: a number, BigInt, boolean, string, null, ArrayBuffer or view of one is ` +
      `wanted, not ${what}`,
  );
}

export class Database {
  #handle;

  constructor() {
    const place = engine._malloc(4);
    const text = this.#text(":memory:");
    const status = engine._sqlite3_open(text, place);
    this.#handle = engine.HEAP32[place >> 2];
    engine._free(text);
    engine._free(place);
    this.#expect(status);
  }

  close() {
    engine._sqlite3_close_v2(this.#handle);
    this.#handle = 0;
  }

  /**
   * Runs all statements of the SQL. Gives one { columns, rows } for each that has columns.
   * parameters: an array of numbers, BigInts of 64 bits, booleans, strings, null, and bytes (an
   * ArrayBuffer or a view of one). asText: values as SQLite writes them.
   */
  run(sql, parameters = [], { asText = false } = {}) {
    if (this.#handle === 0) throw new SqliteError("the database is closed");
    if (!Array.isArray(parameters)) throw new TypeError("the parameters must be an array");
    const results = [];
    const start = this.#text(sql);
    const place = engine._malloc(8);
    try {
      for (let next = start; engine.HEAPU8[next] !== 0; next = engine.HEAP32[(place >> 2) + 1]) {
        this.#expect(engine._sqlite3_prepare_v2(this.#handle, next, -1, place, place + 4));
        const statement = engine.HEAP32[place >> 2];
        if (statement === 0) continue;
        try {
          this.#bind(statement, parameters);
          const result = this.#collect(statement, asText);
          if (result.columns.length > 0) results.push(result);
        } finally {
          engine._sqlite3_finalize(statement);
        }
      }
    } finally {
      engine._free(start);
      engine._free(place);
    }
    return results;
  }

  #collect(statement, asText) {
    const count = engine._sqlite3_column_count(statement);
    const columns = [];
    for (let i = 0; i < count; i++)
      columns.push(engine.UTF8ToString(engine._sqlite3_column_name(statement, i)));
    const rows = [];
    let status;
    while ((status = engine._sqlite3_step(statement)) === ROW) {
      rows.push(columns.map((_, i) => this.#value(statement, i, asText)));
    }
    if (status !== DONE) this.#expect(status);
    return { columns, rows };
  }

  #value(statement, i, asText) {
    const type = engine._sqlite3_column_type(statement, i);
    if (type === INTEGER && !asText) {
      const value = engine._sqlite3_column_int64(statement, i);
      return BigInt(Number(value)) === value && Number.isSafeInteger(Number(value))
        ? Number(value)
        : value;
    }
    if (type === REAL && !asText) return engine._sqlite3_column_double(statement, i);
    if (type === BLOB) {
      const start = engine._sqlite3_column_blob(statement, i);
      return engine.HEAPU8.slice(start, start + engine._sqlite3_column_bytes(statement, i));
    }
    if (type !== TEXT && !asText) return null;
    const start = engine._sqlite3_column_text(statement, i);
    return start === 0
      ? null
      : new TextDecoder("utf-8", { ignoreBOM: true }).decode(
          engine.HEAPU8.subarray(start, start + engine._sqlite3_column_bytes(statement, i)),
        );
  }

  #bind(statement, parameters) {
    const count = engine._sqlite3_bind_parameter_count(statement);
    for (let i = 0; i < Math.min(count, parameters.length); i++) {
      this.#expect(this.#bindOne(statement, i + 1, parameters[i]));
    }
  }

  #bindOne(statement, i, value) {
    if (value === null || value === undefined) return engine._sqlite3_bind_null(statement, i);
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
    const bytes = isText ? new TextEncoder().encode(value) : bytesOf(value, i);
    const start = engine._malloc(bytes.length + 1);
    engine.HEAPU8.set(bytes, start);
    const bind = isText ? engine._sqlite3_bind_text : engine._sqlite3_bind_blob;
    const status = bind(statement, i, start, bytes.length, TRANSIENT);
    engine._free(start);
    return status;
  }

  /** A string as C has it, in memory that the caller frees. */
  #text(string) {
    const bytes = new TextEncoder().encode(string);
    const start = engine._malloc(bytes.length + 1);
    engine.HEAPU8.set(bytes, start);
    engine.HEAPU8[start + bytes.length] = 0;
    return start;
  }

  #expect(status) {
    if (status === OK) return;
    throw new SqliteError(engine.UTF8ToString(engine._sqlite3_errmsg(this.#handle)));
  }
}
