// A size is chosen, by number or by slider, and can be shared as an address.

const LAYOUTS =
  "blocked fuse counting classic parquet spark2 bits-and-blooms dcso redisbloom".split(" ");
const MOST_KEYS = 2 ** 40;
const SMALLEST_RATE = 1e-9;
const WITH_KEY_RULE = ["blocked", "counting", "fuse"];
const FOR_TABLES = ["blocked", "counting"];
const MOST_BYTES = 1_000_000_000; // of a value, unless SQLite was built otherwise

const choice = { n: 1_000_000, p: 0.01, layout: "blocked" };

// A number as people write it: 1,000,000 or 1e6.
function parsedCount(text) {
  const plain = text.trim().replace(/(?<=\d)[,_' ](?=\d)/g, "");
  const count = /^\d+(\.\d+)?(e\d+)?$/i.test(plain) ? Number(plain) : NaN;
  return Number.isInteger(count) && count >= 1 && count <= MOST_KEYS ? count : undefined;
}

// A rate as people write it: 0.01, 1e-2, 1 %, 1/100 or 1 in 100.
function parsedRate(text) {
  const number = String.raw`(\d*\.?\d+(?:e-?\d+)?)`;
  const [, one, of = "1", percent] =
    text
      .trim()
      .replace(/(?<=\d),(?=\d{3})/g, "")
      .match(new RegExp(`^${number}(?:\\s*(?:in|/)\\s*${number})?\\s*(%)?$`, "i")) ?? [];
  const rate = Number(one) / Number(of) / (percent === undefined ? 1 : 100);
  return rate >= SMALLEST_RATE && rate < 1 ? Number(rate.toPrecision(12)) : undefined;
}

const FIELDS = {
  n: {
    parse: parsedCount,
    shown: grouped,
    wanted: "Keys must be a whole number from 1 to 2^40, as in 1,000,000",
    slide: (power) => {
      const unit = 10 ** Math.floor(power - 1);
      return Math.round(10 ** power / unit) * unit;
    },
    power: (n) => Math.log10(n),
  },
  p: {
    parse: parsedRate,
    shown: (p) => {
      const keys = Number((1 / p).toPrecision(9));
      return Number.isInteger(keys) ? `1 in ${grouped(keys)}` : String(p);
    },
    wanted: "False positives must be from 0.000000001 to less than 1, as in 0.01 or 1 in 100",
    slide: (power) => Number((10 ** -power).toPrecision(2)),
    power: (p) => -Math.log10(p),
  },
};

// What can be done with a filter of so many bytes.
function sizeSql({ n, p, layout }, bytes) {
  const options = WITH_KEY_RULE.includes(layout)
    ? [...(layout === "blocked" ? [] : [`layout=${layout}`]), "key=url"].join(", ")
    : layout;
  const number = layout === "fuse" ? "NULL" : n; // it is made for the keys that there are
  const table = [`capacity=${n}`, `fpr=${p}`];
  if (layout !== "blocked") table.push(`layout=${layout}`);
  if (p < 1e-6) table.push("growth=off");
  table.push("key=URL");
  const asValue = `
-- A filter as a value:
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'visited', bloom_agg(url, ${number}, ${p}, '${options}') FROM visits;
SELECT url, bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'visited'), url) AS visited
  FROM visits;
`;
  const asTable = `
-- ${bytes > MOST_BYTES ? "A" : "Or a"} table, updated in place:
CREATE VIRTUAL TABLE seen USING bloom(${table.join(", ")});
INSERT OR IGNORE INTO seen(key) SELECT url FROM visits;
SELECT count(*) AS seen FROM visits JOIN seen ON key = url;
`;
  return `.load ./bloom
CREATE TABLE visits(url TEXT);
INSERT INTO visits VALUES ('http://example.org/a'), ('http://example.org/b');
${bytes > MOST_BYTES ? "" : asValue}${FOR_TABLES.includes(layout) ? asTable : ""}`;
}

async function startChoosing(database) {
  let latest; // so that an answer that comes late is not shown

  async function sizeOf(layout, { n, p }) {
    try {
      return Number((await rowsOf(database, "SELECT bloom_size(?, ?, ?)", [n, p, layout]))[0][0]);
    } catch {
      return null; // the layout is not made for these numbers
    }
  }

  const shown = van.state({ ...choice, sizes: [] }); // what the table shows
  fillTable(
    element("space"),
    ["layout", "bits a key", "size", ""],
    LAYOUTS.map((layout, i) => {
      const checked = () => shown.val.layout === layout;
      const onchange = () => change({ layout });
      const radio = html.input({ type: "radio", name: "layout", value: layout, checked, onchange });
      const of = (use, without) => () => {
        const { sizes, n } = shown.val;
        return sizes[i] == null ? without : use(sizes[i], n, Math.max(...sizes));
      };
      return [
        html.label(radio, layout),
        of((bytes, n) => ((8 * bytes) / n).toFixed(2), "–"),
        of(shownBytes, "not made"),
        html.i({ style: of((bytes, _, most) => `width: ${(100 * bytes) / most}%`, "width: 0") }),
      ];
    }),
  );

  async function update() {
    const mine = { ...choice };
    latest = mine;
    const [sizes, info] = await Promise.all([
      Promise.all(LAYOUTS.map((layout) => sizeOf(layout, mine))),
      rowsOf(database, "SELECT bloom_info(bloom_new(?, ?))", [Math.min(mine.n, 1000), mine.p]),
    ]);
    if (mine !== latest) return;
    shown.val = { ...mine, sizes };
    const bytes = sizes[LAYOUTS.indexOf(mine.layout)];
    element("size-said").textContent =
      bytes === null
        ? `Layout ${mine.layout} is not made for ${counted(mine.n, "key")} at ${mine.p}.`
        : `${counted(mine.n, "key")} ${mine.n === 1 ? "takes" : "take"} ${shownBytes(bytes)} in ` +
          `layout ${mine.layout}. False positives: ${falsePositives(mine.p)}.` +
          (bytes > MOST_BYTES
            ? " A value of SQLite cannot be so large: use a table, of layout blocked or " +
              "counting, or shards."
            : "");
    const canRun = bytes !== null && (bytes <= MOST_BYTES || FOR_TABLES.includes(mine.layout));
    document.querySelector("[data-sql=size]").hidden = !canRun;
    showSql(element("size-sql"), sizeSql(mine, bytes));
    const [blocked] = sizes;
    element("rate").toggleAttribute("hidden", blocked === null);
    if (blocked === null) element("rate-caption").textContent = "";
    else drawRate(mine, (blocked - 64) / 64, JSON.parse(info[0][0]).hashes);
  }

  // Takes new numbers, shows them in all fields but the one that they come from.
  function change(values, from) {
    Object.assign(choice, values);
    showProblem("layout-problem");
    for (const [id, { shown, power }] of Object.entries(FIELDS)) {
      showProblem(`${id}-problem`);
      element(id).ariaInvalid = "false";
      if (from !== id) element(id).value = shown(choice[id]);
      if (from !== `${id}-slider`) element(`${id}-slider`).value = power(choice[id]);
      element(`${id}-slider`).ariaValueText = shown(choice[id]);
    }
    element("shared").textContent = "";
    if (from !== "address") history.replaceState(null, "", addressOf(choice));
    return update();
  }

  for (const [id, { parse, slide, wanted }] of Object.entries(FIELDS)) {
    element(id).addEventListener("input", ({ target }) => {
      const value = parse(target.value);
      if (value !== undefined) return change({ [id]: value }, id);
      target.ariaInvalid = "true";
      showProblem(`${id}-problem`, `${wanted}.`);
    });
    element(`${id}-slider`).addEventListener("input", ({ target }) =>
      change({ [id]: slide(Number(target.value)) }, `${id}-slider`),
    );
  }
  element("share").addEventListener("click", async () => {
    history.replaceState(null, "", addressOf(choice));
    element("shared").textContent = await copyText(location.href, element("size-said"));
  });

  function takeAddress() {
    const { values, problems } = choiceOf(location.hash);
    const done = change(values, "address");
    for (const [id, words] of Object.entries(problems)) showProblem(`${id}-problem`, words);
    if (Object.keys({ ...values, ...problems }).length > 0) element("choose").scrollIntoView();
    return done;
  }
  addEventListener("hashchange", takeAddress);
  await takeAddress();
}

const addressOf = ({ n, p, layout }) => `#n=${n}&p=${p}&layout=${layout}`;

// What an address asks for, and what of it cannot be had.
function choiceOf(hash) {
  const values = {};
  const problems = {};
  const given = new URLSearchParams(hash.slice(1));
  for (const [id, { parse, wanted }] of Object.entries(FIELDS)) {
    if (!given.has(id)) continue;
    const value = parse(given.get(id));
    if (value === undefined) problems[id] = `The address has ${id}=${given.get(id)}. ${wanted}.`;
    else values[id] = value;
  }
  const layout = given.get("layout");
  if (LAYOUTS.includes(layout)) values.layout = layout;
  else if (layout !== null)
    problems.layout = `The address has layout=${layout}. It must be one of ${LAYOUTS.join(", ")}.`;
  return { values, problems };
}

function drawRate({ n, p }, blocks, probes) {
  const [left, right, top, bottom] = [84, 470, 12, 262];
  const highest = blockedRate(1.5 * n, blocks, probes) * 1.05;
  const x = (part) => left + ((right - left) * part) / 1.5;
  const y = (value) => bottom - ((bottom - top) * Math.min(value, highest)) / highest;
  const rate = (keys) => falsePositives(blockedRate(keys, blocks, probes), 2);
  const percent = (value) => `${Number((100 * value).toPrecision(2))} %`;
  const marks = [];
  const label = (words, place) => marks.push(svg.text({ class: "label", ...place }, words));
  const line = (kind, d) => marks.push(svg.path({ class: kind, d }));
  const curve = (kind, rate) => {
    const point = (i) =>
      `${x(i / 50).toFixed(1)},${y(rate((i / 50) * n, blocks, probes)).toFixed(1)}`;
    line(kind, `M${Array.from({ length: 76 }, (_, i) => point(i)).join("L")}`);
  };
  line("axis", `M${left},${top} V${bottom} H${right}`);
  for (const part of [0, 0.5, 1])
    label(shownCount(part * n), { x: x(part), y: bottom + 18, "text-anchor": "middle" });
  label("keys in the filter", { x: right, y: bottom + 34, "text-anchor": "end" });
  // Zero is left out where the rate that was asked for stands in its place.
  const isApart = (value) => value === p || Math.abs(y(value) - y(p)) > 16;
  for (const value of [0, p, highest / 1.05].filter(isApart))
    label(percent(value), { x: left - 6, y: y(value) + 4, "text-anchor": "end" });
  line("wanted", `M${left},${y(p)} H${right} M${x(1)},${top} V${bottom}`);
  curve("curve second", (keys) => classicRate(keys, blocks * 512, probes));
  curve("curve", blockedRate);
  element("rate").replaceChildren(...marks);
  element("rate-caption").textContent =
    `False positives of layout blocked: ${rate(n)} when it has ${counted(n, "key")}, ` +
    `${rate(1.5 * n)} with half as many again. ` +
    "Dotted: the same bits without blocks.";
}

const COMPACT = { notation: "compact", compactDisplay: "long", maximumSignificantDigits: 3 };
const shownCount = (count) =>
  count < 10000 ? grouped(count) : count.toLocaleString("en", COMPACT);
