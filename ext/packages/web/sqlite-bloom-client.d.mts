import type {
  CutOptions,
  CutValue,
  Options,
  Parameters,
  Result,
  RunOptions,
  Value,
} from "./sqlite-bloom.mjs";

export interface WorkerOptions extends Options {
  /** A worker that runs sqlite-bloom-worker.mjs, if the file is not beside the module. */
  worker?: Worker;
}

/** Opens a database in a worker of its own. */
export declare function openInWorker(options?: WorkerOptions): Promise<WorkerDatabase>;

export declare class WorkerDatabase {
  private constructor();
  /** As Database.run; what onProgress returns counts for nothing, terminate() stops. */
  run(sql: string, parameters?: Parameters, options?: RunOptions): Promise<Result[]>;
  run(
    sql: string,
    parameters: Parameters,
    options: CutOptions,
  ): Promise<Result<Value | CutValue>[]>;
  save(): Promise<Uint8Array>;
  /** Closes the database and ends the worker. */
  close(): Promise<void>;
  /** Ends the worker at once: calls without an answer are rejected. */
  terminate(): void;
}
