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

/**
 * A key. A number beyond 2^53 is an error, because JavaScript rounds it. Pass a bigint of 64 bits
 * instead. null, undefined and NaN are not keys, so adding them changes nothing, and they are never
 * in.
 */
export type Key = string | number | bigint | Uint8Array | null | undefined;

/** Leave out what you do not set: undefined is an error, and so is every other name. */
export interface FilterOptions {
  /** The rate of false positives. It is 0.0001 with a key rule, and otherwise 0.01. */
  fpr?: number | null;
  /** The layout, for example "counting", of which keys can be deleted. */
  layout?: string;
  /** The key rule, for example "url". */
  key?: string;
  /** 16 secret bytes, or their hexadecimal digits, where others choose the keys. */
  salt?: Uint8Array | string;
}

export interface BuildOptions extends FilterOptions {
  /** How many keys the filter is made for. Without it, as many as there are. */
  capacity?: number;
}

/** A filter in memory, with the words of a Set where they mean the same. */
export declare class Filter {
  /** An empty filter for a number of keys. */
  constructor(capacity: number, options?: FilterOptions);
  /** A copy of the bytes of a filter, as SQL or bytes() returns them. */
  constructor(bytes: Uint8Array);

  /** A filter of all keys. Throws if there is no key, or if the keys are lines with line ends. */
  static build(keys: Iterable<Key>, options?: BuildOptions): Filter;

  /**
   * A filter of the entries of a block list. Its rate is 0.0001, and its key rule url_nocase, or
   * host if no entry has a path, unless the options say otherwise.
   */
  static fromBlocklist(text: string | Uint8Array, options?: FilterOptions): Filter;

  /** Adds a key. */
  add(key: Key): this;
  /** Adds all keys. Those before a key that is an error are added. */
  addAll(keys: Iterable<Key>): this;
  /** Returns false if a key is certainly not in, and true if it probably is. */
  has(key: Key): boolean;
  /** For each key 1 (probably in), 0 (certainly not in) or 2 (not a key). */
  check(keys: readonly Key[]): Uint8Array;
  /** Removes a key once from a filter of layout counting. Returns whether it was in. */
  delete(key: Key): boolean;

  /** A filter of the keys that are in one of both. They must have equal parameters. */
  union(other: Filter): Filter;
  /** A filter that has all keys that are in both, and may have others. */
  intersection(other: Filter): Filter;
  /** A copy of the bytes, which are a filter in SQL. */
  bytes(): Buffer;

  readonly layout: string;
  /** The key rule, or null. */
  readonly key: string | null;
  /** How many keys it was made for. null: the bytes do not say it. */
  readonly capacity: number | null;
  /** The rate it was made for. null: the bytes do not say it, or there are no false positives. */
  readonly fpr: number | null;
  /** The rate that the bits give now. */
  readonly fprNow: number;
  /** The number of different keys, estimated from the bits. */
  readonly count: number;
}

export interface AddOptions {
  /** Called with the number of keys so far, after every 100,000 and at the end. */
  progress?: (keys: number) => unknown;
}

/**
 * Adds all keys to a filter table, many with each INSERT, and returns how many there were. An
 * error leaves the table as it was, also when the keys are lines with line ends.
 */
export declare function addAll(database: Preparing, table: string, keys: Iterable<Key>,
  options?: AddOptions): number;
