// The entry of a worker of Node.js, which lacks the two functions that browsers give to a worker.
import { parentPort } from "node:worker_threads";
import "./sqlite-bloom-worker.mjs";

globalThis.postMessage = (message) => parentPort.postMessage(message);
parentPort.on("message", (data) => globalThis.onmessage({ data }));
