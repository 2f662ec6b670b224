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
database.exec(`CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c`);
const one = (sql, ...values) => Object.values(database.prepare(sql).get(...values))[0];

const f = one("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers");
console.log("md5", createHash("md5").update(f).digest("hex"));
const found = one(`SELECT sum(bloom_check(?, 'key-' || i)) || ' ' ||
  sum(bloom_check(?, 'absent-' || i)) FROM numbers`, f, f);
console.log("found", found);
console.log("integer", one("SELECT bloom_check(bloom_agg(42), ?)", 42));
try {
  one("SELECT bloom_check(NULL, 1)");
} catch (error) {
  console.log("error", error.message);
}
