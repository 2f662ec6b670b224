// What all parts of the page share: elements, numbers as people read them, the workers, and how
// work that takes a while is shown.

const element = (id) => document.getElementById(id);
const [html, svg] = [van.tags, van.tags("http://www.w3.org/2000/svg")];
const LONGEST_SHOWN = 2000; // letters of a value
const LONG_TEXT = 100_000; // letters; more than that a text area takes seconds to show

const button = (kind, words, onclick) =>
  html.button({ type: "button", class: kind, onclick }, words);

// Fills a table. A cell is what td takes, or a td itself; words are shown below it.
function fillTable(table, names, rows, words) {
  const headOf = (name) => (name === "" ? html.td() : html.th({ scope: "col" }, name));
  const cellOf = (cell) => (cell instanceof HTMLTableCellElement ? cell : html.td(cell));
  table.replaceChildren(
    html.thead(html.tr(names.map(headOf))),
    html.tbody(rows.map((cells) => html.tr(cells.map(cellOf)))),
  );
  if (words !== undefined) table.append(html.caption(words));
  return table;
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

// A rate of false positives, the same way everywhere on the page.
function falsePositives(rate, digits = 9) {
  const keys = 1 / rate;
  return `1 in ${keys < 10 ? Number(keys.toPrecision(2)) : grouped(keys.toPrecision(digits))} keys`;
}

// What a reload does not lose: in this tab, and only if the browser has a place for it.
function remember(name, value) {
  try {
    sessionStorage.setItem(`bloom ${name}`, JSON.stringify(value));
  } catch {
    sessionStorage.removeItem(`bloom ${name}`); // it is too large
  }
}

function recall(name) {
  try {
    return JSON.parse(sessionStorage.getItem(`bloom ${name}`)) ?? undefined;
  } catch {
    return undefined;
  }
}

// A problem stands in words where the eye is; without words its place is hidden.
function showProblem(id, words = "") {
  element(id).textContent = words;
  element(id).hidden = words === "";
}

// What is shown of a text; size: of all of it, where this is but its start.
function shortened(text, size) {
  if (size === undefined && text.length <= LONGEST_SHOWN) return text;
  const whole = size === undefined ? counted(text.length, "letter") : counted(size, "byte");
  return `${text.slice(0, LONGEST_SHOWN)}… ${whole}`;
}

// A text area holds a long text without showing it; what is typed then takes its place.
const held = new WeakMap();
const textOf = (area) => held.get(area) ?? area.value;

function setText(area, text) {
  const isLong = text.length >= LONG_TEXT;
  held.delete(area);
  if (isLong) held.set(area, text);
  area.value = isLong
    ? `${counted(linesOf(text).length, "line")}: too long to be shown`
    : text;
}

function holdLongTexts(area, onPaste = () => {}) {
  area.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (text.length < LONG_TEXT) return;
    event.preventDefault();
    setText(area, text);
    onPaste();
  });
  area.addEventListener("beforeinput", () => held.has(area) && setText(area, ""));
}

const linesOf = (text) => text.split(/\r?\n/).filter((line) => line.trim());

// Ctrl and Enter in a field do what the button beside it does.
function onCtrlEnter(area, run) {
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
}

async function gunzip(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const unpack = (text) => gunzip(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));

// The files that came with the page, for readfile().
const packedFiles = JSON.parse(element("files").textContent);
const fileOfPage = (name) => unpack(packedFiles[name]);

const wasm = unpack(element("wasm").textContent);
// As data: a page that was opened as a file may not start a module from a blob.
const worker = `data:text/javascript,${encodeURIComponent(element("worker").textContent)}`;

// An empty database in a worker of its own.
const openDatabase = async (options = {}) =>
  openInWorker({ worker: new Worker(worker, { type: "module" }), wasm: await wasm, ...options });

async function rowsOf(database, sql, parameters) {
  const [{ rows }] = await database.run(sql, parameters);
  return rows;
}

// Shows that work is under way: words, a bar, the time that has passed, and Stop. What takes less
// than a blink is not shown. Stop gives its focus to next.
function showWork(place, label, stop, next) {
  const start = performance.now();
  const [words, elapsed] = [html.span(label), html.span({ class: "elapsed" })];
  const bar = html.progress({ "aria-label": label });
  const tick = () => (elapsed.textContent = seconds(performance.now() - start));
  const appear = setTimeout(() => (place.hidden = false), 150);
  const clock = setInterval(tick, 100);
  tick();
  place.replaceChildren(words, bar, elapsed, button("quiet", "Stop", stop));
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
        if (place.contains(document.activeElement)) next.focus();
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

// A text in SQL; a literal ends at a zero byte.
const quoted = (text) =>
  text
    .split("\0")
    .map((part) => `'${part.replaceAll("'", "''")}'`)
    .join(" || char(0) || ");

// Shows SQL in the page; whole is what is copied and run, where that is too long to be shown.
const wholeSql = new WeakMap();

function showSql(code, shown, whole = shown) {
  code.textContent = shown;
  wholeSql.set(code, whole);
}
