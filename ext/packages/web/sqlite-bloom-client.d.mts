import type { Options, Parameters, Result, RunOptions } from "./sqlite-bloom.mjs";

/** Opens a database in a worker of its own. */
export declare function openInWorker(options?: Options): Promise<WorkerDatabase>;

export declare class WorkerDatabase {
  private constructor();
  run(sql: string, parameters?: Parameters, options?: RunOptions): Promise<Result[]>;
  save(): Promise<Uint8Array>;
  /** Closes the database and ends the worker. */
  close(): Promise<void>;
  /** Ends the worker at once: calls without an answer are rejected. */
  terminate(): void;
}
