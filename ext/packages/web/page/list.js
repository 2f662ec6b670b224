// A list is asked. It lies in a database in a worker of its own, as the tables lines and filters; a
// new list gets a new worker, so that the one before answers until it is replaced.

const DEFAULT_LIST = "sql/data/urlhaus.txt";
const FILTER_MAGIC = [0x89, 0x42, 0x4c, 0x4d];
const GZIP_MAGIC = [0x1f, 0x8b];
// The marks at the beginning of a text in UTF-16.
const UTF16_MARKS = { "utf-16le": [0xff, 0xfe], "utf-16be": [0xfe, 0xff] };
const MOST_SHOWN = 500; // rows of a table in the page
const MOST_SEEN = 20; // URLs in the SQL that is shown
const MOST_COPIED = 10_000; // and in the same that is copied
const SHORT_LIST = 2000; // bytes of one that stands in the SQL itself
const LONGEST_KEPT = 1_000_000; // bytes of one that a reload does not lose
const PASSWORDS = (
  "123456 password 12345678 qwerty abc123 letmein monkey dragon iloveyou sunshine"
).split(" ");
const KEYS_HINT = '. If its lines are the keys, choose "keys as they are"';

// The list that is asked: its database, the bytes that it was made of, and its filter.
// { database, name, bytes, isPasted, hint, isFilter, rate, rule, filter, info, unused }
let list;
let refused; // the source that could not be read last
let loading; // the work on the next one
let asked; // what somebody has asked last: { urls }

const baseName = (name) => name.split("/").at(-1);
const startsWith = (bytes, magic) => magic.every((byte, i) => bytes[i] === byte);
// A message of the extension, for those who called no function.
const inWords = ({ message }) =>
  message
    .replace(/^bloom_\w+: /, "")
    .replace(/^argument \d /, "the filter ")
    .replace(/ \(argument \d\)/, "");

// --- It is loaded ---

// A source is { name, bytes, rate, rule, isPasted, hint }; its bytes may be a promise.
async function loadList(source) {
  loading?.stop();
  const mine = { source, isStopped: false };
  loading = mine;
  showProblem("list-problem");
  const work = showWork(
    element("list-work"),
    `Reading ${source.name}`,
    () => mine.stop(),
    element("list-figures"),
  );
  const database = openDatabase();
  const close = () => database.then((opened) => opened.terminate(), () => {});
  mine.stop = () => {
    mine.isStopped = true;
    close();
  };
  try {
    const next = { ...source, ...(await plainBytes(source)), database: await database };
    next.isFilter = startsWith(next.bytes, FILTER_MAGIC);
    await next.database.run(
      "CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);" +
        "CREATE TABLE lines(line INTEGER, key TEXT, entry TEXT, note TEXT)",
    );
    await (next.isFilter ? takeFilter(next) : readLines(next, work));
    await prepareFilter(next);
    list?.database.terminate();
    list = next;
    refused = undefined;
    rememberList(list);
  } catch (error) {
    close();
    if (!mine.isStopped) refused = source;
    const kept = list === undefined ? "" : ` ${list.name} is still the list.`;
    if (mine === loading)
      showProblem(
        "list-problem",
        mine.isStopped ? `Stopped.${kept}` : `${source.name}: ${inWords(error)}.${kept}`,
      );
  }
  if (mine === loading) {
    loading = undefined;
    await showList();
    if (asked !== undefined) await askAll(asked.urls);
  }
  work.end();
}

// What is compressed is unpacked, UTF-16 becomes UTF-8. hint: what to do before other programs read
// the file.
async function plainBytes({ name, bytes: given, hint }) {
  let bytes = await given;
  if (startsWith(bytes, GZIP_MAGIC)) {
    bytes = await gunzip(bytes).catch(() => {
      throw new Error("what gzip compressed here is damaged");
    });
    const unpacked = name.replace(/\.gz$/i, "");
    return { bytes, name: unpacked, hint: `Unpack ${name} first, as with gunzip.` };
  }
  for (const [encoding, mark] of Object.entries(UTF16_MARKS))
    if (startsWith(bytes, mark)) {
      bytes = new TextEncoder().encode(new TextDecoder(encoding).decode(bytes));
      return { bytes, hint: `Convert ${name} from UTF-16 to UTF-8 first.` };
    }
  return { bytes, hint };
}

