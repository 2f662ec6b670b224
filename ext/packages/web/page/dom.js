// What all parts of the page share: elements, numbers as people read them, the workers, and how
// work that takes a while is shown.

const element = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";

function make(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function draw(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

const grouped = (number) => Math.round(number).toLocaleString("en");
const counted = (number, one, several = `${one}s`) =>
  `${grouped(number)} ${number === 1 ? one : several}`;
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`;

function shownBytes(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  const number = bytes / 1000 ** power;
  const shown = power === 0 || number >= 999.5 ? Math.round(number) : number.toPrecision(3);
  return `${shown} ${units[power]}`;
}

// A problem stands in words where the eye is; without words its place is hidden.
function showProblem(id, words = "") {
  element(id).textContent = words;
  element(id).hidden = words === "";
}

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The files that came with the page, for readfile().
const packedFiles = JSON.parse(element("files").textContent);
const fileOfPage = (name) => unpack(packedFiles[name]);

const wasm = unpack(element("wasm").textContent);
// As data: a page that was opened as a file may not start a module from a blob.
const worker = `data:text/javascript,${encodeURIComponent(element("worker").textContent)}`;

// An empty database in a worker of its own.
const openDatabase = async (options = {}) =>
  openInWorker({ worker, wasm: await wasm, ...options });

async function rowsOf(database, sql, parameters) {
  const [{ rows }] = await database.run(sql, parameters);
  return rows;
}

// Shows that work is under way: words, a bar, the time that has passed, and Stop. What takes less
// than a blink is not shown.
function showWork(place, label, stop) {
  const start = performance.now();
  const words = make("span", { textContent: label });
  const bar = make("progress", { ariaLabel: label });
  const elapsed = make("span", { className: "elapsed" });
  const button = make("button", { type: "button", className: "quiet", textContent: "Stop" });
  const tick = () => (elapsed.textContent = seconds(performance.now() - start));
  const appear = setTimeout(() => (place.hidden = false), 150);
  const clock = setInterval(tick, 100);
  button.addEventListener("click", stop);
  tick();
  place.replaceChildren(words, bar, elapsed, button);
  return {
    say(text, part) {
      words.textContent = text;
      if (part === undefined) bar.removeAttribute("value");
      else bar.value = Math.min(1, part);
    },
    // Gives the milliseconds that it took. Newer work may have taken the place.
    end() {
      clearTimeout(appear);
      clearInterval(clock);
      if (words.parentNode === place) {
        place.hidden = true;
        place.replaceChildren();
      }
      return performance.now() - start;
    },
  };
}

// Copies a text; where the browser does not let it, the element is selected for Ctrl+C.
async function copyText(text, shown) {
  try {
    await navigator.clipboard.writeText(text);
    return "Copied.";
  } catch {
    getSelection().selectAllChildren(shown);
    return "Selected: press Ctrl+C.";
  }
}

const quoted = (text) => `'${text.replaceAll("'", "''")}'`;
