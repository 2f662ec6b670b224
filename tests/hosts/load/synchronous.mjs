// node synchronous.mjs better-sqlite3, or libsql; node (22.13 or later) or deno run --allow-ffi
// --allow-read --allow-env --allow-sys synchronous.mjs node:sqlite; bun synchronous.mjs bun:sqlite.
// With the package sqlite-bloom.
import { createHash } from "node:crypto";
import * as sqliteBloom from "sqlite-bloom";

const driver = await import(process.argv[2]);
const database = driver.DatabaseSync
  ? new driver.DatabaseSync(":memory:", { allowExtension: true })
  : new driver.default(":memory:");
sqliteBloom.load(database);
const one = (sql, ...values) => Object.values(database.prepare(sql).get(...values))[0];

const f = one("SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))");
console.log("md5", createHash("md5").update(f).digest("hex"));
const sql = "SELECT bloom_check(?, 'a') || bloom_check(?, 'c') || bloom_check(?, ?)";
console.log("found", one(sql, f, f, f, 42));
try {
  one("SELECT bloom_check(NULL, 1)");
} catch (error) {
  console.log("error", error.message);
}
