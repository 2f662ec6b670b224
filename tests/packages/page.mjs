// Opens the page in headless Chromium as a file, without a network, uses it as a person would, and
// prints what it saw as JSON. page.mjs PAGE FOLDER INPUT: FOLDER has node_modules with
// playwright-core and axe-core, and receives the screenshots; INPUT is a file of JSON, the lists
// and URLs that web_test.py made.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [file, folder, input] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)("playwright-core");
const axe = readFileSync(`${folder}/node_modules/axe-core/axe.min.js`, "utf8");
const given = JSON.parse(readFileSync(input, "utf8"));
const address = pathToFileURL(file).href;
const PATIENCE = 120_000; // milliseconds; the machine may be busy
const seen = { errors: [], requests: [], axe: {}, widths: {} };

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

const still = { reducedMotion: "reduce", permissions: ["clipboard-read", "clipboard-write"] };
const desktop = { viewport: { width: 1100, height: 900 }, colorScheme: "light", ...still };

async function opened(options, hash = "") {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE);
  await context.setOffline(true);
  const page = await context.newPage();
  page.on(
    "console",
    (message) => ["error", "warning"].includes(message.type()) && seen.errors.push(message.text()),
  );
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => seen.requests.push(request.url().slice(0, 60)));
  await page.goto(address + hash);
  await page.waitForSelector("body[data-ready]");
  return page;
}

const texts = (page, selector) =>
  page.$$eval(selector, (found) => found.map((one) => one.textContent.trim()));
const rowsOf = (page, table) =>
  page.$$eval(`${table} tbody tr`, (rows) =>
    rows.map((row) => [...row.children].map((cell) => cell.textContent.trim())),
  );

