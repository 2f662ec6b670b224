// The class Filter of the package sqlite-bloom. node npm_filter.cjs [MODULE] runs the cases; node
// npm_filter.cjs MODULE random SEED CALLS makes random calls beside a Map, and node --expose-gc
// npm_filter.cjs MODULE objects N makes filters without end.
"use strict";
const assert = require("assert/strict");
const crypto = require("crypto");
const { Worker, isMainThread, workerData } = require("worker_threads");

const [module_ = "../../ext/packages/npm", what = "cases", ...more] =
  workerData ?? process.argv.slice(2);
const { Filter } = require(module_);

const numbered = (name, count) => Array.from({ length: count }, (_, i) => `${name}-${i + 1}`);
const md5 = (filter) => crypto.createHash("md5").update(filter.bytes()).digest("hex");
const same = (one, other) => assert.equal(md5(one), md5(other));
const says = (message, work) =>
  assert.throws(work, (error) => {
    assert.equal(error.message, `sqlite-bloom: ${message}`);
    return true;
  });
const transferred = (bytes) => {
  structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
  return bytes;
};
const isKey = "Pass a string, number, bigint of 64 bits or Uint8Array";

const cases = {
  "the bytes are those of SQL"() {
    const keys = numbered("key", 1000);
    const made = "6d00a095962eef091a8d7210a1b976de"; // tests/packages/common.py has it, too
    assert.equal(md5(Filter.build(keys, { capacity: 1000 })), made);
    assert.equal(md5(new Filter(1000).addAll(new Set(keys.reverse()))), made);
    const filter = new Filter(1000, { fpr: 0.01 });
    for (const key of keys) assert.equal(filter.add(key), filter);
    assert.equal(md5(filter), made);
    assert.equal(md5(new Filter(filter.bytes())), made);
    assert.deepEqual([...filter.check(numbered("key", 999))], Array(999).fill(1));
    assert.equal(filter.check(numbered("absent", 1000)).reduce((sum, one) => sum + one), 9);
    same(Filter.build(keys), Filter.build((function* () { yield* keys; yield* keys; })()));
  },

  "what it is"() {
    const filter = Filter.build(numbered("a", 1000), { capacity: 2000, key: "url" });
    const { layout, key, capacity, fpr, count } = filter;
    assert.deepEqual({ layout, key, capacity, fpr },
      { layout: "blocked", key: "url", capacity: 2000, fpr: 0.0001 });
    assert.ok(Math.abs(count - 1000) < 20 && Number.isInteger(count));
    assert.ok(filter.fprNow > 0 && filter.fprNow < fpr);
    assert.equal(require("util").inspect(filter),
      "Filter { layout: 'blocked', key: 'url', capacity: 2000, fpr: 0.0001 }");
    const bitmap = new Filter(9, { layout: "bitmap" });
    assert.deepEqual([bitmap.fpr, bitmap.fprNow, bitmap.key, bitmap.count], [null, 0, null, 0]);
    assert.equal(new Filter(9).fpr, 0.01);
    assert.equal(new Filter(9, { key: "url", fpr: 0.1 }).fpr, 0.1);
    const salt = Buffer.from("000102030405060708090a0b0c0d0e0f", "hex");
    same(new Filter(9, { salt }).add("a"), new Filter(9, { salt: salt.toString("hex") }).add("a"));
    assert.notDeepEqual(new Filter(9, { salt }).bytes(), new Filter(9).bytes());
    const empty = new Filter(new Filter(0).bytes());
    assert.deepEqual([empty.count, empty.capacity], [0, null]);
    same(new Filter(9, { layout: "bitmap", fpr: null }), bitmap);
  },

  "keys"() {
    const filter = new Filter(100, { fpr: 1e-6 });
    const whole = [0, -1, 7, 2 ** 53 - 1, 2n ** 63n - 1n, -(2n ** 63n)];
    const keys = ["", "a", "\ufeff", "\ufffd", "a\0b", "ü".repeat(1021), "ü".repeat(1023),
      "x".repeat(16379), "x".repeat(16380), "\u{1f600}".repeat(9000), 1.5, 2 ** 63,
      1e300, -Infinity,
      Buffer.alloc(0), Buffer.from([0xff]), Buffer.alloc(2047), Buffer.alloc(2048),
      Buffer.alloc(20000), ...whole];
    for (const key of keys) {
      assert.equal(filter.has(key), key.length === 0 && filter.count > 0, key);
      assert.equal(filter.add(key).has(key), true);
    }
    assert.deepEqual([...filter.check(keys)], keys.map(() => 1));
    same(new Filter(100, { fpr: 1e-6 }).addAll(keys), filter);
    for (const key of whole) assert.equal(filter.has(BigInt(key)), true);
    for (const key of ["ü".repeat(1022), "a\0", Buffer.alloc(2046), 2.5, -7, -0.5])
      assert.equal(filter.has(key), false);
    assert.equal(filter.has(Buffer.from("a")) && filter.has(-0), true);
    const before = filter.bytes();
    for (const none of [null, undefined, NaN]) {
      assert.equal(filter.add(none).addAll([none]).has(none), false);
      assert.deepEqual([...filter.check(["a", none, "b"])], [1, 2, 0]);
    }
    assert.deepEqual(filter.bytes(), before);
    const listed = new Filter(9, { key: "url" }).add("bad.example").addAll(["http://a.example/b"]);
    assert.deepEqual([...listed.check(["https://www.bad.example/x", "", "a.example/c", null])],
      [1, 2, 0, 2]);
    assert.equal(listed.has(""), false);
  },

  "block lists"() {
    const list = "0.0.0.0 bad.example\n||evil.example/a\n||x.example^$third-party\n";
    const filter = Filter.fromBlocklist(list);
    assert.deepEqual([filter.key, filter.fpr, filter.count], ["url_nocase", 0.0001, 2]);
    assert.deepEqual([...filter.check(["HTTP://Evil.example:80/a?b#c", "https://sqlite.org/",
      "www.bad.example", "x.example"])], [1, 0, 1, 0]);
    same(Filter.fromBlocklist(Buffer.from(list), { fpr: 0.0001, key: "url_nocase" }), filter);
    const hosts = Filter.fromBlocklist("0.0.0.0 bad.example", { fpr: 0.01, layout: "fuse" });
    assert.deepEqual([hosts.key, hosts.fpr, hosts.layout], ["host", 0.01, "fuse"]);
    says("Filter.fromBlocklist(): text is 5. Pass the text of a list, or its bytes",
      () => Filter.fromBlocklist(5));
    assert.throws(() => Filter.fromBlocklist(list, { fpr: 0 }), /fpr is 0. Pass a number between/);
    for (const text of ["", "# nothing\n"])
      assert.throws(() => Filter.fromBlocklist(text), /fromBlocklist\(\): no line has an entry/);
    assert.throws(() => Filter.fromBlocklist("hosts.txt"), /looks like the name of a file/);
  },

  "deleting, and sets"() {
    const some = new Filter(100, { layout: "counting" }).addAll(["a", "a", "b"]);
    assert.deepEqual([some.delete("a"), some.delete("a"), some.delete("a"), some.delete(null)],
      [true, true, false, false]);
    assert.deepEqual([some.has("a"), some.has("b")], [false, true]);
    const left = new Filter(100).addAll(["a", "b"]);
    const right = new Filter(100).addAll(["b", "c"]);
    same(left.union(right), new Filter(100).addAll(["a", "b", "c"]));
    assert.deepEqual([...left.intersection(right).check(["a", "b", "c"])], [0, 1, 0]);
    same(left, new Filter(100).addAll(["a", "b"]));
    class Named extends Filter {
      constructor(name) {
        super(100);
        this.name = name;
      }
    }
    assert.equal(new Named("mine").add("a").union(left).has("b"), true);
  },

  "what is not a key, in words"() {
    const filter = new Filter(10);
    for (const [shown, value] of [["{}", {}], ["true", true], ["Symbol(a)", Symbol("a")],
      ["9223372036854775808n", 2n ** 63n], ["[]", []], ["[Function (anonymous)]", () => 0]]) {
      says(`add(): the key is ${shown}. ${isKey}`, () => filter.add(value));
      says(`has(): the key is ${shown}. ${isKey}`, () => filter.has(value));
      says(`addAll(): key 3 is ${shown}. ${isKey}`, () => filter.addAll(["a", null, value, "b"]));
    }
    assert.throws(() => filter.check([new Float64Array(1)]), /check\(\): key 1 is Float64Array/);
    assert.throws(() => filter.add(new DataView(new ArrayBuffer(8))), /add\(\): the key is DataV/);
    says("has(): the key is 'a\\ud800'. It has half of a surrogate pair. Pass" +
      " text.toWellFormed(), or bytes", () => filter.has("a\ud800"));
    assert.throws(() => filter.has("x".repeat(5000) + "\udc00"), /half of a surrogate pair/);
    says("add(): the key is 9007199254740992. Numbers beyond 2^53 are rounded. Pass a bigint," +
      " such as 9007199254740993n", () => filter.add(2 ** 53));
    const cut = new Uint8Array(new ArrayBuffer(16, { maxByteLength: 16 }), 8, 8);
    cut.buffer.resize?.(8); // of Node.js 20
    for (const gone of [transferred(new Uint8Array(8)), cut.buffer.resize ? cut : transferred(cut)])
      says("add(): the key is Uint8Array(0) []. Its bytes were transferred or cut off. Pass a" +
        " copy that was made before", () => filter.add(gone));
    const many = function* () { yield* numbered("a", 1500); yield {}; };
    says(`addAll(): key 1501 is {}. ${isKey}`, () => filter.addAll(many()));
    says(`Filter.build(): key 1501 is {}. ${isKey}`, () => Filter.build(many()));
    same(filter, new Filter(10).addAll(["a", ...numbered("a", 1500)])); // those before are added
    says("add(): the key, 'a b', is not a URL. Leave it out", () =>
      new Filter(9, { key: "url" }).add("a b"));
  },

  "lines"() {
    const advice = "Pass text.split(/\\r?\\n/).filter(Boolean)";
    const ended = `each key has a line end, and would be found only with it. ${advice}`;
    const empty = `the last key is empty, as the line after the last line end is. ${advice}`;
    for (const text of ["a\r\nb\r\nc", "a\r\nb\r\n", "a\r\n"]) {
      says(`Filter.build(): ${ended}`, () => Filter.build(text.split("\n")));
      says(`addAll(): ${ended}`, () => new Filter(9).addAll(new Set(text.split("\n"))));
    }
    says(`Filter.build(): ${ended}`, () => Filter.build(["a\nb"])); // a text, not its lines
    const lines = numbered("a", 1500).map((line) => `${line}\n`);
    says(`Filter.build(): ${ended}`, () => Filter.build(new Set(lines)));
    for (const text of ["a\n", "a\nb\n"])
      says(`Filter.build(): ${empty}`, () => Filter.build(text.split("\n")));
    assert.equal(Filter.build(new Set([...numbered("a", 999), "", "b"])).has(""), true);
    says(`Filter.build(): ${empty}`, () => Filter.build(new Set([...numbered("a", 1000), ""])));
    for (const keys of [["a", "b\n"], ["a\n", 5, "b"], [""], ["", "a"]])
      assert.deepEqual([...Filter.build(keys).check(keys)], keys.map(() => 1));
  },

  "calls that are wrong, in words"() {
    const one = "Pass how many keys the filter is for, or the bytes of a filter";
    for (const [shown, value] of [["undefined", undefined], ["-1", -1], ["1.5", 1.5],
      ["1099511627777", 2 ** 40 + 1], ["'1'", "1"], ["9n", 9n]])
      says(`new Filter(): argument 1 is ${shown}. ${one}`, () => new Filter(value));
    const plain = "Pass a plain object of options: fpr, layout, key, salt";
    const rate = "Pass a number between 0 and 1 (null for a bitmap), or leave it out";
    for (const [said, options] of [
      ["there is no option p. It is called fpr", { p: 0.0001 }],
      ["there is no option error_rate. It is called fpr", { error_rate: 0.0001 }],
      [`there is no option __proto__. ${plain}`, JSON.parse('{"__proto__": 1}')],
      [`there is no option Symbol(p). ${plain}`, { [Symbol("p")]: 0.5 }],
      [`argument 2 is 0.001. ${plain}`, 0.001],
      [`argument 2 is null. ${plain}`, null],
      [`argument 2 is [ 0.5 ]. ${plain}`, [0.5]],
      [`argument 2 is {}. ${plain}`, Object.create({ fpr: 0.5 })],
      [`fpr is undefined. ${rate}`, { fpr: undefined }],
      [`fpr is NaN. ${rate}`, { fpr: NaN }],
      ["fpr is 2. Pass a number between 0 and 1, for example 0.01 for 1 %", { fpr: 2 }],
      ['key is \'url, salt=0\'. Pass the name of a key rule, for example "url", or leave it out',
        { key: "url, salt=0" }],
      ["salt is Uint8Array(1) [ 0 ]. Pass 16 bytes, or their 32 hexadecimal digits, or leave it" +
        " out", { salt: new Uint8Array(1) }],
    ])
      says(`new Filter(): ${said}`, () => new Filter(9, options));
    assert.throws(() => new Filter(9, { layout: "x" }), /^Error: .*: layout is 'x'/);
    assert.throws(() => new Filter(9, { get fpr() { throw new Error("mine"); } }),
      { message: "mine" });
    const other = require("vm").runInNewContext( // of another realm
      "Object.freeze({ fpr: 0.5, salt: new Uint8Array(16) })");
    assert.equal(new Filter(9, other).fpr, 0.5);
    const { constructor } = other.salt;
    same(new Filter(constructor.from(new Filter(9).add("a").bytes())), new Filter(9).add("a"));
    assert.equal(new Filter(9).add(new constructor(0)).has(""), true);
    assert.equal(Filter.fromBlocklist(constructor.from(Buffer.from("a.example"))).count, 1);
    says("new Filter(): argument 3 is 9. Leave it out", () => new Filter(9, {}, 9));
    const bytes = new Filter(9).bytes();
    says("new Filter(): argument 2 is {}. Leave it out, because the bytes say it",
      () => new Filter(bytes, {}));
    assert.throws(() => new Filter(bytes.subarray(0, 50)), /new Filter\(\): the data is cut off/);
    assert.throws(() => new Filter(Buffer.from("a")), /new Filter\(\): the data is not a filter/);
    assert.throws(() => new Filter(transferred(new Uint8Array(bytes))), /bytes were transferred/);
    assert.throws(() => new Filter(2 ** 40), /out of memory|allocation failed/);
    assert.throws(() => Filter(9), TypeError);
    assert.throws(() => Filter.prototype.add.call({}, "a"));

    says("Filter.build(): there is no option n. It is called capacity",
      () => Filter.build(["a"], { n: 9 }));
    for (const keys of [null, 7, "abc", new Uint8Array(4)])
      assert.throws(() => Filter.build(keys),
        /Filter.build\(\): keys is .*\. Pass an iterable of keys, for example the lines of/);
    for (const [keys, options] of [[[]], [[null, undefined, NaN]], [[], { capacity: 9 }]])
      says("Filter.build(): there is no key, and an empty filter lets everything pass. Look where" +
        " the keys come from, or make an empty filter with new Filter(capacity)",
      () => Filter.build(keys, options));
    for (const call of ["add", "has", "delete"])
      says(`${call === "delete" ? "has" : call}(): the key is a filter. Merge filters with union`,
        () => new Filter(9, { layout: "counting" })[call](bytes));
    says("check(): the key is a filter. Merge filters with union",
      () => new Filter(9).check(["a", bytes]));
    says("addAll(): the key is a filter. Merge filters with union",
      () => new Filter(9).addAll(["a", bytes]));
    says("check(): keys is Set(0) {}. Pass an array, for example [...keys]",
      () => new Filter(9).check(new Set()));
    says("delete(): cannot remove keys from a filter of layout blocked. Make it with layout" +
      " counting", () => new Filter(9).delete("a"));
    for (const name of ["union", "intersection"])
      says(`${name}(): the other filter is {}. Pass a Filter, or new Filter(bytes)`,
        () => new Filter(9)[name]({}));
    assert.throws(() => new Filter(9).intersection(new Filter(900)), /intersection\(\): filter 2/);
    assert.throws(() => Filter.build(["a"], { layout: "fuse" }).add("b"), /add\(\): cannot add/);
  },

  "keys that come from functions"() {
    const filter = new Filter(100, { fpr: 1e-6 });
    const bytes = new Uint8Array(20000).fill(1);
    const keys = ["a", bytes, 0, "b"];
    Object.defineProperty(keys, 2, { get() {
      filter.add("inner");
      keys.length = 3;
      transferred(bytes);
      return "c";
    } });
    filter.addAll(keys);
    assert.deepEqual([...filter.check(["a", "inner", "c", new Uint8Array(20000).fill(1), "b"])],
      [1, 1, 1, 1, 0]);
    const thrower = Object.defineProperty(["x", 0, "y"], 1, { get() { throw new Error("mine"); } });
    for (const work of [() => filter.addAll(thrower), () => filter.check(thrower),
      () => Filter.build(thrower)])
      assert.throws(work, { message: "mine" });
    assert.equal(filter.has("x"), true);
    for (const count of [0, 1, 1000, 1003]) {
      const broken = function* () { yield* numbered("b", count); throw new Error("mine"); };
      const some = new Filter(2000);
      for (const work of [() => some.addAll(broken()), () => Filter.build(broken())])
        assert.throws(work, { message: "mine" });
      same(some, new Filter(2000).addAll(numbered("b", count)));
    }
    const proxy = new Proxy(["a", "b", "c"], {});
    assert.deepEqual([...Filter.build(proxy).check(proxy)], [1, 1, 1]);
    same(new Filter(9).addAll(proxy), new Filter(9).addAll([...proxy]));
    let isOpen = false;
    const endless = function* () {
      isOpen = true;
      try {
        for (;;) yield {};
      } finally {
        isOpen = false;
      }
    };
    for (const work of [() => filter.addAll(endless()), () => Filter.build(endless())])
      assert.deepEqual([assert.throws(work, /key 1 is {}/), isOpen], [undefined, false]);
    const inner = function* () { yield "a"; yield `${Filter.build(["b"]).count}`; };
    assert.equal(Filter.build(inner()).has("1"), true);
  },

  async "in workers"() {
    const run = () => new Promise((resolve, reject) =>
      new Worker(__filename, { workerData: [module_, "random", 1, 300] })
        .on("error", reject).on("exit", resolve));
    assert.deepEqual(await Promise.all([run(), run(), run()]), [0, 0, 0]);
  },
};

