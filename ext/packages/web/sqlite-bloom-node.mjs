// The entry for Node.js: all that sqlite-bloom.mjs and sqlite-bloom-client.mjs export, but
// sqlite-bloom.wasm is read from the disk, and workers are those of node:worker_threads.
import { readFile } from "node:fs/promises";
import { Worker } from "node:worker_threads";
import { openInWorker as openInAnyWorker } from "./sqlite-bloom-client.mjs";
import { optionsOf } from "./sqlite-bloom-common.mjs";
import { open as openAny } from "./sqlite-bloom.mjs";

export * from "./sqlite-bloom-client.mjs";
export * from "./sqlite-bloom.mjs";

let compiled; // for this thread and its workers

function wasmOfDisk() {
  compiled ??= readFile(new URL("./sqlite-bloom.wasm", import.meta.url)).then(WebAssembly.compile);
  return compiled;
}

function nodeWorker() {
  const worker = new Worker(new URL("./sqlite-bloom-node-worker.mjs", import.meta.url));
  worker.on("message", (data) => worker.onmessage({ data }));
  worker.on("error", (error) => worker.onerror(error));
  return worker;
}

export async function open() {
  const { wasm = wasmOfDisk(), ...options } = optionsOf("open", arguments, 1);
  return openAny({ wasm, ...options });
}

export async function openInWorker() {
  const given = optionsOf("openInWorker", arguments, 1);
  const { wasm = wasmOfDisk(), worker = nodeWorker(), ...options } = given;
  return openInAnyWorker({ wasm, worker, ...options });
}
