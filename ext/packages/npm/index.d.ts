/** A connection of better-sqlite3, node:sqlite, bun:sqlite, libsql or the like. */
export interface Loadable {
  loadExtension(file: string): unknown;
}

/** The path of the library for this platform. Throws when its optional package is not installed. */
export declare function getLoadablePath(): string;

/** Gives a connection the functions of bloom. node:sqlite needs `{ allowExtension: true }`. */
export declare function load(database: Loadable): void;
