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
