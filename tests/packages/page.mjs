// Opens the page in headless Chromium as a file, uses it as a person would, and prints what it saw
// as JSON. page.mjs PAGE FOLDER: FOLDER has node_modules/playwright-core, and receives the
// screenshots.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [page_, folder] = process.argv.slice(2);
const { chromium } = createRequire(`${folder}/`)("playwright-core");
const seen = {
  errors: [],
  requests: [],
  recipes: {},
  urls: [],
  keyboard: {},
  sizes: [],
  widths: {},
};

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

async function opened(options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on(
    "console",
    (message) => ["error", "warning"].includes(message.type()) && seen.errors.push(message.text()),
  );
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("request", (request) => seen.requests.push(request.url().slice(0, 60)));
  await page.goto(pathToFileURL(page_).href);
  await page.waitForSelector("body[data-ready]", { timeout: 60000 });
  return page;
}

const page = await opened({ viewport: { width: 1100, height: 900 }, colorScheme: "light" });
seen.version = await page.textContent("#version");
seen.list = await page.textContent("#list-figures");

// The list: the examples, something else, and that the lit probes say what bloom_check says.
async function askedUrl(url) {
  await page.fill("#url", url);
  await page.press("#url", "Enter");
  seen.urls.push({
    url,
    verdict: await page.textContent("#verdict"),
    kind: await page.getAttribute("#verdict", "class"),
    keys: (await page.isHidden("#answer"))
      ? []
      : await page.$$eval("#keys label", (labels) => labels.map((label) => label.textContent)),
    bits: await page.locator("#block .bit").count(),
    probes: await page.locator("#block .bit.probe").count(),
    lit: await page.locator("#block .bit.probe.set").count(),
  });
}
const examples = await page.$$eval("#examples button", (buttons) =>
  buttons.map((button) => button.textContent),
);
for (const url of [...examples, "https://unknown.example/a/b?c", "", "%%%"]) await askedUrl(url);
await page.click("#examples button");
const box = await page.locator("#ask").boundingBox();
await page.screenshot({
  path: `${folder}/light.png`,
  fullPage: true,
  clip: { x: 0, y: 0, width: 1100, height: box.y + box.height + 30 },
});

seen.probes = await page.evaluate(async () => {
  const { open, probesOf, isSet } = globalThis.bloomPage;
  const database = await open();
  let [checked, different, found] = [0, 0, 0];
  for (const rate of [0.5, 0.1, 0.01, 1e-4, 1e-8]) {
    const [
      {
        rows: [[filter]],
      },
    ] = database.run("SELECT bloom_agg(value, 500, ?) FROM generate_series(1, 500)", [rate]);
    const [{ rows }] = database.run(
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
  return { checked, different, found };
});

// Every recipe, by the keyboard alone.
await page.focus("#recipe");
const names = await page.$$eval("#recipe option", (options) =>
  options.map((option) => option.textContent),
);
for (const name of names) {
  await page.selectOption("#recipe", { label: name });
  await page.focus("#sql");
  await page.keyboard.press("Control+Enter");
  await page.waitForFunction(
    () => /^(Done|It stopped)/.test(document.getElementById("status").textContent),
    null,
    { timeout: 120000 },
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
  seen.recipes[name] = {
    shown,
    tables: await page.locator("#output table").count(),
    status: await page.textContent("#status"),
  };
  await page.fill("#status", "").catch(() => {});
  await page.evaluate(() => (document.getElementById("status").textContent = ""));
}
await page.fill("#sql", "SELECT bloom_check(NULL, 1)");
await page.click("#run");
await page.waitForSelector("#output .problem");
seen.problem = await page.textContent("#output .problem");
await page.fill(
  "#sql",
  "SELECT '<b>&' AS \"<i>\", NULL AS n, x'00ff' AS b, 12345678901234567 AS i, " +
    "bloom_new(1) AS f;\n.dump\n",
);
await page.click("#run");
await page.waitForFunction(() => document.getElementById("output").textContent.includes("dump"));
seen.values = await page.$$eval("#output td", (cells) => cells.map((cell) => cell.textContent));
seen.markup = await page.$$eval("#output b, #output i", (found) => found.length);

// The sliders, by keys.
for (const [n, p] of [
  [6, 2],
  [9, 6],
  [1, 0.5],
  [3, 4],
]) {
  await page.evaluate(
    ([n, p]) => {
      for (const [id, value] of [
        ["n", n],
        ["p", p],
      ]) {
        document.getElementById(id).value = value;
        document.getElementById(id).dispatchEvent(new Event("input"));
      }
    },
    [n, p],
  );
  seen.sizes.push({
    n: await page.textContent("#n-shown"),
    p: await page.textContent("#p-shown"),
    rows: await page.$$eval("#space tbody tr", (rows) =>
      rows.map((row) => [...row.children].slice(0, 3).map((cell) => cell.textContent)),
    ),
    caption: await page.textContent("#rate-caption"),
    curves: await page.$$eval("#rate .curve", (curves) =>
      curves.map((curve) => curve.getAttribute("d").includes("NaN")),
    ),
  });
}
await page.focus("#n");
await page.keyboard.press("ArrowRight");
seen.keyboard.slider = await page.inputValue("#n");

// Everything can be reached by Tab, and shows that it has the focus.
await page.evaluate(() => window.scrollTo(0, 0));
await page.reload();
await page.waitForSelector("body[data-ready]");
seen.keyboard.order = [];
for (let i = 0; i < 16; i++) {
  await page.keyboard.press("Tab");
  seen.keyboard.order.push(
    await page.evaluate(() => {
      const active = document.activeElement;
      return [
        active.id || active.textContent.trim().slice(0, 30),
        getComputedStyle(active).outlineStyle !== "none",
      ];
    }),
  );
}
seen.unlabelled = await page.$$eval("input, select, textarea", (fields) =>
  fields.filter((field) => field.labels.length === 0).map((field) => field.id),
);

// A phone, in the dark.
const phone = await opened({
  viewport: { width: 360, height: 740 },
  colorScheme: "dark",
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
});
seen.widths.phone = await phone.evaluate(() => [
  document.documentElement.scrollWidth,
  window.innerWidth,
]);
seen.dark = await phone.evaluate(() => getComputedStyle(document.body).backgroundColor);
await phone.screenshot({ path: `${folder}/phone.png`, fullPage: true });
const dark = await opened({ viewport: { width: 1100, height: 900 }, colorScheme: "dark" });
await dark.screenshot({ path: `${folder}/dark.png`, fullPage: true });
await browser.close();
console.log(JSON.stringify(seen));