// What axe finds, and whether the page is wider than its window.
async function inspect(page, name) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  seen.axe[name] = await page.evaluate(async () =>
    (await globalThis.axe.run()).violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(" | ")}`,
    ),
  );
  // A phone makes its window as wide as the page.
  seen.widths[name] = await page.evaluate(
    (width) => [Math.max(document.documentElement.scrollWidth, window.innerWidth), width],
    page.viewportSize().width,
  );
}

// Waits until the list is loaded, or has a problem.
const loaded = (page) =>
  page.waitForFunction(() => document.getElementById("list-work").children.length === 0);

async function ask(page, lines, press = "click") {
  await page.fill("#urls", lines.join("\n"));
  await page.evaluate(() => {
    document.getElementById("verdict").textContent = "";
  });
  if (press === "click") await page.click("#ask-form button[type=submit]");
  else await page.press("#urls", press);
  await page.waitForFunction(
    () =>
      document.getElementById("verdict").textContent !== "" ||
      !document.getElementById("list-problem").hidden,
  );
  await page.waitForTimeout(100); // the keys of the first one
}

async function answers(page) {
  return {
    verdict: await page.textContent("#verdict"),
    kind: await page.getAttribute("#verdict", "class"),
    rows: (await page.isHidden("#several")) ? [] : await rowsOf(page, "#verdicts"),
    keys: (await page.isHidden("#answer")) ? [] : await texts(page, "#keys label"),
    chosen: await page.$$eval("#keys label:has(:checked) code", (codes) =>
      codes.map((code) => code.textContent),
    ),
    bits: await page.locator("#block .bit").count(),
    probes: await page.locator("#block .bit.probe").count(),
    lit: await page.locator("#block .bit.probe.set").count(),
    hasBlock: await page.isVisible("#block"),
    sql: await page.textContent("#list-sql"),
  };
}

async function listState(page) {
  await loaded(page);
  return {
    figures: await page.textContent("#list-figures"),
    problem: (await page.isHidden("#list-problem")) ? "" : await page.textContent("#list-problem"),
    unused: (await page.isHidden("#unused")) ? [] : await rowsOf(page, "#unused-lines"),
    summary: (await page.isHidden("#unused")) ? "" : await page.textContent("#unused-summary"),
  };
}

async function runSql(page, sql) {
  await page.fill("#sql", sql);
  await page.click("#run");
  await page.waitForFunction(() =>
    /^(Done|It stopped)/.test(document.getElementById("status").textContent),
  );
}

// What Copy puts into the clipboard, of the SQL of the list.
async function copiedSql(page) {
  await page.$eval("[data-sql=list] [role=status]", (said) => (said.textContent = ""));
  await page.click("[data-sql=list] button >> text=Copy");
  await page.waitForFunction(
    () => document.querySelector("[data-sql=list] [role=status]").textContent === "Copied.",
  );
  return page.evaluate(() => navigator.clipboard.readText());
}

// --- The first answer ---

const session = await browser.newBrowserCDPSession();
const processorTime = async () =>
  Math.max(
    ...(await session.send("SystemInfo.getProcessInfo")).processInfo
      .filter(({ type }) => type === "renderer")
      .map(({ cpuTime }) => cpuTime),
  );
const page = await (async () => {
  const context = await browser.newContext(desktop);
  context.setDefaultTimeout(PATIENCE);
  const first = await context.newPage();
  await first.goto(address);
  await first.waitForFunction(() => performance.getEntriesByName("first answer").length > 0);
  seen.first = {
    processor: await processorTime(),
    clock: await first.evaluate(() => performance.getEntriesByName("first answer")[0].startTime),
    verdict: await first.textContent("#verdict"),
  };
  await context.close();
  return opened(desktop);
})();
seen.version = await page.textContent("#version");
seen.list = await listState(page);
await inspect(page, "first");

// --- What a filter is ---

async function pictureOf(target) {
  return target.evaluate(() => ({
    words: document.getElementById("picture-caption").textContent,
    step: document.getElementById("picture-step").textContent,
    key: document.querySelector("#picture-drawing .key").textContent,
    rays: document.querySelectorAll("#picture-drawing .ray").length,
    bits: [...document.querySelectorAll("#picture-drawing .bit")].map((bit) =>
      bit.getAttribute("class"),
    ),
  }));
}
seen.sentences = await page.textContent("#what .prose");
seen.picture = [await pictureOf(page)];
await page.waitForTimeout(3000);
seen.pictureRests = (await pictureOf(page)).step;
await page.focus("#picture-next");
while ((await page.getAttribute("#picture-next", "aria-disabled")) === "false") {
  await page.keyboard.press("Enter");
  seen.picture.push(await pictureOf(page));
}
const focused = (target) => target.evaluate(() => document.activeElement.id);
await page.keyboard.press("Enter"); // which does nothing now
seen.pictureEnds = [await focused(page), (await pictureOf(page)).step];
seen.motion = await page.evaluate(() => {
  const names = (selector) =>
    [...document.querySelectorAll(selector)].map((one) => {
      const { animationName, transitionDuration } = getComputedStyle(one);
      return `${animationName} ${transitionDuration}`;
    });
  return [...new Set([...names("#picture-drawing .ray"), ...names("#picture-drawing .bit")])];
});
const moving = await opened({ ...desktop, reducedMotion: "no-preference" });
await moving.waitForFunction(
  () => parseInt(document.getElementById("picture-step").textContent) >= 3,
);
await moving.click("#picture-play");
const paused = await pictureOf(moving);
await moving.waitForTimeout(3500);
seen.moves = {
  paused: paused.step,
  later: (await pictureOf(moving)).step,
  ray: await moving.evaluate(
    () => getComputedStyle(document.querySelector("#picture-drawing .ray")).animationName,
  ),
};
await moving.context().close();

// --- A list is asked ---

seen.urls = [];
const examples = await texts(page, "#examples button");
for (const url of [...examples.slice(0, 3), "https://unknown.example/a/b?c", "%%%"]) {
  await ask(page, [url], url === examples[1] ? "Control+Enter" : "click");
  seen.urls.push({ url, ...(await answers(page)) });
}
await ask(page, []);
seen.nothing = await answers(page);
await page.click("#examples button >> nth=0");
await page.waitForFunction(() => !document.getElementById("answer").hidden);
await page.waitForTimeout(200);
await page.evaluate(() => document.getElementById("picture-back").click());
await page.evaluate(() => scrollTo(0, 0));
const box = await page.locator("#block-figure").boundingBox();
await page.screenshot({
  path: `${folder}/light.png`,
  fullPage: true,
  clip: { x: 0, y: 0, width: 1100, height: box.y + box.height + 30 },
});
seen.legend = await page.$$eval(".legend li", (items) =>
  items.map((item) => [item.textContent.trim(), item.querySelector("rect").getAttribute("class")]),
);
await page.click("#examples button >> nth=2");
await page.waitForFunction(() => document.querySelector("#block .bit.probe:not(.set)"));
seen.blockClasses = await page.$$eval("#block .bit", (bits) => [
  ...new Set(bits.map((bit) => bit.getAttribute("class"))),
]);

// Many URLs, in the spellings of mails and attackers.
await ask(page, given.visits);
seen.many = await answers(page);
await inspect(page, "many");
await page.click("#verdicts button >> nth=3");
await page.waitForFunction(
  (url) => document.querySelector("#keys-title code").textContent === url,
  seen.many.rows[3][0],
);
seen.detail = await texts(page, "#keys-title");

// The lit probes say what bloom_check says.
seen.probes = await page.evaluate(async () => {
  const { openDatabase, probesOf, isSet } = globalThis.bloomPage;
  const database = await openDatabase();
  let [checked, different, found] = [0, 0, 0];
  for (const rate of [0.5, 0.1, 0.01, 1e-4, 1e-8]) {
    const [
      {
        rows: [[filter]],
      },
    ] = await database.run("SELECT bloom_agg(value, 500, ?) FROM generate_series(1, 500)", [rate]);
    const [{ rows }] = await database.run(
      "SELECT bloom_hash(value), bloom_check(?, value) FROM generate_series(1, 1500)",
      [filter],
    );
    for (const [hash, answer] of rows) {
      const { bits, bytes } = probesOf(filter, hash);
      const all = bits.every((bit) => isSet(bytes, bit));
      checked += 1;
      found += answer;
      different += Number(all !== (answer === 1));
    }
  }
  await database.close();
  return { checked, different, found };
});

// --- A list of one's own: pasted, opened, dropped ---

async function drop(target, name, content) {
  const data = await target.evaluateHandle(
    ([name, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], name));
      return transfer;
    },
    [name, content],
  );
  await target.dispatchEvent("#urls", "dragenter", { dataTransfer: data });
  const isShown = await target.isVisible("#drop");
  await target.dispatchEvent("#urls", "drop", { dataTransfer: data });
  return isShown && (await target.isHidden("#drop"));
}

const { name, text, asked } = given.own;
seen.own = {};
await page.click("#own > summary");
await page.fill("#paste", text);
await page.click("#use-paste");
seen.own.paste = await listState(page);
await ask(page, asked);
Object.assign(seen.own.paste, await answers(page));
await page.click("#unused-summary");
await inspect(page, "own");
await page.screenshot({ path: `${folder}/own.png`, fullPage: true });

await page.setInputFiles("#file", { name, mimeType: "text/plain", buffer: Buffer.from(text) });
seen.own.file = { ...(await listState(page)), ...(await answers(page)) };
await page.click("#default-list");
await loaded(page);
seen.own.dropIsShown = await drop(page, name, text);
seen.own.drop = { ...(await listState(page)), ...(await answers(page)) };
seen.own.address = page.url();

// What is no file of a list: a folder, a text within a field, two files.
seen.dropped = await page.evaluate(async () => {
  const dropOn = (id, transfer) => {
    const options = { dataTransfer: transfer, cancelable: true, bubbles: true };
    const target = document.getElementById(id);
    target.dispatchEvent(new DragEvent("dragenter", options));
    const isShown = !document.getElementById("drop").hidden;
    return [isShown, target.dispatchEvent(new DragEvent("drop", options))];
  };
  const text = new DataTransfer();
  text.setData("text", "||dropped.example^");
  const two = new DataTransfer();
  for (const name of ["one.txt", "other.txt"])
    two.items.add(new File([`0.0.0.0 ${name}.example`], name));
  return {
    field: dropOn("sql", text),
    page: dropOn("choose", text),
    work: document.getElementById("list-work").children.length,
    two: dropOn("sql", two),
    said: document.getElementById("list-problem").textContent,
  };
});
Object.assign(seen.dropped, await listState(page));
await drop(page, name, text);
await loaded(page);

await page.selectOption("#rule", "url_nocase");
seen.own.nocase = { ...(await listState(page)), ...(await answers(page)) };
await page.selectOption("#rule", "url");
await page.selectOption("#rate-wanted", "0.000001");
seen.own.rate = { ...(await listState(page)), ...(await answers(page)) };

// The filter is saved, and opened again.
const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
seen.saved = download.suggestedFilename();
await download.saveAs(`${folder}/saved.bloom`);
const saved = readFileSync(`${folder}/saved.bloom`);
const openBytes = async (name, buffer) => {
  await page.setInputFiles("#file", { name, mimeType: "application/octet-stream", buffer });
  return { ...(await listState(page)), ...(await answers(page)) };
};
seen.opened = {
  whole: await openBytes("saved.bloom", saved),
  options: await page.isDisabled("#rate-wanted"),
};
await ask(page, [asked[1]]);
seen.opened.one = await answers(page);
seen.opened.cut = await openBytes("cut.bloom", saved.subarray(0, -1));
seen.opened.made = {};
for (const [layout, base64] of Object.entries(given.filters))
  seen.opened.made[layout] = await openBytes(`${layout}.bloom`, Buffer.from(base64, "base64"));
seen.opened.noEntry = await openBytes("none.txt", Buffer.from("# only\n@@||x.example^\n"));
seen.opened.empty = await openBytes("empty.txt", Buffer.from(""));
seen.opened.utf16 = await openBytes("utf16.txt", Buffer.from("\ufeffa.example\n", "utf16le"));
seen.opened.gzip = await openBytes("list.txt.gz", gzipSync(text));
seen.opened.damaged = await openBytes("bad.gz", gzipSync(text).subarray(0, 40));
seen.opened.packed = await openBytes("list.bz2", Buffer.from("BZh91AY&SY\x00\x01", "latin1"));
// Bytes of no meaning, the same each time, and two entries.
let random = 1;
const noise = Uint8Array.from({ length: 200_000 }, () => {
  random = (random * 48271) % 0x7fffffff;
  return 1 + ((random >> 8) % 255);
});
seen.opened.noise = await openBytes(
  "noise.txt",
  Buffer.concat([noise, Buffer.from("\na.example\nb.example\n")]),
);
seen.opened.isUnfolded = await page.getAttribute("#unused", "open");
const long = "0.0.0.0 a.example\n";
seen.opened.long = await openBytes(`${"long_name_".repeat(20)}.txt`, Buffer.from(long));
await page.setViewportSize({ width: 390, height: 844 });
await inspect(page, "long name");
await page.setViewportSize(desktop.viewport);

// --- A million lines, while the page goes on ---

await page.click("#default-list");
await loaded(page);
await page.evaluate(() => {
  globalThis.millionLines = () =>
    Array.from({ length: 1_000_000 }, (_, i) => `0.0.0.0 h${i}.example${i % 7}.test`).join("\n");
  globalThis.watch = () => {
    const watched = { longest: 0, told: new Set(), elapsed: new Set(), parts: new Set() };
    const start = performance.now();
    let last = start;
    const clock = setInterval(() => {
      const now = performance.now();
      watched.longest = Math.max(watched.longest, now - last);
      last = now;
      const work = document.getElementById("list-work");
      if (work.hidden) return;
      watched.told.add(work.querySelector("span").textContent);
      watched.elapsed.add(work.querySelector(".elapsed").textContent);
      watched.parts.add(work.querySelector("progress").value);
    }, 10);
    return () => {
      clearInterval(clock);
      return {
        longest: watched.longest,
        time: performance.now() - start,
        told: [...watched.told],
        elapsed: [...watched.elapsed],
        parts: [...watched.parts],
      };
    };
  };
});
const putMillion = (stopAt) =>
  page.evaluate(async (stopAt) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([globalThis.millionLines()], "million.txt"));
    const end = globalThis.watch();
    document.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, cancelable: true }));
    const pause = (time) => new Promise((resolve) => setTimeout(resolve, time));
    const work = document.getElementById("list-work");
    while (work.children.length === 0) await pause(5);
    let asked;
    while (work.children.length > 0) {
      await pause(20);
      const part = work.querySelector("progress")?.value ?? 0;
      if (part > 0.3 && asked === undefined) {
        asked = "sent"; // the list before still answers
        document.getElementById("urls").value = "https://sqlite.org/";
        document.getElementById("verdict").textContent = "";
        document.querySelector("#ask-form button").click();
      }
      if (asked === "sent" && document.getElementById("verdict").textContent !== "")
        asked = document.getElementById("verdict").textContent;
      if (part > stopAt) work.querySelector("button").click();
    }
    return { ...end(), asked };
  }, stopAt);
seen.stopped = await putMillion(0.5);
Object.assign(seen.stopped, await listState(page));
seen.million = await putMillion(2);
Object.assign(seen.million, await listState(page));
await ask(page, ["http://sub.h999999.example0.test/a", "http://h1000000.example1.test/"]);
Object.assign(seen.million, await answers(page));
// The same from the clipboard: a real paste of more than a text area can show.
await page.click("#default-list");
await loaded(page);
await page.evaluate(() => navigator.clipboard.writeText(globalThis.millionLines()));
await page.focus("#paste");
await page.keyboard.press("Control+V");
await page.waitForFunction(() => document.getElementById("list-work").children.length > 0);
seen.pasted = await listState(page);
// Another rate while it loads is one for this list, not for the one before.
seen.changed = await page.evaluate(async () => {
  document.getElementById("use-paste").click();
  const rate = document.getElementById("rate-wanted");
  rate.value = "0.01";
  rate.dispatchEvent(new Event("change"));
  await new Promise((resolve) => setTimeout(resolve, 300));
  document.querySelector("#list-work button").focus();
  return document.querySelector("#list-work span").textContent;
});
seen.changed = [seen.changed, (await listState(page)).figures, await focused(page)];
await page.click("#default-list");
await loaded(page);

// Very many URLs from the clipboard, one of them on the list.
await page.evaluate((real) => {
  const urls = Array.from({ length: 100_000 }, (_, i) => `http://h${i}.example/a/b?c=${i}`);
  urls[70_000] = real;
  return navigator.clipboard.writeText(urls.join("\n"));
}, examples[0]);
await page.evaluate(() => {
  document.getElementById("verdict").textContent = "";
});
await page.focus("#urls");
await page.keyboard.press("Control+V");
await page.waitForFunction(() => document.getElementById("verdict").textContent !== "");
await page.waitForTimeout(100);
seen.veryMany = { field: await page.inputValue("#urls"), ...(await answers(page)) };
seen.veryMany.sql = await copiedSql(page);
await page.focus("#urls");
await page.keyboard.type("x");
seen.veryMany.typed = await page.inputValue("#urls");

