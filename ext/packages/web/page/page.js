// The page: three sections on one database each. Everything shown is computed by the extension, in
// this browser.

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

async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const files = JSON.parse(element("files").textContent);
async function readFile(name) {
  if (!Object.hasOwn(files, name))
    throw new Error(
      `there is no file ${name} in this page; it has ${Object.keys(files).join(", ")}`,
    );
  return new TextDecoder().decode(await unpack(files[name]));
}

const grouped = (number) => Math.round(number).toLocaleString("en");

// --- A list is asked ---

async function startAsking() {
  const database = await open();
  database.run("CREATE TABLE malicious(key TEXT PRIMARY KEY) WITHOUT ROWID");
  database.run(
    "INSERT OR IGNORE INTO malicious SELECT key FROM bloom_list(?1) WHERE key IS NOT NULL",
    [await readFile("sql/data/urlhaus.txt")],
  );
  const [
    {
      rows: [[filter, count]],
    },
  ] = database.run("SELECT bloom_agg(key, NULL, 0.001), count(*) FROM malicious");
  element("list-figures").textContent =
    `URLhaus: ${grouped(count)} hosts and pages in a filter of ${grouped(filter.length)} bytes, ` +
    "at one false positive in 1,000.";

  // A page of the list, a page under a host of the list, and one that is on no list.
  const [{ rows: listed }] = database.run(
    "SELECT 'http://' || key FROM (SELECT key FROM malicious " +
      "WHERE key LIKE '%/_%' AND length(key) < 48 ORDER BY key LIMIT 1) " +
      "UNION ALL SELECT 'https://www.' || key || 'index.html?a=1' FROM " +
      "(SELECT key FROM malicious " +
      "WHERE key NOT LIKE '%/_%' AND key GLOB '[a-z]*.[a-z]*/' AND length(key) < 24 " +
      "ORDER BY key LIMIT 1)",
  );
  const examples = [...listed.map(([url]) => url), "https://sqlite.org/lang.html"];
  examples.forEach((url, i) => {
    const button = make("button", { type: "button", className: "link", textContent: url });
    button.addEventListener("click", () => {
      element("url").value = url;
      ask(url);
    });
    element("examples").append(i > 0 ? " or " : "", button);
  });

  function ask(url) {
    const [{ rows }] = database.run(
      "SELECT key, bloom_check(?1, key), key IN malicious, bloom_hash(key) " +
        "FROM bloom_url_keys(?2) ORDER BY rank",
      [filter, url],
    );
    const keys = rows.map(([key, found, listed, hash]) => ({
      key,
      found: found === 1,
      listed: listed === 1,
      ...probesOf(filter, hash),
    }));
    showVerdict(keys);
    element("answer").hidden = keys.length === 0;
    if (keys.length === 0) return;
    const chosen = Math.max(
      0,
      keys.findIndex((key) => key.found),
    );
    element("keys").replaceChildren(
      ...keys.map((key, i) => {
        const choice = make("input", { type: "radio", name: "key", checked: i === chosen });
        choice.addEventListener("change", () => showBlock(key));
        const said = make("span", {
          className: key.found ? "hit" : "",
          textContent: key.found ? "probably in" : "certainly not",
        });
        return make("label", {}, choice, key.key, said);
      }),
    );
    showBlock(keys[chosen]);
  }

  element("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    ask(element("url").value.trim());
  });
  element("url").value = examples[0];
  ask(examples[0]);
}

function showVerdict(keys) {
  const verdict = element("verdict");
  const hit = keys.find((key) => key.listed) ?? keys.find((key) => key.found);
  if (keys.length === 0) {
    verdict.className = "verdict doubt";
    verdict.textContent = "This has no host: type a URL, as in https://example.org/a.";
  } else if (hit === undefined) {
    verdict.className = "verdict clear";
    verdict.textContent = "Certainly not on the list.";
  } else {
    verdict.className = hit.listed ? "verdict hit" : "verdict doubt";
    verdict.replaceChildren(
      "Probably on the list, by the key ",
      make("code", { textContent: hit.key }),
      hit.listed
        ? ". The exact list confirms it."
        : ". The exact list does not have it: this is a false positive.",
    );
  }
}