async function takeFilter(next) {
  next.info = JSON.parse((await rowsOf(next.database, "SELECT bloom_info(?)", [next.bytes]))[0][0]);
  next.rule = next.info.key;
  await next.database.run("INSERT INTO filters VALUES ('asked', ?)", [next.bytes]);
}

async function readLines(next, work) {
  const { database, bytes } = next;
  let total = 1; // lines
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) total += 1;
  await database.run(
    next.rule === undefined
      ? "INSERT INTO lines SELECT line, text, NULL, NULL FROM bloom_lines(?)"
      : "INSERT INTO lines SELECT line, key, CASE WHEN key IS NULL THEN CAST(entry AS TEXT) END, " +
          "CASE WHEN key IS NULL THEN note END FROM bloom_list(?)",
    [bytes],
    {
      onProgress: ({ inserted }) =>
        work.say(`Reading ${next.name}: ${grouped(inserted)} entries`, inserted / total),
    },
  );
  work.say("Making the filter");
  const [[keys, unused]] = await rowsOf(
    database,
    "SELECT count(key), count(*) - count(key) FROM lines",
  );
  next.unused = {
    count: unused,
    keys,
    rows: await rowsOf(
      database,
      "SELECT line, substr(entry, 1, 300), note FROM lines WHERE key IS NULL LIMIT ?",
      [MOST_SHOWN],
    ),
    reasons: await rowsOf(
      database,
      "SELECT replace(note, 'no entry: ', ''), count(*) FROM lines WHERE key IS NULL " +
        "GROUP BY 1 ORDER BY note LIKE '%range%' DESC, 2 DESC, 1",
    ),
  };
  if (keys === 0) {
    const [first] = next.unused.rows;
    throw new Error(
      "there is no entry in it" +
        (first === undefined
          ? "; a list has URLs or names, one a line or in any form of a list"
          : `; line ${first[0]}, for one: ${first[2].replace(/^no entry: /, "")}${KEYS_HINT}`),
    );
  }
  await database.run(
    "INSERT INTO filters SELECT 'asked', bloom_agg(key, NULL, ?, ?) FROM lines WHERE key NOT NULL",
    [next.rate, next.rule === undefined ? "blocked" : `key=${next.rule}`],
  );
}

// A filter with a key rule answers for a URL. To see which of the URL's keys it has, the same bits
// without the rule are asked: byte 12 of the header, and the checksum over it (ext/FORMAT.md).
async function prepareFilter(next) {
  const { database } = next;
  [[next.filter, next.info]] = await rowsOf(
    database,
    "SELECT f, bloom_info(f) FROM filters WHERE name = 'asked'",
  );
  next.info = JSON.parse(next.info);
  const plain = next.filter.slice();
  plain[12] = 0;
  const lines = plain[7] === 0 ? [] : plain.subarray(64, 128);
  const [[checksum]] = await rowsOf(database, "SELECT bloom_hash(?)", [
    Uint8Array.of(...plain.subarray(0, 56), ...lines),
  ]);
  plain.set(checksum.subarray(0, 8), 56);
  await database.run("INSERT INTO filters VALUES ('keys', ?)", [plain]);
}

async function showList() {
  if (list === undefined) return;
  const { name, isFilter, info, filter, unused } = list;
  const size = `a filter of ${shownBytes(filter.length)}`;
  const several = list.rule === undefined ? "" : ", and more for a URL, which has several keys";
  const rate = info.fpr > 0 ? `. False positives: ${falsePositives(info.fpr)}${several}` : "";
  element("list-figures").textContent = isFilter
    ? `${name}: ${size}, of layout ${info.layout}, made for ` +
      `${counted(info.capacity ?? 0, "key")}${rate}.`
    : `${name === DEFAULT_LIST ? "URLhaus, malicious hosts and pages" : name}: ` +
      `${counted(info.capacity, "key")} in ${size}${rate}.`;
  element("rate-wanted").value = String(list.rate);
  element("rule").value = list.rule ?? "";
  for (const id of ["rate-wanted", "rule"]) element(id).disabled = isFilter;
  element("unused").hidden = isFilter || unused.count === 0;
  if (!element("unused").hidden) showUnused(unused);
  showListSql();
  await showExamples(list);
}

