// As much of the sqlite3 shell as the recipes need: SQL, and the lines that begin with a dot.

// The parts of a script: { sql } or { command, words }, in order.
function partsOfScript(text) {
  const parts = [];
  let lines = [];
  const flush = () => {
    if (lines.some((line) => line.trim() !== "")) parts.push({ sql: lines.join("\n") });
    lines = [];
  };
  for (const line of text.split("\n")) {
    const isCommand = line.startsWith(".") && isComplete(lines.join("\n"));
    if (!isCommand) {
      lines.push(line);
      continue;
    }
    flush();
    const [command, ...words] = line.slice(1).match(/"(?:\\.|[^"\\])*"|'[^']*'|\S+/g) ?? [""];
    parts.push({
      command,
      words: words.map((word) => word.replace(/^(["'])(.*)\1$/, "$2")),
      rest: line.slice(command.length + 1).trim(),
    });
  }
  flush();
  return parts;
}

// Whether SQL ends between statements: nothing but blanks and comments behind the last semicolon.
function isComplete(sql) {
  const plain = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[^]*?\*\//g, (match) =>
    match[0] === "-" || match[0] === "/" ? " " : "x",
  );
  return /(^|;)\s*$/.test(plain);
}

// Runs a script and gives what it shows: { text } and { columns, rows }, the last one { problem }
// when something failed.
async function runScript(database, text, readFile) {
  const shown = [];
  try {
    for (const part of partsOfScript(text)) {
      if (part.sql !== undefined) shown.push(...database.run(part.sql, [], { asText: true }));
      else await runCommand(database, part, readFile, shown);
    }
  } catch (error) {
    shown.push({ problem: error.message });
  }
  return shown;
}

async function runCommand(database, { command, words, rest }, readFile, shown) {
  if (["bail", "load", "mode", "separator", "headers", "header", "timer"].includes(command)) return;
  if (command === "print") {
    shown.push({ text: words.length === 1 ? words[0] : rest });
  } else if (command === "import") {
    const [file, table] = words;
    if (table === undefined) throw new Error(".import needs a file and a table");
    const lines = (await readFile(file)).split("\n").filter((line) => line !== "");
    database.run("BEGIN");
    for (const line of lines)
      database.run(`INSERT INTO "${table.replaceAll('"', '""')}" VALUES (?)`, [line]);
    database.run("COMMIT");
  } else {
    throw new Error(`.${command} is not known here; the sqlite3 shell has it`);
  }
}
