// node node-sqlite3.mjs, with the packages sqlite3 and sqlite-bloom
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import sqlite3 from "sqlite3";
import { getLoadablePath } from "sqlite-bloom";

const database = new sqlite3.Database(":memory:");
const call = (name) => promisify(database[name].bind(database));
const one = async (sql, ...values) => Object.values(await call("get")(sql, values))[0];

await call("loadExtension")(getLoadablePath());
const f = await one("SELECT bloom_agg(column1) FROM (VALUES ('a'), ('b'), (42))");
console.log("md5", createHash("md5").update(f).digest("hex"));
const sql = "SELECT bloom_check(?1, 'a') || bloom_check(?1, 'c') || bloom_check(?1, ?2)";
console.log("found", await one(sql, f, 42)); // a BigInt would be NULL
await one("SELECT bloom_check(NULL, 1)").catch((error) => console.log("error", error.message));
