// The class Filter, whose work is done in C by the addon filter.node, and what it shares with
// index.cjs: how options are checked, and how keys are read.
"use strict";

const { inspect, types: { isProxy, isUint8Array } } = require("util");

const problem = (name, what) => new TypeError(`sqlite-bloom: ${name}(): ${what}`);
const shown = (value) => inspect(value, { depth: 0, breakLength: Infinity }).slice(0, 60);

const isWord = (value) => typeof value === "string" && /^[\w-]+$/.test(value);
const isRate = (value) => value === null || (typeof value === "number" && value > 0);
const isSalt = (value) => isWord(value) || (isUint8Array(value) && value.length === 16);

// The options: a test of the value, and what to pass. C checks the ranges.
const OPTIONS = {
  capacity: [Number.isSafeInteger, "a whole number"],
  fpr: [isRate, "a number between 0 and 1 (null for a bitmap)"],
  layout: [isWord, 'its name, for example "counting"'],
  key: [isWord, 'the name of a key rule, for example "url"'],
  salt: [isSalt, "16 bytes, or their 32 hexadecimal digits"],
  progress: [(value) => typeof value === "function", "a function"],
};
const OF_FILTER = ["fpr", "layout", "key", "salt"];

// What others call these options.
const CALLED = new Map([
  ...["n", "size", "items"].map((word) => [word, "capacity"]),
  ...["p", "rate", "error_rate", "errorRate"].map((word) => [word, "fpr"]),
]);

// Whether a value is an object as { a: 1 } makes it, here or in another realm.
const isPlain = (value) =>
  typeof value === "object" && value !== null &&
  Object.getPrototypeOf(Object.getPrototypeOf(value) ?? Object.prototype) === null;

// The options of a call, its last argument. What is not known is an error, because a filter that
// was made without an option works, but otherwise than was meant.
function optionsOf(name, known, given, count) {
  const { [count - 1]: options = {}, [count]: more } = given;
  const advice = `Pass a plain object of options: ${known.join(", ")}`;
  if (!isPlain(options)) throw problem(name, `argument ${count} is ${shown(options)}. ${advice}`);
  if (given.length > count)
    throw problem(name, `argument ${count + 1} is ${shown(more)}. Leave it out`);
  const values = { ...options };
  for (const option of Reflect.ownKeys(values)) {
    if (!known.includes(option)) {
      const called = CALLED.get(option);
      throw problem(name, `there is no option ${String(option)}. ` +
        (known.includes(called) ? `It is called ${called}` : advice));
    }
    const [isRight, wanted] = OPTIONS[option];
    if (!isRight(values[option]))
      throw problem(name, `${option} is ${shown(values[option])}. Pass ${wanted}, or leave it out`);
  }
  return values;
}

