// node node-sqlite3.mjs, with the packages sqlite3 and sqlite-bloom
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import sqlite3 from "sqlite3";
import { getLoadablePath } from "sqlite-bloom";

const database = new sqlite3.Database(":memory:");
const call = (name) => promisify(database[name].bind(database));
const one = async (sql, ...values) => Object.values(await call("get")(sql, values))[0];

await call("loadExtension")(getLoadablePath());
await call("exec")(`CREATE TABLE numbers AS WITH RECURSIVE c(i) AS
  (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000) SELECT i FROM c`);
const f = await one("SELECT bloom_agg('key-' || i, 1000, 0.01) FROM numbers");
console.log("md5", createHash("md5").update(f).digest("hex"));
console.log(
  "found",
  await one(
    `SELECT sum(bloom_check(?1, 'key-' || i)) || ' ' ||
  sum(bloom_check(?1, 'absent-' || i)) FROM numbers`,
    f,
  ),
);
// A BigInt would be NULL.
console.log("integer", await one("SELECT bloom_check(bloom_agg(42), ?)", 42));
await one("SELECT bloom_check(NULL, 1)").catch((error) => console.log("error", error.message));