// Random calls, beside a Map from keys to how often they are in.
function random(seed, calls) {
  let state = BigInt(seed);
  const below = (limit) => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    return Number((state >> 33n) % BigInt(limit));
  };
  const letters = ["a", "ü", "\uffff", "\u{1f600}", "\0"];
  const makers = [
    () => `key-${below(500)}`,
    () => letters[below(5)].repeat(below(20) ** 3),
    () => below(100) - 50,
    () => below(50) / 8,
    () => 3n ** BigInt(below(40)) * BigInt(below(3) - 1),
    () => new Uint8Array(below(20) ** 3).fill(below(3)),
    () => Buffer.from(`key-${below(500)}`),
    () => null,
  ];
  const make = () => makers[below(makers.length)]();
  // The bytes that are hashed: a number is the same key as 8 bytes.
  const nameOf = (key) => {
    const isWhole = typeof key === "bigint" || Number.isInteger(key);
    if (isWhole) return Buffer.from(BigInt64Array.of(BigInt(key)).buffer).toString("latin1");
    const bytes = typeof key === "number" ? Float64Array.of(key).buffer : key;
    return Buffer.from(bytes).toString("latin1");
  };
  const options = { layout: "counting", fpr: 1e-7 };
  let filter = new Filter(20000, options);
  const counts = new Map();
  const count = (key) => (key === null ? 0 : counts.get(nameOf(key))?.[0] ?? 0);
  const change = (key, by) => key !== null && counts.set(nameOf(key), [count(key) + by, key]);
  const isLow = (key) => count(key) === 0; // counters, which keys share, go to 15
  for (let i = 0; i < calls; i++) {
    const key = make();
    const call = below(100);
    if (call < 40 && isLow(key)) {
      filter.add(key);
      change(key, 1);
    } else if (call < 60) {
      assert.equal(filter.has(key), count(key) > 0);
    } else if (call < 90) {
      assert.equal(filter.delete(key), count(key) > 0);
      if (count(key) > 0) change(key, -1);
    } else if (call < 92) {
      const keys = Array.from({ length: below(300) }, make)
        .filter((one) => isLow(one) && one !== ""); // which is refused at the end
      const once = [...new Map(keys.map((one) => [one === null ? "" : nameOf(one), one])).values()];
      filter.addAll(call === 90 ? once : once.values());
      for (const one of once) change(one, 1);
      filter = new Filter(filter.bytes());
    } else if (call < 99) {
      const keys = Array.from({ length: below(below(10) === 0 ? 600 : 10) }, make);
      assert.deepEqual([...filter.check(keys)],
        keys.map((one) => (one === null ? 2 : Number(count(one) > 0))));
    } else {
      const all = [...counts.values()].flatMap(([times, one]) => Array(times).fill(one)).reverse();
      same(new Filter(20000, options).addAll(all), filter);
    }
  }
  assert.ok(counts.size > Math.min(calls, 500) / 2);
}

// Objects that the collector frees amid a loop that never waits: memory stops growing.
function objects(count) {
  const grown = [];
  for (let i = 0; i < count; i++) {
    const filter = new Filter(500).add(i);
    if (i % 5 === 0) filter.union(new Filter(filter.bytes()));
    if (i % 7 === 0) Filter.build([i]);
    if (i % 11 === 0) assert.throws(() => new Filter(Buffer.from("a")));
    if (i % (count / 10) === count / 10 - 1) {
      gc();
      grown.push(process.memoryUsage.rss() / 1e6);
    }
  }
  assert.ok(grown[9] < grown[1] + 30, `MB: ${grown}`);
}

async function runCases() {
  let failed = 0;
  for (const [name, run] of Object.entries(cases)) {
    try {
      await run();
    } catch (error) {
      failed++;
      console.log(`FAIL ${name}: ${error.stack}`);
    }
  }
  console.log(`${Object.keys(cases).length - failed} passed, ${failed} failed`);
  process.exitCode = Number(failed > 0);
}

if (what === "random") random(...more.map(Number));
else if (what === "objects") objects(...more.map(Number));
else if (isMainThread) runCases();
