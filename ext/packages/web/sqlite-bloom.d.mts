/** What can be bound; undefined cannot. */
export type Parameter = number | bigint | boolean | string | null | ArrayBuffer | ArrayBufferView;
/** In the order of the parameters, or by their names, with or without the sign before them. */
export type Parameters = readonly Parameter[] | Readonly<Record<string, Parameter>>;
/** INTEGER and REAL are numbers, INTEGER beyond 2^53 a bigint, BLOB is a Uint8Array. */
export type Value = number | bigint | string | null | Uint8Array;
/** What stands for a TEXT or BLOB that is longer than longestValue. */
export interface CutValue {
  start: string | Uint8Array;
  /** How many it has. */
  bytes: number;
}
export interface Result<Cell = Value> {
  columns: string[];
  rows: Cell[][];
  /** How many rows there were; more than there are in rows when maximumRows was given. */
  count: number;
}
/** sqlite-bloom.wasm: its URL, its bytes, or the module made from them. */
export type Wasm = string | URL | ArrayBuffer | ArrayBufferView | WebAssembly.Module;
/** Leave out the options that you do not set: undefined is an error, and so is every other name. */
export interface Options {
  /** Where sqlite-bloom.wasm is, if it is not beside the module; or a promise of it. */
  wasm?: Wasm | Promise<Wasm>;
  /** The bytes of a database file; without them the database is empty. */
  bytes?: ArrayBuffer | ArrayBufferView;
  /** By their names, the files that SQL reads by readfile(name). */
  files?: Readonly<Record<string, ArrayBuffer | ArrayBufferView>>;
}
export interface Progress {
  /** The number of the statement that runs, from 1. */
  statement: number;
  /** Its rows so far. */
  rows: number;
  /** The rowid that was inserted last: how far an INSERT ... SELECT has come. */
  inserted: number;
}
export interface ReadOptions {
  /** Values as SQLite writes them. */
  asText?: boolean;
  /** So many rows of each result are kept, the others only counted. */
  maximumRows?: number;
  /** Rows are kept until they have so many values. */
  maximumCells?: number;
  /** Rows are kept until their TEXT and BLOB are so long together. */
  maximumLength?: number;
}
export interface RunOptions<Cell = Value> extends ReadOptions {
  /** Is called with each result as soon as its statement has ended. It may not use a database. */
  onResult?: (result: Result<Cell>) => void;
  /** Likewise, every few milliseconds; false ends the run with the error "interrupted". */
  onProgress?: (progress: Progress) => unknown;
}
export interface CutOptions extends RunOptions<Value | CutValue> {
  /** So many bytes of a TEXT or BLOB are kept. */
  longestValue: number;
}

/** Opens a database in memory. */
export declare function open(options?: Options): Promise<Database>;

/** An error of SQLite or of bloom, with its message. */
export declare class SqliteError extends Error {
  /**
   * Where in the SQL of run() the error is, or if SQLite does not know it, where the statement
   * before ends.
   */
  position?: number;
}

export declare class Database {
  private constructor();
  /** Runs all statements of the SQL; with parameters, one that takes just these. */
  run(sql: string, parameters?: Parameters, options?: RunOptions): Result[];
  run(sql: string, parameters: Parameters, options: CutOptions): Result<Value | CutValue>[];
  /** One statement, to be run many times. */
  prepare(sql: string): Statement;
  /** The database as the bytes of a file. */
  save(): Uint8Array;
  /** Closes it and its statements. */
  close(): void;
}

export declare class Statement {
  private constructor();
  readonly columns: string[];
  /** All rows. One parameter too few or too many is a RangeError. */
  all(parameters?: Parameters, options?: ReadOptions): Value[][];
  all(
    parameters: Parameters,
    options: Omit<CutOptions, "onResult" | "onProgress">,
  ): (Value | CutValue)[][];
  /** The first row, or undefined. */
  get(parameters?: Parameters): Value[] | undefined;
  /** Frees it; closing the database does, too. */
  finalize(): void;
}
