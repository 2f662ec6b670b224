// Where the library of this platform is, and how a connection gets it. The libraries are in
// optional packages, of which npm installs the one that fits: sqlite-bloom-linux-x64 and so on.
"use strict";

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
  const installed = paths.filter((path) => path !== undefined);
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
  database.loadExtension(getLoadablePath());
}

module.exports = { getLoadablePath, load };