// As mails and programs write URLs, and what no browser opens.
await ask(page, [
  `"${examples[0]}"`,
  `<${examples[0]}>`,
  ` '${examples[0]}' `,
  "http://a b.example/",
  'http://a"b.example/',
  "http://a.example/b c",
  "http://u'v@a.example:80/",
]);
seen.quoted = await answers(page);

// --- SQL ---

seen.recipes = {};
for (const option of await texts(page, "#recipe option:not([hidden])")) {
  await page.selectOption("#recipe", { label: option });
  await page.focus("#sql");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(() =>
    /^(Done|It stopped)/.test(document.getElementById("status").textContent),
  );
  const shown = await page.evaluate(() =>
    globalThis.bloomPage
      .shown()
      .map((part) =>
        "rows" in part
          ? {
              ...part,
              rows: part.rows.map((row) =>
                row.map((value) => (value instanceof Uint8Array ? `${value.length} bytes` : value)),
              ),
            }
          : part,
      ),
  );
  seen.recipes[option] = {
    shown,
    tables: await page.locator("#output table").count(),
    status: await page.textContent("#status"),
  };
}
await runSql(page, "SELECT 1; SELECT bloom_check(NULL, 1)");
seen.problem = await page.textContent("#output .problem");
seen.beforeProblem = await page.locator("#output td").count();
await inspect(page, "problem");
await runSql(page, ".import '|ls' t");
seen.unknownCommand = await page.textContent("#output .problem");
await runSql(
  page,
  "SELECT '<b>&' AS \"<i>\", NULL AS n, x'00ff' AS b, 12345678901234567 AS i, bloom_new(1) AS f;",
);
seen.values = await texts(page, "#output td");
seen.markup = await page.$$eval("#output b, #output i", (found) => found.length);

