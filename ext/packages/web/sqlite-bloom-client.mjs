// SQLite with bloom in a worker: the same as sqlite-bloom.mjs, but each call is a promise, and
// terminate() stops a query that does not end.
//
//     import { openInWorker } from "./sqlite-bloom-client.mjs";
//     const database = await openInWorker();
//     const [result] = await database.run("SELECT bloom_version()");
import { SqliteError, expectCount, optionsOf } from "./sqlite-bloom-common.mjs";

const ERRORS = { SqliteError, TypeError, RangeError };

/**
 * Opens a database in a worker of its own. The options are those of open(), and worker: a Worker
 * that runs sqlite-bloom-worker.mjs. Bundlers recognize the default by its exact spelling.
 */
export async function openInWorker() {
  const {
    worker = new Worker(new URL("./sqlite-bloom-worker.mjs", import.meta.url), { type: "module" }),
    ...options
  } = optionsOf("openInWorker", arguments, 1);
  const database = new WorkerDatabase(worker);
  try {
    if (options.wasm !== undefined) options.wasm = await options.wasm;
    // A URL cannot be sent to a worker, but its text can.
    if (options.wasm instanceof URL) options.wasm = options.wasm.href;
    await database.start(options);
  } catch (error) {
    database.terminate();
    throw error;
  }
  return database;
}

export class WorkerDatabase {
  #worker;
  #database;
  #waiting = new Map(); // the calls without an answer yet
  #next = 0;

  constructor(worker) {
    this.#worker = worker;
    worker.onmessage = ({ data: { id, call, value, result, error } }) => {
      if (!this.#waiting.has(id)) return; // it was sent before the worker ended
      const { resolve, reject, callbacks } = this.#waiting.get(id);
      if (call !== undefined) return callbacks[call](value);
      this.#waiting.delete(id);
      if (error === undefined) resolve(result);
      else {
        const { name, message, position } = error;
        reject(Object.assign(new (ERRORS[name] ?? Error)(message), { position }));
      }
    };
    worker.onerror = ({ message = "the worker could not be loaded" }) =>
      this.#stop(new Error(message));
  }

  async start(options) {
    this.#database = await this.#call("open", [options]);
  }

  /** As Database.run, but onProgress cannot stop it: terminate() does. */
  async run(sql, parameters = []) {
    const { onResult, onProgress, ...options } = optionsOf("run", arguments, 3);
    const given = Object.entries({ onResult, onProgress }).filter(([, call]) => call !== undefined);
    const calls = given.map(([name]) => name);
    return this.#call(
      "run",
      [sql, parameters, { ...options, calls }],
      Object.fromEntries(given),
    );
  }

  /** As Database.save. */
  async save() {
    expectCount("save", arguments, 0);
    return this.#call("save", []);
  }

  /** Closes the database and ends the worker. */
  async close() {
    await this.#call("close", []);
    this.terminate();
  }

  /** Ends the worker at once, whatever it does: calls without an answer are rejected. */
  terminate() {
    this.#worker?.terminate();
    this.#stop(new SqliteError("the worker was terminated"));
  }

  #call(method, values, callbacks = {}) {
    if (this.#worker === undefined)
      return Promise.reject(new SqliteError("the database is closed"));
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#next, { resolve, reject, callbacks });
      this.#worker.postMessage({ id: this.#next, database: this.#database, method, values });
    });
  }

  #stop(error) {
    this.#worker = undefined;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
