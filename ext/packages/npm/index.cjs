// Where the library of this platform is, and how a connection gets it. The libraries are in
// optional packages, of which npm installs the one that fits: sqlite-bloom-linux-x64 and so on.
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const { version } = require("./package.json");

const LIBRARIES = { linux: "bloom.so", darwin: "bloom.dylib", win32: "bloom.dll" };

// Which packages may hold the library: on Linux there are two C libraries.
function candidates(platform, processor) {
  const name = `sqlite-bloom-${platform === "win32" ? "windows" : platform}-${processor}`;
  return platform === "linux" ? [name, `${name}-musl`] : [name];
}

// Whether this Linux has musl. The report would ask name servers for every open socket, which takes
// seconds.
function isMusl() {
  if (!process.report || process.versions.bun || process.versions.deno) return false;
  const before = process.report.excludeNetwork;
  process.report.excludeNetwork = true;
  const { header } = process.report.getReport();
  process.report.excludeNetwork = before;
  return header !== undefined && !header.glibcVersionRuntime;
}

function resolved(name) {
  try {
    return require.resolve(`${name}/${LIBRARIES[process.platform]}`);
  } catch {
    return undefined;
  }
}

let found; // once and for all

function getLoadablePath() {
  if (found !== undefined) return found;
  const names = candidates(process.platform, process.arch);
  const paths = names.map(resolved);
  const installed = paths.filter((file) => file !== undefined);
  // npm installs the one that fits; whoever copied both has us ask.
  if (installed.length > 0) {
    found = installed.length > 1 && isMusl() ? paths[1] : installed[0];
    return found;
  }
  throw new Error(
    `sqlite-bloom: no library for ${process.platform} on ${process.arch}: ` +
      `the package ${names.join(" or ")} is not installed. ` +
      "It is an optional dependency: install without --omit=optional and --no-optional, " +
      "and on the machine that runs it; from tarballs, install its tarball beside that of " +
      `sqlite-bloom: npm install ./sqlite-bloom-${version}.tgz ./${names[0]}-${version}.tgz; ` +
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
  for (const file of [getLoadablePath(), ...copies]) {
    if (!isRefused(database, file)) return;
  }
  const copy = newCopy();
  database.loadExtension(copy);
  copies.push(copy);
}

// Private copies of the library, which this thread made for further SQLite libraries: a process may
// hold several, as those of node:sqlite and libsql, and one file serves one of them at a time.
const copies = [];

function newCopy() {
  const file = getLoadablePath();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "sqlite-bloom-"));
  process.on("exit", () => {
    try {
      fs.rmSync(folder, { recursive: true });
    } catch {
      // Windows does not remove a library that is loaded.
    }
  });
  const copy = path.join(folder, path.basename(file));
  fs.copyFileSync(file, copy);
  return copy;
}

// Loads the file, unless it serves another SQLite library.
function isRefused(database, file) {
  try {
    database.loadExtension(file);
    return false;
  } catch (error) {
    if (!String(error).includes("serves another SQLite library")) throw error;
    return true;
  }
}

module.exports = { getLoadablePath, load };
