// The entry of a worker that holds databases, so that a long query does not stop the page:
// sqlite-bloom-client.mjs starts it. A message is { id, database, method, values }; the answer
// { id, result } or { id, error: { name, message, position } }. Before it may come
// { id, call, value }, for one of the functions that run() was given: of these only the names are
// in its options.
import { open } from "./sqlite-bloom.mjs";

const MILLISECONDS_BETWEEN_REPORTS = 50;
const databases = new Map();
let last = 0;

const methods = {
  async open(_, id, options) {
    databases.set(++last, await open(options));
    return last;
  },
  run: (database, id, sql, parameters, { calls, ...options }) =>
    databases.get(database).run(sql, parameters, { ...options, ...callbacks(id, calls) }),
  save: (database) => databases.get(database).save(),
  close(database) {
    databases.get(database).close();
    databases.delete(database);
  },
};

function callbacks(id, calls) {
  const callback = (call) => (value) => postMessage({ id, call, value });
  const made = Object.fromEntries(calls.map((call) => [call, callback(call)]));
  const { onProgress } = made;
  let reported = performance.now();
  if (onProgress !== undefined)
    made.onProgress = (value) => {
      const now = performance.now();
      if (now - reported < MILLISECONDS_BETWEEN_REPORTS) return;
      reported = now;
      onProgress(value);
    };
  return made;
}

async function answer({ id, database, method, values }) {
  try {
    return { id, result: await methods[method](database, id, ...values) };
  } catch ({ name, constructor, message, position }) {
    const kind = name === "Error" ? constructor.name : name;
    return { id, error: { name: kind, message, position } };
  }
}

globalThis.onmessage = async ({ data }) => postMessage(await answer(data));
