/** What can be bound; undefined cannot. */
export type Parameter = number | bigint | boolean | string | null | ArrayBuffer | ArrayBufferView;
/** In the order of the parameters, or by their names, with or without the sign before them. */
export type Parameters = readonly Parameter[] | Readonly<Record<string, Parameter>>;
/** INTEGER and REAL are numbers, INTEGER beyond 2^53 a bigint, BLOB is a Uint8Array. */
export type Value = number | bigint | string | null | Uint8Array;
export interface Result {
  columns: string[];
  rows: Value[][];
}
export interface Options {
  /** The bytes of sqlite-bloom.wasm, where it does not lie beside the module. */
  wasm?: ArrayBuffer | ArrayBufferView;
  /** The bytes of a database file; without them the database is empty. */
  bytes?: ArrayBuffer | ArrayBufferView;
}
export interface RunOptions {
  /** Values as SQLite writes them. */
  asText?: boolean;
}

/** Opens a database in memory. */
export declare function open(options?: Options): Promise<Database>;

/** An error of SQLite or of bloom, with its message. */
export declare class SqliteError extends Error {}

export declare class Database {
  private constructor();
  /** Runs all statements of the SQL; with parameters, one that takes just these. */
  run(sql: string, parameters?: Parameters, options?: RunOptions): Result[];
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
  all(parameters?: Parameters, options?: RunOptions): Value[][];
  /** The first row, or undefined. */
  get(parameters?: Parameters): Value[] | undefined;
  /** Frees it; closing the database does, too. */
  finalize(): void;
}
