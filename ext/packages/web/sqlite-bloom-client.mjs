// SQLite with bloom in a worker: the same as sqlite-bloom.mjs, but each call is a promise, and
// terminate() stops a query that does not end.
//
//     import { openInWorker } from "./sqlite-bloom-client.mjs";
//     const database = await openInWorker();
//     const [result] = await database.run("SELECT bloom_version()");
import { SqliteError } from "./sqlite-bloom.mjs";

const ERRORS = { SqliteError, TypeError, RangeError };

/**
 * Opens a database in a worker of its own. The options are those of open(), and worker: the address
 * of sqlite-bloom-worker.mjs, if not beside this.
 */
export async function openInWorker({ worker, ...options } = {}) {
  const address = worker ?? new URL("sqlite-bloom-worker.mjs", import.meta.url);
  const database = new WorkerDatabase(await startWorker(address));
  await database.start(options);
  return database;
}

async function startWorker(address) {
  if (typeof Worker === "function") {
    const worker = new Worker(address, { type: "module" });
    const listen = (onAnswer, onError) => {
      worker.onmessage = ({ data }) => onAnswer(data);
      worker.onerror = (event) => onError(new Error(event.message ?? "the worker failed"));
    };
    return { listen, worker };
  }
  const { Worker: NodeWorker } = await import("node:worker_threads");
  const worker = new NodeWorker(address);
  const listen = (onAnswer, onError) => worker.on("message", onAnswer).on("error", onError);
  return { listen, worker };
}

export class WorkerDatabase {
  #worker;
  #database;
  #waiting = new Map(); // the calls without an answer yet
  #next = 0;

  constructor({ listen, worker }) {
    this.#worker = worker;
    listen(
      ({ id, call, value, result, error }) => {
        const { resolve, reject, callbacks } = this.#waiting.get(id);
        if (call !== undefined) return callbacks[call](value);
        this.#waiting.delete(id);
        if (error === undefined) resolve(result);
        else reject(new (ERRORS[error.name] ?? Error)(error.message));
      },
      (error) => this.#stop(error),
    );
  }

  async start(options) {
    this.#database = await this.#call("open", [options]);
  }

  /** As Database.run, but onProgress cannot stop it: terminate() does. */
  run(sql, parameters = [], { onResult, onProgress, ...options } = {}) {
    const given = Object.entries({ onResult, onProgress }).filter(([, call]) => call !== undefined);
    const calls = given.map(([name]) => name);
    return this.#call(
      "run",
      [sql, parameters, { ...options, calls }],
      Object.fromEntries(given),
    );
  }

  /** As Database.save. */
  save() {
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