await page.fill(
  "#sql",
  "SELECT 'first';\n" +
    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c;",
);
await page.focus("#sql");
await page.keyboard.press("Control+Enter");
await page.waitForFunction(() => /, [1-9]/.test(document.getElementById("sql-work").textContent));
const work = () => page.$$eval("#sql-work span", (spans) => spans.map((span) => span.textContent));
const early = await work();
await page.waitForTimeout(1200);
seen.endless = { early, late: await work(), shown: await texts(page, "#output td") };
await inspect(page, "endless");
await page.focus("#sql-work button");
await page.keyboard.press("Enter");
await page.waitForFunction(() => /^Stopped/.test(document.getElementById("status").textContent));
Object.assign(seen.endless, {
  status: await page.textContent("#status"),
  isHidden: await page.isHidden("#sql-work"),
});
await runSql(page, "SELECT value FROM generate_series(1, 12345)");
seen.manyRows = [
  await page.textContent("#output caption"),
  await page.locator("#output td").count(),
];
// Values and rows that are too wide to be shown whole.
seen.wide = [];
for (const sql of [
  "SELECT printf('%.*c', 5000000, 'x'), printf('%.*c', 1999, 'x') || 'éé'",
  "SELECT printf('%.*c', 200000, 'x') FROM generate_series(1, 500)",
  "SELECT zeroblob(10000000) FROM generate_series(1, 100)",
  `SELECT ${Array.from({ length: 200 }, (_, i) => i)} FROM generate_series(1, 500)`,
]) {
  await runSql(page, sql);
  const cells = await texts(page, "#output td");
  seen.wide.push({
    cells: cells.length,
    letters: cells.join("").length,
    ends: cells.slice(0, 2).map((cell) => cell.replace(/^x+/, (xs) => `${xs.length}x`)),
    caption: (await texts(page, "#output caption")).join(),
  });
}
await runSql(page, "SELECT 1 AS one WHERE 0");
seen.noRows = await texts(page, "#output caption");

