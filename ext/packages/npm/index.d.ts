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

/** A connection on which statements can be prepared, of better-sqlite3, node:sqlite or libsql. */
export interface Preparing {
  exec(sql: string): unknown;
  prepare(sql: string): unknown;
}

/** A key; null and undefined are none. A bigint has 64 bits at most. */
export type Key = string | number | bigint | Uint8Array | null | undefined;

/**
 * The bytes of a filter of all keys, as bloom_agg makes it. The connection must have loaded the
 * extension; its own data are not touched. n: how many keys the filter is made for; without it, as
 * many as there are. p: the rate of false positives (null for a bitmap). options: the fourth
 * argument of bloom_agg. progress: called with the number of keys so far, after every 100,000 and
 * at the end. Throws when there is no key at all.
 */
export declare function build(
  database: Preparing,
  keys: Iterable<Key>,
  options?: {
    n?: number;
    p?: number | null;
    options?: string;
    progress?: (keys: number) => unknown;
  },
): Uint8Array;

/**
 * Adds all keys to a filter table, in batches of a tenth of its capacity, and returns how many
 * there were. An error leaves the table as it was. options: what bloom_hashes needs to know of a
 * table with a key rule or a salt, as "key=url".
 */
export declare function addAll(
  database: Preparing,
  table: string,
  keys: Iterable<Key>,
  options?: { options?: string; progress?: (keys: number) => unknown },
): number;