// What C takes: the rate, and the other options as text.
function parametersOf({ fpr, layout = "blocked", key, salt }) {
  const rate = layout === "bitmap" ? 0 : key === undefined ? 0.01 : 0.0001;
  const digits = isUint8Array(salt) ? Buffer.from(salt).toString("hex") : salt;
  const words = Object.entries({ layout, key, salt: digits })
    .filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${value}`);
  return [fpr === undefined ? rate : (fpr ?? 0), words.join(", ")];
}

// Throws unless a value is a key. number: of the key among others, or 0.
function explain(name, value, number) {
  let advice = "Pass a string, number, bigint of 64 bits or Uint8Array";
  if (value === null || value === undefined || Number.isNaN(value)) return;
  if (typeof value === "string") {
    if (!/\p{Surrogate}/u.test(value)) return;
    advice = "It has half of a surrogate pair. Pass text.toWellFormed(), or bytes";
  } else if (typeof value === "number") {
    if (Number.isSafeInteger(value) || value % 1 !== 0 || Math.abs(value) >= 2 ** 63) return;
    advice = "Numbers beyond 2^53 are rounded. Pass a bigint, such as 9007199254740993n";
  } else if (typeof value === "bigint") {
    if (BigInt.asIntN(64, value) === value) return;
  } else if (isUint8Array(value)) {
    if (!isGone(value)) return;
    advice = "Its bytes were transferred or cut off. Pass a copy that was made before";
  }
  throw problem(name, `${number > 0 ? `key ${number}` : "the key"} is ${shown(value)}. ${advice}`);
}

function isGone(bytes) {
  try {
    return Uint8Array.prototype.keys.call(bytes) === undefined;
  } catch {
    return true;
  }
}

const BATCH_KEYS = 1000;
const hasLineEnd = (key) => typeof key === "string" && /[\r\n]/.test(key);

// Refuses a text that was passed instead of its lines, lines with line ends, and the empty key that
// text.split("\n") leaves at the end.
function refuseLines(name, keys, isFirst, isLast) {
  const last = keys[keys.length - 1];
  const count = isLast && !hasLineEnd(last) ? Math.max(1, keys.length - 1) : keys.length;
  let what;
  if (isFirst && hasLineEnd(keys[0]) && keys.slice(0, count).every(hasLineEnd))
    what = "each key has a line end, and would be found only with it";
  else if (isLast && last === "" && (!isFirst || keys.length > 1))
    what = "the last key is empty, as the line after the last line end is";
  if (what !== undefined)
    throw problem(name, `${what}. Pass text.split(/\\r?\\n/).filter(Boolean)`);
}

// The keys of an iterable in arrays, of which an array is one.
function* batchesOf(name, keys) {
  if (typeof keys === "string" || ArrayBuffer.isView(keys) ||
      typeof keys?.[Symbol.iterator] !== "function")
    throw problem(name, `keys is ${shown(keys)}. Pass an iterable of keys, for example the lines` +
                        " of a text: text.split(/\\r?\\n/).filter(Boolean)");
  const isArray = Array.isArray(keys) && !isProxy(keys); // C reads no proxies
  let batch = isArray ? keys : [];
  let isFirst = true;
  try {
    for (const key of isArray ? [] : keys) {
      if (batch.length === BATCH_KEYS) {
        const full = batch;
        batch = [];
        refuseLines(name, full, isFirst, false);
        yield full;
        isFirst = false;
      }
      batch.push(key);
    }
  } catch (thrown) {
    if (batch.length > 0) yield batch; // as a Set has what came before
    throw thrown;
  }
  refuseLines(name, batch, isFirst, true);
  yield batch;
}

// What C makes a filter of; filter.c has the same numbers.
const MADE_OF = { capacity: 0, bytes: 1, keys: 2, list: 3, union: 4, intersection: 5 };
const MADE = Symbol("made");

// The arguments of `new Filter`, as C takes them.
function argumentsOf(given) {
  const [source] = given;
  if (source === MADE) return given.slice(1);
  const name = "new Filter";
  const isBytes = isUint8Array(source);
  if (isBytes && given.length > 1)
    throw problem(name, `argument 2 is ${shown(given[1])}. Leave it out, because the bytes say it`);
  if (isBytes && source.length === 0) explain(name, source, 0);
  if (isBytes) return ["bytes", source];
  if (!(Number.isSafeInteger(source) && source >= 0 && source <= 2 ** 40))
    throw problem(name, `argument 1 is ${shown(source)}. Pass how many keys the filter is for, ` +
      "or the bytes of a filter");
  return ["capacity", source, ...parametersOf(optionsOf(name, OF_FILTER, given, 2))];
}

const notAFilter = (name, value) =>
  problem(name, `the other filter is ${shown(value)}. Pass a Filter, or new Filter(bytes)`);

// The class, of what the addon exports.
const makeClass = (define) => class Filter extends define(explain) {
  #bytes; // ArrayBuffers, in which C has the filter
  #filter;

  constructor(...given) {
    const [kind, ...more] = argumentsOf(given);
    const memory = [];
    super((bytes) => memory[memory.push(new ArrayBuffer(bytes)) - 1], MADE_OF[kind], ...more);
    [this.#bytes, this.#filter] = memory;
  }

  static build(keys) {
    const name = "Filter.build";
    const { capacity, ...more } = optionsOf(name, ["capacity", ...OF_FILTER], arguments, 2);
    const noKey = () => problem(name, "there is no key, and an empty filter lets everything pass." +
      " Look where the keys come from, or make an empty filter with new Filter(capacity)");
    if (capacity !== undefined) {
      const filter = new Filter(capacity, more).addAll(keys);
      if (filter.count === 0) throw noKey();
      return filter;
    }
    const batches = batchesOf(name, keys);
    let isEmpty = true;
    const next = () => {
      const batch = batches.next().value ?? [];
      isEmpty &&= batch.every((key) => key === null || key === undefined || Number.isNaN(key));
      if (isEmpty && batch.length === 0) throw noKey();
      return batch;
    };
    try {
      return new Filter(MADE, "keys", next, ...parametersOf(more));
    } finally {
      batches.return(); // closes what the keys come from
    }
  }

  static fromBlocklist(text) {
    const name = "Filter.fromBlocklist";
    const options = optionsOf(name, OF_FILTER, arguments, 2);
    if (typeof text !== "string" && !(isUint8Array(text)))
      throw problem(name, `text is ${shown(text)}. Pass the text of a list, or its bytes`);
    const parameters = parametersOf({ fpr: 0.0001, ...options });
    return new Filter(MADE, "list", Buffer.from(text), ...parameters);
  }

  has(key) {
    return super.has(this.#filter, key);
  }

  add(key) {
    super.add(this.#filter, key);
    return this;
  }

  addAll(keys) {
    let count = 0;
    for (const batch of batchesOf("addAll", keys)) {
      super.addAll(this.#filter, batch, count);
      count += batch.length;
    }
    return this;
  }

  check(keys) {
    if (!Array.isArray(keys))
      throw problem("check", `keys is ${shown(keys)}. Pass an array, for example [...keys]`);
    const array = isProxy(keys) ? [...keys] : keys;
    const answers = new Uint8Array(array.length);
    super.check(this.#filter, array, 0, answers);
    return answers;
  }

  delete(key) {
    const was = this.has(key);
    super.delete(this.#filter, key);
    return was;
  }

  union(other) {
    if (!(#filter in Object(other))) throw notAFilter("union", other);
    return new Filter(MADE, "union", this.#filter, other.#filter);
  }

  intersection(other) {
    if (!(#filter in Object(other))) throw notAFilter("intersection", other);
    return new Filter(MADE, "intersection", this.#filter, other.#filter);
  }

  bytes() {
    return super._get(this.#filter, 2);
  }

  get layout() {
    return super._get(this.#filter, 0);
  }

  get key() {
    return super._get(this.#filter, 1) || null;
  }

  get capacity() {
    return super._get(this.#filter, 3) || null;
  }

  get fpr() {
    return super._get(this.#filter, 4) || null;
  }

  get count() {
    return Math.round(super._get(this.#filter, 5));
  }

  get fprNow() {
    return super._get(this.#filter, 6);
  }

  [inspect.custom]() {
    const { layout, key, capacity, fpr } = this;
    return `Filter ${inspect({ layout, key, capacity, fpr }, { breakLength: Infinity })}`;
  }
};

module.exports = { batchesOf, explain, makeClass, optionsOf, problem, shown };