// Another recipe ends what runs, and keeps what was written.
const endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c;";
await page.fill("#sql", endless);
await page.press("#sql", "Control+Enter");
await page.waitForSelector("#sql-work progress");
await page.selectOption("#recipe", { index: 1 });
await page.waitForFunction(() => document.getElementById("sql-work").children.length === 0);
seen.replaced = [await page.textContent("#status"), await page.textContent("#output")];
await page.selectOption("#recipe", {
  label: (await texts(page, "#recipe option:not([hidden])")).at(-1),
});
seen.yours = [endless, await page.inputValue("#sql")];
await page.press("#sql", "Control+Enter");
await page.waitForSelector("#sql-work progress");
await page.press("#sql", "Escape");
await page.waitForFunction(() => /^Stopped/.test(document.getElementById("status").textContent));

// SQL of the page is copied, and run where it stands.
await ask(page, given.visits.slice(0, 12));
seen.copied = {
  sql: await copiedSql(page),
  shown: await page.textContent("#list-sql"),
  hits: (await rowsOf(page, "#verdicts")).filter((row) => row[1] !== "certainly not"),
};
await page.click("[data-sql=list] button >> text=Run it here");
await page.waitForFunction(() => /^Done/.test(document.getElementById("status").textContent));
seen.copied.here = await texts(page, "#output td");
await ask(page, given.visits);
seen.copied.all = {
  sql: await copiedSql(page),
  hits: (await rowsOf(page, "#verdicts"))
    .filter((row) => row[1] !== "certainly not")
    .map(([url]) => url),
  wrong: (await rowsOf(page, "#verdicts")).filter((row) => row[1] === "false positive").length,
};

