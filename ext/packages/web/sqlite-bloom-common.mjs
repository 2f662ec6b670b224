// What sqlite-bloom.mjs and sqlite-bloom-client.mjs share: their error, and the check of options.
export class SqliteError extends Error {}

const isA = (type) => (value) => typeof value === type;
const isBytes = (value) => value instanceof ArrayBuffer || ArrayBuffer.isView(value);
const isCount = (value) => value >= 0 && (Number.isSafeInteger(value) || value === Infinity);
const isWasm = (value) => typeof value === "string" || (Object(value) === value && !isPlain(value));

/** A value as a message shows it. */
export const shown = (value) =>
  Object(value) === value ? `of type ${value.constructor?.name ?? "object"}`
  : typeof value === "string" ? JSON.stringify(value.slice(0, 40))
  : typeof value === "bigint" ? `${value}n` : String(value);

/** Whether a value is an object as { a: 1 } makes it, here or in another realm. */
export const isPlain = (value) =>
  typeof value === "object" && value !== null &&
  Object.getPrototypeOf(Object.getPrototypeOf(value) ?? Object.prototype) === null;

// The options of each function: a test of the value, and what to pass.
const OPEN = {
  wasm: [isWasm, "its URL, its bytes, a WebAssembly.Module or a promise of one of these"],
  bytes: [isBytes, "an ArrayBuffer or view of one"],
  files: [isPlain, "an object of names and bytes"],
};
const READ = { asText: [isA("boolean"), "true or false"] };
for (const name of ["maximumRows", "maximumCells", "maximumLength", "longestValue"])
  READ[name] = [isCount, "a whole number or Infinity"];
const CALL = [isA("function"), "a function"];
const OPTIONS = {
  open: OPEN,
  openInWorker: { ...OPEN, worker: [(value) => isA("function")(value?.postMessage), "a Worker"] },
  run: { ...READ, onResult: CALL, onProgress: CALL },
  all: READ,
};

const problem = (name, what) => new TypeError(`${name}(): ${what}`);

export function expectCount(name, given, most) {
  if (given.length > most)
    throw problem(name, `argument ${most + 1} is ${shown(given[most])}. Leave it out`);
}

/** The options of a call, its last argument, each read once. What is not known is an error. */
export function optionsOf(name, given, count) {
  expectCount(name, given, count);
  const { [count - 1]: options = {} } = given;
  const known = OPTIONS[name];
  const advice = `Pass a plain object of options: ${Object.keys(known).join(", ")}`;
  if (!isPlain(options)) throw problem(name, `argument ${count} is ${shown(options)}. ${advice}`);
  const values = { ...options };
  for (const option of Reflect.ownKeys(values)) {
    if (!Object.hasOwn(known, option))
      throw problem(name, `there is no option ${String(option)}. ${advice}`);
    const [isRight, wanted] = known[option];
    if (!isRight(values[option]))
      throw problem(name, `${option} is ${shown(values[option])}. Pass ${wanted}, or leave it out`);
  }
  return values;
}