function showUnused({ count, keys, rows, reasons }) {
  const isStrange = count > 10 * keys;
  if (isStrange) element("unused").open = true;
  element("unused-summary").textContent = isStrange
    ? `This looks like no list: ${grouped(keys)} of ${counted(keys + count, "line")} ` +
      `${keys === 1 ? "has" : "have"} an entry${KEYS_HINT}`
    : `${counted(count, "line")} left out: ` +
      reasons.map(([why, lines]) => `${why} (${grouped(lines)})`).join(", ");
  fillTable(
    element("unused-lines"),
    ["line", "as written", "why"],
    rows.map(([line, entry, note]) => [line, entry, note.replace(/^no entry: /, "")]),
    count > rows.length ? `The first ${grouped(rows.length)} of them` : undefined,
  );
}

// --- It is asked ---

// The keys of the URLs in the table asked, by a rule; without one a line is the key. The filter
// without the rule says of each whether it is in.
const keysSql = (rule) => `
SELECT *, bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'keys'), key) AS found FROM (
  ${
    rule === undefined
      ? "SELECT i, url AS key, 0 AS rank FROM asked"
      : `SELECT i, ${rule === "url_nocase" ? "lower(k.key)" : "k.key"} AS key, k.rank
           FROM asked, bloom_url_keys(url) AS k`
  } ${rule === "host" ? "WHERE instr(k.key, '/') = length(k.key)" : ""})`;

// Of each URL the answer of the filter, and of those that it finds the key that decides: one that
// the exact list has, or else the most exact of those found. Those on the list come first, then
// what else was found; the last columns count both, of all URLs.
function askSql(rule) {
  const written = rule === "url_nocase" ? "lower(key)" : "key";
  return `
WITH all_asked AS MATERIALIZED (
  SELECT key AS i, value AS url,
         bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'asked'), value) AS answer
    FROM json_each(?)),
asked AS (SELECT i, url FROM all_asked WHERE answer = 1),
found AS MATERIALIZED (SELECT i, key, rank FROM (${keysSql(rule)}) WHERE found),
known AS MATERIALIZED (
  SELECT ${written} AS key FROM lines WHERE ${written} IN (SELECT key FROM found)),
judged AS (SELECT i, key, rank, key IN (SELECT key FROM known) AS listed FROM found),
decisive AS (SELECT i, key, listed, min(rank - 1000 * listed) FROM judged GROUP BY i)
SELECT url, answer, key, listed, sum(answer) OVER (), total(listed) OVER ()
  FROM all_asked LEFT JOIN decisive USING (i)
 ORDER BY answer + coalesce(listed, 0) DESC, i LIMIT ${MOST_SHOWN}`;
}

function verdictOf({ isFilter }, { answer, listed }) {
  if (answer === null) return { kind: "doubt", words: "no host" };
  if (answer === 0) return { kind: "clear", words: "certainly not" };
  if (isFilter) return { kind: "hit", words: "probably on it" };
  return listed
    ? { kind: "hit", words: "on the list" }
    : { kind: "doubt", words: "false positive" };
}

async function askAll(urls) {
  const mine = { urls };
  asked = mine;
  if (list === undefined) return;
  const from = list;
  const isOld = () => mine !== asked || from !== list; // a newer question, or a newer list
  let rows;
  try {
    rows = await rowsOf(from.database, askSql(from.rule), [JSON.stringify(urls)]);
  } catch (error) {
    if (!isOld()) showProblem("list-problem", `${inWords(error)}.`);
    return;
  }
  if (isOld()) return;
  const [[, , , , found, confirmed] = []] = rows;
  const answers = rows.map(([url, answer, key, listed]) => ({ url, answer, key, listed }));
  for (const one of answers)
    if (one.answer === 0 && from.rule !== undefined && !canBeHost(one.url)) one.answer = null;
  await showAnswers(from, { urls, found, confirmed }, answers);
}