// --- Sizes ---

const settled = (target) => target.waitForTimeout(400);
async function size(target) {
  await settled(target);
  return {
    n: await target.inputValue("#n"),
    p: await target.inputValue("#p"),
    layout: await target.$eval("#space :checked", (radio) => radio.value),
    said: await target.textContent("#size-said"),
    rows: (await rowsOf(target, "#space")).map((row) => row.slice(0, 3)),
    caption: await target.textContent("#rate-caption"),
    curves: await target.$$eval("#rate .curve", (curves) =>
      curves.map((curve) => /NaN|Infinity/.test(curve.getAttribute("d"))),
    ),
    problems: await target.$$eval("#choose .problem", (problems) =>
      problems.filter((problem) => !problem.hidden).map((problem) => problem.textContent),
    ),
    hash: new URL(target.url()).hash,
    sql: await target.textContent("#size-sql"),
  };
}
seen.sizes = { first: await size(page), typed: [], wrong: [], slid: [], layouts: {}, edges: [] };
for (const [n, p, layout] of [
  ["1000000", "0.8", "blocked"],
  ["1", "0.5", "blocked"],
  ["1e9", "0.01", "blocked"],
  ["1e9", "0.01", "classic"],
  ["1099511627776", "1e-9", "blocked"],
]) {
  await page.fill("#n", n);
  await page.fill("#p", p);
  await page.check(`#space input[value=${layout}]`);
  const { said, caption, curves, sql } = await size(page);
  const hasSql = await page.isVisible("[data-sql=size]");
  seen.sizes.edges.push({ said, caption, curves, sql: hasSql ? sql : "" });
}
await page.check("#space input[value=blocked]");
for (const [n, p] of [
  ["5000", "0.001"],
  ["12,345", "1 %"],
  ["1e9", "1 in 10,000"],
  ["1", "0.5"],
  ["1099511627776", "1e-9"],
  ["1 000 000", "1/100"],
]) {
  await page.fill("#n", n);
  await page.fill("#p", p);
  seen.sizes.typed.push(await size(page));
}
for (const [id, text] of [
  ["n", "many"],
  ["n", "0"],
  ["n", "1.5"],
  ["n", "2e12"],
  ["p", "1"],
  ["p", "0"],
  ["p", "-0.1"],
  ["p", "often"],
]) {
  await page.fill(`#${id}`, text);
  const { problems, hash } = await size(page);
  seen.sizes.wrong.push([text, problems, hash, await page.getAttribute(`#${id}`, "aria-invalid")]);
  await page.fill("#n", "1000000");
  await page.fill("#p", "0.01");
}
for (const layout of ["fuse", "counting", "dcso", "blocked"]) {
  await page.check(`#space input[value=${layout}]`);
  seen.sizes.layouts[layout] = await size(page);
}
await page.focus("#n-slider");
await page.keyboard.press("ArrowRight");
seen.sizes.slid.push(await size(page));
await page.focus("#p-slider");
await page.keyboard.press("End");
seen.sizes.slid.push(await size(page));
await page.fill("#n", "250000");
await page.fill("#p", "0.001");
await page.check("#space input[value=fuse]");
await page.click("#share");
await page.waitForFunction(() => document.getElementById("shared").textContent === "Copied.");
const shared = await page.evaluate(() => navigator.clipboard.readText());
const visitor = await opened(desktop, new URL(shared).hash);
seen.shared = {
  address: shared,
  seen: await size(visitor),
  top: await visitor.evaluate(() => scrollY),
};
await visitor.evaluate(() => (location.hash = "#n=10&p=0.5&layout=counting"));
seen.shared.changed = await size(visitor);
await visitor.evaluate(() => (location.hash = "#n=ten&p=2"));
seen.shared.wrong = (await size(visitor)).problems;
await visitor.evaluate(() => (location.hash = "#layout=magic"));
seen.shared.wrongLayout = (await size(visitor)).problems;
await visitor.click("#recipe-links a >> text=crawler");
await visitor.waitForFunction(() => document.getElementById("sql").value.includes("sql/crawler"));
await visitor.selectOption("#recipe", { index: 0 });
await visitor.click("#recipe-links a >> text=crawler"); // the address stays the same
seen.linked = await visitor.$eval("#recipe option:checked", (option) => option.textContent);
await visitor.evaluate(() => (location.hash = "#n=ten&layout=magic"));
seen.shared.bothWrong = (await size(visitor)).problems;
await visitor.context().close();
await inspect(page, "sizes");

