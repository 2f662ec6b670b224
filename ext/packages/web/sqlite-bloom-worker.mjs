// The entry of a worker that holds databases, so that a long query does not stop the page:
// sqlite-bloom-client.mjs starts it. A message is { id, database, method, values }; the answer
// { id, result } or { id, error: { name, message } }.
import { open } from "./sqlite-bloom.mjs";

const databases = new Map();
let last = 0;

const methods = {
  async open(_, options) {
    databases.set(++last, await open(options));
    return last;
  },
  run: (database, ...values) => databases.get(database).run(...values),
  save: (database) => databases.get(database).save(),
  close(database) {
    databases.get(database).close();
    databases.delete(database);
  },
};

async function answer({ id, database, method, values }) {
  try {
    return { id, result: await methods[method](database, ...values) };
  } catch ({ name, constructor, message }) {
    return { id, error: { name: name === "Error" ? constructor.name : name, message } };
  }
}

if (globalThis.process?.versions?.node && !globalThis.process.versions.bun) {
  const { parentPort } = await import("node:worker_threads");
  parentPort.on("message", async (message) => parentPort.postMessage(await answer(message)));
} else {
  globalThis.onmessage = async ({ data }) => globalThis.postMessage(await answer(data));
}