// Whether a browser could go to the host of a URL, of which the extension only says that it is not
// on the list.
function canBeHost(url) {
  const [authority] = url
    .replace(/^[\0- ]+|[\0- ]+$|[\t\r\n]/g, "")
    .replace(/^(?:[a-z][a-z\d+.-]*:)?[\\/]*/i, "")
    .split(/[\\/?#]/);
  return !/[\s"'<>\p{Cc}]/u.test(authority.split("@").at(-1));
}

async function showAnswers(from, mine, answers) {
  const verdict = element("verdict");
  element("several").hidden = answers.length < 2;
  showListSql();
  if (answers.length === 0) {
    verdict.className = "verdict doubt";
    verdict.textContent =
      from.rule === undefined ? "Type a key." : "Type a URL, as in https://example.org/a.";
    element("answer").hidden = true;
    return;
  }
  if (answers.length === 1) showVerdict(from, answers[0]);
  else showVerdicts(from, mine, answers);
  await showKeys(from, answers[0]);
}

function showVerdict(from, { url, answer, key, listed }) {
  const { isFilter, rule, unused } = from;
  const verdict = element("verdict");
  verdict.className = `verdict ${verdictOf(from, { answer, listed }).kind}`;
  if (answer === null)
    verdict.textContent = "This has no host: type a URL, as in https://example.org/a.";
  else if (answer === 0) verdict.textContent = "Certainly not on the list.";
  else
    verdict.replaceChildren(
      "Probably on the list, by the key ",
      html.code(shortened(key)),
      isFilter
        ? ". A filter alone cannot confirm it."
        : listed
          ? ". The exact list confirms it."
          : ". The exact list does not have it: this is a false positive.",
    );
  if (isFilter && rule === undefined)
    verdict.append(" The filter has no key rule: the line itself was asked, as text.");
  const ranges = unused?.reasons.find(([why]) => why.includes("range"))?.[1] ?? 0;
  if (answer === 0 && ranges > 0 && isAddress(url))
    verdict.append(` But it has ${counted(ranges, "range")} of addresses, which were left out.`);
}

const isAddress = (url) => /^(?:\w+:)?\/*(?:\d+(?:\.\d+){3}|\[[\da-f:.]+\])(?:[:/?#]|$)/i.test(url);

function showVerdicts(from, { urls, found, confirmed }, answers) {
  const verdict = element("verdict");
  const hits = from.isFilter ? found : confirmed;
  const wrong = found - hits;
  verdict.className = `verdict ${hits > 0 ? "hit" : "clear"}`;
  verdict.textContent =
    `${grouped(hits)} of ${grouped(urls.length)} ${hits === 1 ? "is" : "are"} ` +
    `${from.isFilter ? "probably " : ""}on the list` +
    (wrong === 0
      ? "."
      : `; ${grouped(wrong)} ${hits > 0 ? "more " : ""}` +
        `${wrong === 1 ? "is a false positive" : "are false positives"} of the filter.`) +
    (urls.length > answers.length
      ? ` The first ${grouped(answers.length)} are shown, those on the list before the others.`
      : "");
  fillTable(
    element("verdicts"),
    ["asked", "verdict", "decided by the key"],
    answers.map((one) => {
      const { kind, words } = verdictOf(from, one);
      return [
        button("link", shortened(one.url), () => showKeys(from, one)),
        html.span({ class: `said ${kind}` }, words),
        html.code(shortened(one.key ?? "")),
      ];
    }),
  );
}

async function showKeys(from, { url, key: decisive }) {
  const sql = `WITH asked AS (SELECT 0 AS i, ? AS url)
    SELECT key, bloom_hash(key), found FROM (${keysSql(from.rule)}) ORDER BY rank`;
  const keys = await rowsOf(from.database, sql, [url]).catch(() => undefined); // its worker may end
  if (from !== list || keys === undefined) return;
  element("answer").hidden = keys.length === 0;
  if (keys.length === 0) return;
  element("keys-title").replaceChildren(
    "Keys of ",
    html.code(shortened(url)),
    ", most exact first",
  );
  const chosen = Math.max(0, keys.findIndex(([key]) => key === decisive));
  element("keys").replaceChildren(
    ...keys.map((row, i) => {
      const [key, , found] = row;
      const onchange = () => showBlock(from, row);
      return html.label(
        html.input({ type: "radio", name: "key", checked: i === chosen, onchange }),
        html.code(shortened(key)),
        html.span({ class: found ? "hit" : "" }, found ? "probably in" : "certainly not"),
      );
    }),
  );
  showBlock(from, keys[chosen]);
}

function showBlock({ filter, info }, [key, hash, found]) {
  const canDraw = info.layout === "blocked" && filter[7] === 0;
  element("block-figure").hidden = !canDraw;
  if (!canDraw) return;
  const { number, blocks, bits, bytes } = probesOf(filter, hash);
  const kind = (bit) =>
    `bit${isSet(bytes, bit) ? " set" : ""}${bits.includes(bit) ? " probe" : ""}`;
  element("block").replaceChildren(
    ...Array.from({ length: 512 }, (_, bit) => {
      const [x, y] = [3 + (bit % 32) * 16, 3 + Math.floor(bit / 32) * 16];
      return svg.rect({ x, y, width: 12, height: 12, rx: 2.5, class: kind(bit) });
    }),
  );
  const ones = bits.filter((bit) => isSet(bytes, bit)).length;
  element("block-caption").textContent =
    `Block ${grouped(number + 1)} of ${grouped(blocks)}. Its 512 bits are all that the filter ` +
    `knows of ${shortened(key)}: ` +
    (found
      ? `all ${bits.length} of its bits are set, so it is probably in.`
      : `${ones} of its ${bits.length} bits are set; ` +
        (bits.length - ones === 1
          ? "the one that is not proves that it was never added."
          : `the ${bits.length - ones} that are not prove that it was never added.`));
}

// --- The same as SQL ---

// What the SQL of a list reads, and what must be done before: { from, hint }.
function sourceSql({ name, bytes, isPasted, hint = `In the folder of ${name} and bloom.so.` }) {
  if (isPasted && bytes.length <= SHORT_LIST)
    return { from: quoted(new TextDecoder().decode(bytes)), hint: "" };
  return { from: `readfile(${quoted(name)})`, hint: `-- ${hint.replace(/\s/g, " ")}\n` };
}

function listSql(isWhole) {
  const { name, isFilter, rate, rule } = list;
  const short = quoted(baseName(name));
  const { from: file, hint } = sourceSql(list);
  const readKeys =
    rule === undefined
      ? `bloom_agg(text, NULL, ${rate})\n    FROM bloom_lines(${file});`
      : `bloom_list_agg(${file}, ${rate}, 'key=${rule}');`;
  const made = isFilter
    ? `INSERT INTO filters VALUES (${short}, ${file});`
    : `INSERT INTO filters\n  SELECT ${short}, ${readKeys}`;
  const most = isWhole ? MOST_COPIED : MOST_SEEN;
  const all = asked?.urls.length > 0 ? asked.urls : ["https://example.org/"];
  const urls = all.slice(0, most);
  const more = all.length - urls.length;
  const note = `  -- and ${grouped(more)} more${isWhole ? "" : ", which are copied, too"}`;
  const written = isWhole ? urls : urls.map((url) => shortened(url));
  return `${hint}.load ./bloom
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
${made}

CREATE TABLE visits(url TEXT);
INSERT INTO visits VALUES
  ${written.map((url) => `(${quoted(url)})`).join(",\n  ")};${more > 0 ? note : ""}
SELECT url FROM visits
 WHERE bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = ${short}), url);
`;
}

function showListSql() {
  showSql(element("list-sql"), listSql(false), listSql(true));
}

// --- A list of one's own ---

// A list of keys as they are stays the choice for the next list; "" is no rule.
const ownSource = (name, bytes) => ({
  name,
  bytes,
  rate: 0.001,
  rule: element("rule").value === "" ? undefined : "url",
});

function openFile(file) {
  if (file === undefined) return;
  const bytes = file.arrayBuffer().then((buffer) => new Uint8Array(buffer));
  loadList(ownSource(file.name, bytes));
}

const openText = () =>
  loadList({
    ...ownSource("pasted.txt", new TextEncoder().encode(textOf(element("paste")))),
    isPasted: true,
    hint: "Save your list as pasted.txt beside bloom.so.",
  });

const passwordSource = () => ({
  ...ownSource("passwords.txt", new TextEncoder().encode(PASSWORDS.join("\n"))),
  isPasted: true,
  rule: undefined,
});

// The list of the tab before it was reloaded, if it was short enough to be kept.
function rememberList({ name, bytes, rate, rule, isPasted, hint }) {
  const isKept = name !== DEFAULT_LIST && bytes.length <= LONGEST_KEPT;
  const letters = isKept ? Array.from(bytes, (byte) => String.fromCharCode(byte)).join("") : "";
  remember("list", isKept ? { name, rate, rule, isPasted, hint, letters } : null);
}

function rememberedSource() {
  const { letters, ...source } = recall("list") ?? {};
  if (letters === undefined) return defaultSource();
  return { ...source, bytes: Uint8Array.from(letters, (letter) => letter.charCodeAt(0)) };
}

const defaultSource = () => ({
  name: DEFAULT_LIST,
  hint: "In the folder of the source.",
  bytes: fileOfPage(DEFAULT_LIST),
  rate: 0.001,
  rule: "url_nocase",
});

function listenToDrops() {
  const dropped = element("drop");
  let depth = 0; // of the elements that the pointer is in
  const show = (change) => {
    depth = change === 0 ? 0 : depth + change;
    dropped.hidden = depth <= 0;
  };
  // A text goes into the field that it is dropped on, as everywhere, and nowhere else.
  const listen = (name, use) =>
    document.addEventListener(name, (event) => {
      if (event.dataTransfer.types.includes("Files")) use(event);
      else if (!event.target.closest?.("textarea, input")) event.preventDefault();
    });
  listen("dragenter", () => show(1));
  listen("dragleave", () => show(-1));
  // Without this the browser would leave the page for the file.
  listen("dragover", (event) => event.preventDefault());
  listen("drop", (event) => {
    event.preventDefault();
    show(0);
    const { files, items } = event.dataTransfer;
    const [file] = files;
    if (items[0].webkitGetAsEntry()?.isDirectory)
      return showProblem("list-problem", `${file.name} is a folder; drop a file.`);
    openFile(file);
    if (files.length > 1) showProblem("list-problem", `One list at a time: ${file.name}.`);
  });
}

function listenToOwnLists() {
  element("file").addEventListener("change", ({ target }) => {
    openFile(target.files[0]);
    target.value = ""; // so that the same file can be opened again
  });
  holdLongTexts(element("paste"), openText);
  element("use-paste").addEventListener("click", openText);
  element("default-list").addEventListener("click", () => loadList(defaultSource()));
  element("passwords").addEventListener("click", () => loadList(passwordSource()));
  for (const id of ["rate-wanted", "rule"])
    element(id).addEventListener("change", () => {
      const { name, bytes, isPasted, hint } = loading?.source ?? refused ?? list;
      const rate = Number(element("rate-wanted").value);
      loadList({ name, bytes, isPasted, hint, rate, rule: element("rule").value || undefined });
    });
  element("save").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([list.filter]));
    const download = `${baseName(list.name).replace(/\.\w+$/, "")}.bloom`;
    html.a({ href: address, download }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  });
}

function askTyped() {
  // As mails and programs quote them.
  const bare = (line) => line.trim().replace(/^(?:"(.*)"|'(.*)'|<(.*)>)$/, "$1$2$3");
  const lines = linesOf(textOf(element("urls")));
  remember("urls", held.has(element("urls")) ? null : element("urls").value);
  return askAll(list?.rule === undefined ? lines : lines.map(bare)); // without a rule they are keys
}

function listenToQuestions() {
  holdLongTexts(element("urls"), askTyped);
  element("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    askTyped();
  });
  onCtrlEnter(element("urls"), askTyped);
}

// Something of the list, something that follows from it, and something that is on no list.
async function examplesOf({ database, rule, isFilter }) {
  if (isFilter) return [];
  if (rule === undefined)
    return [
      ...(await rowsOf(database, "SELECT key FROM lines WHERE length(key) < 44 LIMIT 1")).flat(),
      "correct horse battery staple",
    ];
  const rows = await rowsOf(
    database,
    "SELECT 'http://' || key FROM (SELECT key FROM lines " +
      "WHERE key LIKE '%/_%' AND length(key) < 44 ORDER BY key LIMIT 1) " +
      "UNION ALL SELECT 'https://www.' || key || 'index.html?a=1' FROM " +
      "(SELECT key FROM lines WHERE key NOT LIKE '%/_%' AND key GLOB '[a-z]*.[a-z]*/' " +
      "AND length(key) < 18 ORDER BY key LIMIT 1)",
  );
  return [...rows.flat(), "https://sqlite.org/lang.html"];
}

async function showExamples(from) {
  const keys = await examplesOf(from);
  if (from !== list) return;
  from.examples = keys;
  element("examples").parentNode.hidden = keys.length === 0;
  element("examples").replaceChildren();
  [...keys.map((key) => [key, [key]]), ["all of them", keys]].forEach(([title, lines], i) => {
    const ask = () => {
      setText(element("urls"), lines.join("\n"));
      askTyped();
    };
    element("examples").append(i > 0 ? " or " : "", button("link", title, ask));
  });
}

async function startAsking() {
  listenToDrops();
  listenToOwnLists();
  listenToQuestions();
  await loadList(rememberedSource());
  if (list === undefined) throw new Error(element("list-problem").textContent);
  // Somebody may have typed already.
  element("urls").value ||= recall("urls") || (list.examples[0] ?? "");
  await askTyped();
  performance.mark("first answer");
}
