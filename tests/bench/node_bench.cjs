// The class Filter of the npm package, beside npm's bloomfilter and a filter table by node:sqlite:
//
//     node node_bench.cjs FOLDER      the folder has node_modules/bloomfilter
//
// prints Markdown. There are a million URLs of 60 to 80 letters, and filters for them at 1 %. The
// ways take turns, and a figure is the median of their times of a processor. What differs:
// bloomfilter is JavaScript, which hashes 16-bit letters by 32-bit FNV, so no other program reads
// its bytes, and a number is the same key as its text. Its 7 probes are anywhere in its bits, where
// ours are in one block of 64 bytes.
"use strict";
const crypto = require("crypto");
const path = require("path");
const { DatabaseSync } = require("node:sqlite");
const sqliteBloom = require("../../ext/packages/npm");

const KEYS = 1_000_000;
const CHECKED = 200_000;
const TURNS = 9;
const FOLDER = path.resolve(process.argv[2], "node_modules");
const { BloomFilter } = require(path.join(FOLDER, "bloomfilter"));

function urlOf(number) {
  const digest = crypto.createHash("sha1").update(String(number)).digest("hex");
  return Buffer.from(`https://www.${digest.slice(0, 13)}.example.org/articles/` +
    digest.slice(13, 26 + (number % 21))).toString();
}
const urls = Array.from({ length: KEYS }, (_, i) => urlOf(i));
const asked = Array.from({ length: CHECKED }, (_, i) => urlOf((i % 2 ? 0 : KEYS) + i));

const database = new DatabaseSync(":memory:", { allowExtension: true });
sqliteBloom.load(database);
database.exec(`CREATE VIRTUAL TABLE t USING bloom(capacity=${KEYS}, fpr=0.01)`);
sqliteBloom.addAll(database, "t", urls);
const select = database.prepare("SELECT EXISTS (SELECT 1 FROM t WHERE key = ?) AS found");
const { Filter } = sqliteBloom;
const peer = () => new BloomFilter(Math.ceil((9.585 * KEYS) / 32) * 32, 7);
const ours = new Filter(KEYS).addAll(urls);
const theirs = peer();
for (const url of urls) theirs.add(url);

const SECTIONS = {
  "Adding a million URLs": [KEYS, {
    "bloomfilter, `add`": () => {
      const made = peer();
      for (const url of urls) made.add(url);
    },
    "`add`": () => {
      const made = new Filter(KEYS);
      for (const url of urls) made.add(url);
    },
    "`addAll(array)`": () => new Filter(KEYS).addAll(urls),
    "`Filter.build(array)`, which finds the size": () => Filter.build(urls),
  }],
  "Checking URLs, of which half are known": [CHECKED, {
    "bloomfilter, `test`": () => {
      for (const url of asked) theirs.test(url);
    },
    "`has`": () => {
      for (const url of asked) ours.has(url);
    },
    "`check(array)`": () => ours.check(asked),
    "a statement of node:sqlite on a filter table": () => {
      for (const url of asked) select.get(url);
    },
  }],
};

console.log(`- versions: Node.js ${process.versions.node}, bloomfilter ${
  require(path.join(FOLDER, "bloomfilter/package.json")).version}`);
for (const [heading, [keys, ways]] of Object.entries(SECTIONS)) {
  const times = Object.keys(ways).map(() => []);
  for (let turn = 0; turn < TURNS; turn++) {
    Object.values(ways).forEach((work, i) => {
      const before = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(before);
      times[i].push(((user + system) * 1000) / keys);
    });
  }
  const medians = times.map((of) => of.sort((a, b) => a - b)[TURNS >> 1]);
  console.log(`\n## ${heading}\n\n| way | ns a key | ratio |\n|---|---:|---:|`);
  Object.keys(ways).forEach((way, i) =>
    console.log(`| ${way} | ${medians[i].toFixed(0)} | ${(medians[i] / medians[0]).toFixed(2)} |`));
}
