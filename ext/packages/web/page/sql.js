// SQL is written, or taken from the page, and run in a worker of its own.

const FIRST_SQL = `-- Each run begins with an empty database.
CREATE TABLE filters(name TEXT PRIMARY KEY, f BLOB NOT NULL);
INSERT INTO filters
  SELECT 'bad', bloom_list_agg('0.0.0.0 evil.example' || char(10) || '||host.example/malware/*');

CREATE TABLE visits(url TEXT);
INSERT INTO visits VALUES
  ('https://sqlite.org/'),
  ('HTTP://Sub.Evil.example:80/a?b#c'),
  ('http://host.example/malware/x');

SELECT url, bloom_check((SELECT bloom_pin(f) FROM filters WHERE name = 'bad'), url) AS bad
  FROM visits;
`;

let lastShown = []; // what the page's test reads
let running; // the work that goes on
// Of what a statement gives; more takes the page seconds to show.
const MOST_GIVEN = {
  maximumRows: MOST_SHOWN,
  maximumCells: 10_000,
  maximumLength: 500_000,
  longestValue: LONGEST_SHOWN,
};

function showResult({ text, problem, columns, rows, count }) {
  const words = shortened(problem ?? text ?? "");
  if (columns === undefined) return html.p({ class: problem ? "problem" : "printed" }, words);
  const left = `The first ${rows.length} of ${grouped(count)} rows`;
  const table = fillTable(
    html.table(),
    columns.map((name) => shortened(name)),
    rows.map((row) => row.map(showValue)),
    count === 0 ? "No rows" : count > rows.length ? left : undefined,
  );
  return html.div({ class: "scroll", tabIndex: 0, role: "region", ariaLabel: "Result" }, table);
}

function showValue(value) {
  if (value === null) return html.td({ class: "null" }, "NULL");
  const { start = value, bytes } = value;
  if (typeof start === "string") return shortened(start, bytes);
  const byte = (one) => one.toString(16).padStart(2, "0");
  const hex = Array.from(start.subarray(0, 16), byte).join("");
  const size = bytes ?? start.length;
  return size > 16 ? `${hex}… ${grouped(size)} bytes` : `x'${hex}'`;
}

// The files that a script may read by name: the page's, and the list of the visitor.
async function filesFor(sql) {
  const files = {};
  for (const name of Object.keys(packedFiles))
    if (sql.includes(name)) files[name] = await fileOfPage(name);
  if (list !== undefined && sql.includes(quoted(list.name))) files[list.name] = list.bytes;
  return files;
}

async function runSql() {
  running?.stop();
  const sql = textOf(element("sql"));
  const status = element("status");
  const shown = [];
  const database = filesFor(sql).then((files) => openDatabase({ files }));
  const mine = {
    isStopped: false,
    stop() {
      mine.isStopped = true;
      database.then((opened) => opened.terminate());
    },
  };
  running = mine;
  status.textContent = "Running …";
  element("output").replaceChildren();
  const work = showWork(element("sql-work"), "Running", mine.stop, element("run"));
  await runScript(await database, sql, {
    show(part) {
      shown.push(part);
      if (mine === running) element("output").append(showResult(part));
    },
    onProgress: ({ statement, rows }) =>
      work.say(`Statement ${statement}, ${counted(rows, "row")}`),
    isStopped: () => mine.isStopped,
  });
  (await database).terminate();
  const time = work.end();
  if (mine !== running) return;
  running = undefined;
  lastShown = shown;
  const failure = shown.find(({ problem }) => problem !== undefined);
  if (failure !== undefined) selectLine(element("sql"), failure.line);
  status.textContent = mine.isStopped
    ? `Stopped after ${seconds(time)}; what had finished is shown.`
    : failure !== undefined
      ? "It stopped at an error."
      : `Done in ${time < 1000 ? `${grouped(time)} ms` : seconds(time)}.`;
}