// Where hidden options are listed, the one of what the page ran may be chosen: nothing happens.
await page.$eval("#recipe", (list) => {
  list.value = "own";
  list.dispatchEvent(new Event("change"));
});

// --- What leads away, and the keyboard ---

seen.links = await page.$$eval("a[href]", (links) =>
  links.map((link) => link.getAttribute("href")),
);
seen.install = await texts(page, ".install td");
seen.recipeLinks = await texts(page, "#recipe-links a");

const keys = await opened(desktop);
seen.order = [];
for (let i = 0; i < 80; i++) {
  await keys.keyboard.press("Tab");
  const at = await keys.evaluate(() => {
    const active = document.activeElement;
    if (active === document.body) return null;
    // A hidden file field shows its focus at its label.
    const shown = active.classList.contains("hidden") ? active.nextElementSibling : active;
    return [
      active.id || active.textContent.trim().slice(0, 30),
      getComputedStyle(shown).outlineStyle !== "none",
    ];
  });
  if (at === null) break;
  if (at[0] === "Use a list of your own") await keys.keyboard.press("Enter");
  seen.order.push(at);
}
// A list is pasted, asked, and its filter saved, without a mouse.
const tabTo = async (id) => {
  for (let i = 0; i < 80; i++) {
    await keys.keyboard.press("Tab");
    if ((await keys.evaluate(() => document.activeElement.id)) === id) return;
  }
  throw new Error(`Tab does not reach ${id}`);
};
await keys.evaluate(() => document.activeElement.blur());
await tabTo("paste");
await keys.keyboard.type("||evil.example^");
await keys.keyboard.press("Tab");
await keys.keyboard.press("Enter");
await keys.waitForFunction(() =>
  document.getElementById("list-figures").textContent.startsWith("pasted.txt"),
);
await tabTo("urls");
await keys.keyboard.press("Control+A");
await keys.keyboard.type("http://www.evil.example/\nhttp://good.example/");
await keys.keyboard.press("Control+Enter");
await keys.waitForFunction(() => !document.getElementById("several").hidden);
seen.typed = await answers(keys);
seen.unlabelled = await keys.$$eval("input, select, textarea", (fields) =>
  fields
    .filter((field) => field.labels.length === 0 && !field.ariaLabel)
    .map((field) => field.id),
);
await keys.context().close();

