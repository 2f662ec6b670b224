/** A connection of better-sqlite3, node:sqlite, bun:sqlite, libsql or the like. */
export interface Loadable {
  loadExtension(file: string): unknown;
}

/** The path of the library for this platform. Throws when its optional package is not installed. */
export declare function getLoadablePath(): string;

/**
 * Gives a connection the functions of bloom. node:sqlite needs `{ allowExtension: true }`.
 *
 * Modules that bring an SQLite library of their own can be mixed in one process. The first library
 * gets the installed file, and each other one a private copy of it in the folder for temporary
 * files. The copies are removed when the process exits.
 */
export declare function load(database: Loadable): void;

/** A connection whose calls return at once: better-sqlite3, node:sqlite, bun:sqlite, libsql. */
export interface Preparing {
  exec(sql: string): unknown;
  prepare(sql: string): unknown;
}

/** A key; null and undefined are none. A bigint has 64 bits at most. */
export type Key = string | number | bigint | Uint8Array | null | undefined;

/** Leave out what you do not set: undefined is an error, and so is every other name. */
export interface AddOptions {
  /** Called with the number of keys so far, after every 100,000 and at the end. */
  progress?: (keys: number) => unknown;
}

export interface BuildOptions extends AddOptions {
  /** How many keys the filter is made for; without it, as many as there are. */
  capacity?: number;
  /** The false-positive rate; null for a bitmap. */
  fpr?: number | null;
  /** The fourth argument of bloom_agg. */
  options?: string;
}

/**
 * The bytes of a filter of all keys, as bloom_agg makes it. The connection must have loaded the
 * extension; its own data are not touched. Throws when there is no key at all, or when each key
 * ends with a line end, as lines of a text do.
 */
export declare function build(database: Preparing, keys: Iterable<Key>, options?: BuildOptions):
  Uint8Array;

/**
 * Adds all keys to a filter table, a million with each INSERT, and returns how many there were. An
 * error leaves the table as it was, also when each key ends with a line end.
 */
export declare function addAll(database: Preparing, table: string, keys: Iterable<Key>,
  options?: AddOptions): number;