function showBlock({ key, number, blocks, bits, bytes, found }) {
  const picture = element("block");
  picture.replaceChildren();
  for (let bit = 0; bit < 512; bit++) {
    const classes = ["bit", isSet(bytes, bit) ? "set" : "", bits.includes(bit) ? "probe" : ""]
      .join(" ")
      .trim();
    draw(picture, "rect", {
      x: 3 + (bit % 32) * 16,
      y: 3 + Math.floor(bit / 32) * 16,
      width: 13,
      height: 13,
      rx: 3,
      class: classes,
    });
  }
  const ones = bits.filter((bit) => isSet(bytes, bit)).length;
  element("block-caption").textContent =
    `Block ${grouped(number + 1)} of ${grouped(blocks)}, 512 bits, holds all that the filter ` +
    `knows of ${key}: ${ones} of its ${bits.length} probes ` +
    (found
      ? "are set, so it is probably in."
      : `are set; one that is not is enough to know that it was never added.`);
}

// --- SQL is written ---

function showResults(shown) {
  element("output").replaceChildren(
    ...shown.map(({ text, problem, columns, rows }) => {
      if (problem !== undefined) return make("p", { className: "problem", textContent: problem });
      if (text !== undefined) return make("p", { className: "printed", textContent: text });
      const head = make(
        "tr",
        {},
        ...columns.map((name) => make("th", { scope: "col", textContent: name })),
      );
      const body = rows.slice(0, 500).map((row) => make("tr", {}, ...row.map(showValue)));
      const table = make(
        "div",
        { className: "scroll" },
        make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)),
      );
      if (rows.length > body.length)
        table.append(
          make("p", { textContent: `and ${grouped(rows.length - body.length)} more rows` }),
        );
      return table;
    }),
  );
}

function showValue(value) {
  if (value === null) return make("td", { className: "null", textContent: "NULL" });
  if (typeof value === "string") return make("td", { textContent: value });
  const hex = Array.from(value.subarray(0, 16), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
  return make("td", {
    textContent: value.length > 16 ? `${hex}… ${grouped(value.length)} bytes` : `x'${hex}'`,
  });
}

const FIRST_SQL = `-- Each run begins with an empty database.
CREATE TABLE seen(url TEXT);
INSERT INTO seen VALUES ('a.example'), ('b.example'), ('c.example');

SELECT bloom_check(f, 'b.example') AS b, bloom_check(f, 'd.example') AS d, length(f) AS bytes
  FROM (SELECT bloom_agg(url) AS f FROM seen);
`;

let lastShown = []; // what the page's test reads

function startWriting() {
  const recipes = [
    { name: "first steps", title: "", sql: FIRST_SQL },
    ...JSON.parse(element("recipes").textContent),
  ];
  const choice = element("recipe");
  choice.append(
    ...recipes.map(({ name }, i) =>
      make("option", { value: i, textContent: name.replaceAll("_", " ") }),
    ),
  );
  const show = () => {
    element("sql").value = recipes[choice.value].sql;
    element("recipe-title").textContent = recipes[choice.value].title;
  };
  choice.addEventListener("change", show);
  show();

  async function run() {
    element("status").textContent = "Running …";
    await new Promise((resolve) => setTimeout(resolve, 30)); // lets the browser show that
    const database = await open();
    const start = performance.now();
    lastShown = await runScript(database, element("sql").value, readFile);
    database.close();
    showResults(lastShown);
    element("status").textContent = lastShown.some(({ problem }) => problem !== undefined)
      ? "It stopped at an error."
      : `Done in ${grouped(performance.now() - start)} ms.`;
  }

  element("run").addEventListener("click", run);
  element("sql").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      run();
    }
  });
}

// --- A size is chosen ---

const LAYOUTS = [
  "blocked",
  "classic",
  "fuse",
  "counting",
  "parquet",
  "spark2",
  "go",
  "dcso",
  "redisbloom",
];