// --- A phone, and the dark ---

const phone = await opened({
  viewport: { width: 390, height: 844 },
  colorScheme: "light",
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
  ...still,
});
await inspect(phone, "phone");
await ask(phone, given.visits.slice(0, 12));
await phone.click("#own > summary");
await inspect(phone, "phone, many");
await phone.setViewportSize({ width: 320, height: 640 });
await inspect(phone, "small phone");
await phone.setViewportSize({ width: 390, height: 844 });
await phone.addStyleTag({ content: "html { font-size: 200%; }" });
await inspect(phone, "large text");
await phone.evaluate(() => document.head.lastElementChild.remove());
await phone.screenshot({ path: `${folder}/phone.png`, fullPage: true });
const dark = await opened({ ...desktop, colorScheme: "dark" });
seen.dark = await dark.evaluate(() => getComputedStyle(document.body).backgroundColor);
await dark.evaluate(() => document.getElementById("picture-next").click());
await ask(dark, given.visits.slice(0, 12));
await dark.click("#own > summary");
await runSql(dark, "SELECT bloom_check(NULL, 1)");
await inspect(dark, "dark");
await dark.screenshot({ path: `${folder}/dark.png`, fullPage: true });

// --- Saved as it stands, and opened again; used before it is ready ---

const partsOf = (target) =>
  target.evaluate(() =>
    Object.fromEntries(
      ["#recipe option", "#recipe-links a", "#examples button", ".copied button", ".bit"].map(
        (selector) => [selector, document.querySelectorAll(selector).length],
      ),
    ),
  );
const live = await opened(desktop);
seen.parts = await partsOf(live);
const again = `${folder}/again-index.html`;
writeFileSync(again, await live.evaluate(() => document.documentElement.outerHTML));
await live.goto(pathToFileURL(again).href);
await live.waitForSelector("body[data-ready]");
seen.partsAgain = await partsOf(live);
await live.addInitScript(() =>
  document.addEventListener("DOMContentLoaded", () => {
    document.getElementById("urls").value = "http://typed.example/";
  }),
);
await live.goto(address);
await live.waitForSelector("body[data-ready]");
seen.early = await live.inputValue("#urls");
await browser.close();
console.log(JSON.stringify(seen));
