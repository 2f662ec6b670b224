// Reads a list of URLs as JSON and writes what a parser makes of each: its href, or null.
// node_side.mjs FOLDER: that of whatwg-url, installed there; node_side.mjs: Node's own.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const folder = process.argv[2];
const Parser = folder ? createRequire(`${folder}/`)("whatwg-url").URL : URL;
const hrefs = JSON.parse(readFileSync(0, "utf8")).map((url) => {
  try {
    return new Parser(url).href;
  } catch {
    return null;
  }
});
process.stdout.write(JSON.stringify(hrefs));