function shownBytes(bytes) {
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(3))} ${units[power]}`;
}

async function startChoosing() {
  const database = await open();
  const ask = (sql, parameters) => {
    try {
      return database.run(sql, parameters)[0].rows[0][0];
    } catch {
      return null; // the layout is not made for these numbers
    }
  };

  function update() {
    const power = 10 ** Math.floor(element("n").value - 1);
    const keys = Math.round(10 ** element("n").value / power) * power;
    const rate = Number((10 ** -element("p").value).toPrecision(2));
    element("n-shown").textContent = grouped(keys);
    element("p-shown").textContent = `1 in ${grouped(1 / rate)}`;
    drawSpace(keys, rate);
    drawRate(keys, rate);
  }

  function drawSpace(keys, rate) {
    const sizes = LAYOUTS.map((layout) => [
      layout,
      ask("SELECT bloom_size(?, ?, ?)", [keys, rate, layout]),
    ]).filter(([, bytes]) => bytes !== null);
    const largest = Math.max(...sizes.map(([, bytes]) => Number(bytes)));
    const head = make(
      "tr",
      {},
      ...["layout", "bits a key", "size", ""].map((name, i) =>
        make("th", { scope: "col", textContent: name, className: i === 0 ? "" : "number" }),
      ),
    );
    element("space").replaceChildren(
      make("thead", {}, head),
      make(
        "tbody",
        {},
        ...sizes.map(([layout, bytes]) => {
          const bar = make("i");
          bar.style.width = `${(100 * Number(bytes)) / largest}%`;
          return make(
            "tr",
            {},
            make("td", { textContent: layout }),
            make("td", {
              className: "number",
              textContent: ((8 * Number(bytes)) / keys).toFixed(2),
            }),
            make("td", { className: "number", textContent: shownBytes(Number(bytes)) }),
            make("td", { className: "bar" }, bar),
          );
        }),
      ),
    );
  }

  function drawRate(keys, rate) {
    const blocks = (Number(ask("SELECT bloom_size(?, ?)", [keys, rate])) - 64) / 64;
    const info = JSON.parse(
      ask("SELECT bloom_info(bloom_new(?, ?))", [Math.min(keys, 1000), rate]),
    );
    const probes = info.hashes ?? info.probes;
    const picture = element("rate");
    const [left, right, top, bottom] = [84, 470, 12, 262];
    const highest = blockedRate(1.5 * keys, blocks, probes) * 1.05;
    const x = (part) => left + ((right - left) * part) / 1.5;
    const y = (value) => bottom - ((bottom - top) * Math.min(value, highest)) / highest;
    const percent = (value) => `${Number((100 * value).toPrecision(2))} %`;
    picture.replaceChildren();
    draw(picture, "path", {
      class: "axis",
      fill: "none",
      d: `M${left},${top} V${bottom} H${right}`,
    });
    for (const part of [0, 0.5, 1, 1.5]) {
      draw(
        picture,
        "text",
        {
          class: "label",
          x: x(part),
          y: bottom + 18,
          "text-anchor": part === 1.5 ? "end" : "middle",
        },
        shownCount(part * keys),
      );
    }
    draw(
      picture,
      "text",
      { class: "label", x: right, y: bottom + 34, "text-anchor": "end" },
      "keys in the filter",
    );
    // Zero is left out where the rate that was asked for stands in its place.
    const apart = (value) => value === rate || Math.abs(y(value) - y(rate)) > 16;
    for (const value of [0, rate, highest / 1.05].filter(apart)) {
      draw(
        picture,
        "text",
        { class: "label", x: left - 6, y: y(value) + 4, "text-anchor": "end" },
        percent(value),
      );
    }
    draw(picture, "path", {
      class: "wanted",
      d: `M${left},${y(rate)} H${right} M${x(1)},${top} V${bottom}`,
    });
    const line = (function_) =>
      Array.from(
        { length: 76 },
        (_, i) =>
          `${i === 0 ? "M" : "L"}${x(i / 50).toFixed(1)},` +
            y(function_((i / 50) * keys)).toFixed(1),
      ).join("");
    draw(picture, "path", {
      class: "curve second",
      d: line((count) => classicRate(count, blocks * 512, probes)),
    });
    draw(picture, "path", {
      class: "curve",
      d: line((count) => blockedRate(count, blocks, probes)),
    });
    element("rate-caption").textContent =
      `How often the filter errs as it fills: ` +
      `${percent(blockedRate(keys, blocks, probes))} with ${shownCount(keys)} keys, ` +
      `${percent(blockedRate(1.5 * keys, blocks, probes))} with half as many again. ` +
      "Dotted: the same bits without blocks.";
  }

  const shownCount = (count) =>
    count < 10000
      ? grouped(count)
      : shownBytes(count)
          .replace("KB", "thousand")
          .replace("MB", "million")
          .replace("GB", "billion");

  element("n").addEventListener("input", update);
  element("p").addEventListener("input", update);
  update();
}

async function start() {
  try {
    const first = await open({ wasm: await unpack(element("wasm").textContent) });
    element("version").textContent = first.run("SELECT bloom_version()")[0].rows[0][0];
    first.close();
    startWriting();
    await startChoosing();
    await startAsking();
    element("loading").remove();
    document.body.dataset.ready = "yes";
  } catch (error) {
    element("loading").className = "problem";
    element("loading").textContent = `The page could not start: ${error.message}`;
    throw error;
  }
}

start();
// For the test of the page alone.
globalThis.bloomPage = { open, probesOf, isSet, shown: () => lastShown };
