// Where the library of this platform is, and how a connection gets it. The libraries are in
// optional packages, of which npm installs the one that fits: sqlite-bloom-linux-x64 and so on.
"use strict";

const LIBRARIES = { linux: "bloom.so", darwin: "bloom.dylib", win32: "bloom.dll" };

// Which packages may hold the library, the likelier one first: on Linux there are two C libraries.
function candidates(platform, processor) {
  const name = `sqlite-bloom-${platform === "win32" ? "windows" : platform}-${processor}`;
  if (platform !== "linux") return [name];
  const report = process.report ? process.report.getReport() : undefined;
  const isMusl =
    report !== undefined &&
    report.header !== undefined &&
    !report.header.glibcVersionRuntime &&
    !isBunOrDeno();
  return isMusl ? [`${name}-musl`, name] : [name, `${name}-musl`];
}

function isBunOrDeno() {
  return Boolean(process.versions.bun || process.versions.deno);
}

function getLoadablePath() {
  const library = LIBRARIES[process.platform];
  const names = candidates(process.platform, process.arch);
  for (const name of names) {
    try {
      return require.resolve(`${name}/${library}`);
    } catch {
      // the next one
    }
  }
  throw new Error(
    `sqlite-bloom: no library for ${process.platform} on ${process.arch}: ` +
      `the package ${names.join(" or ")} is not installed. ` +
      "It is an optional dependency: install without --omit=optional and --no-optional, " +
      "and on the machine that runs it; " +
      "there is one for linux, darwin and win32 on x64 and arm64",
  );
}

function load(database) {
  if (
    database === null ||
    typeof database !== "object" ||
    typeof database.loadExtension !== "function"
  ) {
    throw new TypeError(
      "sqlite-bloom: load() expects a connection with loadExtension(), as better-sqlite3, " +
        "node:sqlite (with allowExtension: true) " +
        "and bun:sqlite have",
    );
  }
  database.loadExtension(getLoadablePath());
}

module.exports = { getLoadablePath, load };