// Selects a line in the field, where it can be seen once the field has the focus.
function selectLine(area, number) {
  if (held.has(area)) return;
  const lines = area.value.split("\n");
  const start = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
  area.setSelectionRange(start, start + lines[number - 1].length);
}

function startWriting() {
  const recipes = [
    { name: "first steps", title: "", sql: FIRST_SQL },
    ...JSON.parse(element("recipes").textContent),
  ];
  const choose = element("recipe");
  const groups = Object.entries(Object.groupBy(recipes.slice(1), ({ group }) => group));
  const nameOf = ({ name }) => name.replaceAll("_", " ");
  const optionOf = (recipe) => html.option({ value: recipes.indexOf(recipe) }, nameOf(recipe));
  choose.replaceChildren(
    optionOf(recipes[0]),
    ...groups.map(([label, some]) => html.optgroup({ label }, some.map(optionOf))),
    html.option({ value: "own", hidden: true }, "from this page"),
  );
  const recipeLink = (recipe) =>
    html.li(html.a({ href: `#recipe=${recipe.name}` }, nameOf(recipe)), ` ${recipe.title}`);
  const shipped = recipes.length;
  let given = ""; // what the page put there; something else becomes a recipe
  const put = (sql, title) => {
    const written = textOf(element("sql"));
    if (written !== given && written.trim() !== "") {
      const name = `yours, ${recipes.length - shipped + 1}`;
      const value = recipes.push({ name, title: "", sql: written }) - 1;
      choose.append(html.option({ value }, name));
    }
    setText(element("sql"), sql);
    given = textOf(element("sql")); // the field may end its lines otherwise
    remember("sql", sql);
    element("recipe-title").textContent = title;
    running?.stop();
    running = undefined;
    element("output").replaceChildren();
    element("status").textContent = "";
  };
  const show = () => {
    if (choose.value === "own") return; // browsers that list hidden options let it be chosen
    put(recipes[choose.value].sql, recipes[choose.value].title);
  };
  choose.addEventListener("change", show);
  const kept = recall("sql"); // what was there before a reload: a recipe, or what was written
  const known = recipes.findIndex(({ sql }) => sql === kept);
  choose.value = Math.max(0, known);
  show();
  if (kept !== undefined && known < 0) setText(element("sql"), kept);
  element("sql").addEventListener("input", () => remember("sql", element("sql").value));

  function takeAddress() {
    const name = new URLSearchParams(location.hash.slice(1)).get("recipe");
    const number = recipes.findIndex((recipe) => recipe.name === name);
    if (number < 0) return;
    choose.value = number;
    show();
    element("write").scrollIntoView();
  }
  addEventListener("hashchange", takeAddress);
  takeAddress();
  // A link to where the address is already changes nothing.
  element("recipe-links").addEventListener("click", ({ target }) => {
    if (target.hash === location.hash) takeAddress();
  });
  element("recipe-links").replaceChildren(
    ...groups.map(([group, some]) =>
      html.section(html.h3(group), html.ul(some.map(recipeLink))),
    ),
  );

  element("run").addEventListener("click", runSql);
  onCtrlEnter(element("sql"), runSql);
  element("write").addEventListener("keydown", ({ key }) => key === "Escape" && running?.stop());
  holdLongTexts(element("sql"));

  // Every block of SQL in the page can be copied, and run here.
  for (const block of document.querySelectorAll(".copied")) {
    const code = block.querySelector("code");
    const said = html.span({ class: "soft", role: "status" });
    const copy = async () => {
      said.textContent = await copyText(wholeSql.get(code) ?? "", code);
    };
    const runHere = () => {
      if (!wholeSql.has(code)) return; // the list is not there yet
      choose.value = "own";
      put(wholeSql.get(code), "");
      element("write").scrollIntoView();
      element("run").focus({ preventScroll: true });
      runSql();
    };
    block.querySelector(".row")?.remove(); // of a page that was saved as it stood
    const buttons = [button("quiet", "Copy", copy), button("quiet", "Run it here", runHere)];
    block.append(html.div({ class: "row small" }, buttons, said));
  }
}
