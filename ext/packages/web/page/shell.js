// As much of the sqlite3 shell as the recipes need: SQL, and the lines that begin with a dot.

// The parts of a script: { sql } or { command, words }, in order.
function partsOfScript(text) {
  const parts = [];
  let lines = [];
  let first = 0; // the number of the first of these lines
  const flush = (next) => {
    if (lines.some((line) => line.trim() !== "")) parts.push({ sql: lines.join("\n"), first });
    lines = [];
    first = next;
  };
  for (const [i, line] of text.split("\n").entries()) {
    const isCommand = line.startsWith(".") && isComplete(lines.join("\n"));
    if (!isCommand) {
      lines.push(line);
      continue;
    }
    flush(i + 1);
    const [command, ...words] = line.slice(1).match(/"(?:\\.|[^"\\])*"|'[^']*'|\S+/g) ?? [""];
    parts.push({
      command,
      words: words.map((word) => word.replace(/^(["'])(.*)\1$/, "$2")),
      rest: line.slice(command.length + 1).trim(),
      first: i,
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

// The number of the line in which the text of a statement is wrong, or in which it begins.
function lineOf({ sql, first }, position = 0) {
  const [blank] = sql.slice(position).match(/^(?:\s|--[^\n]*(?:\n|$)|\/\*[^]*?\*\/)*/);
  return first + sql.slice(0, position + blank.length).split("\n").length;
}

// What means nothing here, or is so already.
const IGNORED_COMMANDS = ["bail", "load", "mode", "separator", "headers", "header", "timer"];

// Runs a script and shows each part of it as soon as it has ended: { text }, { columns, rows,
// count }, or { problem }, which ends it. A script that was stopped has no problem.
async function runScript(database, text, { show, onProgress, isStopped }) {
  const options = { ...MOST_GIVEN, asText: true, onResult: show, onProgress };
  let part;
  try {
    for (part of partsOfScript(text))
      if (part.sql !== undefined) await database.run(part.sql, [], options);
      else if (part.command === "print")
        show({ text: part.words.length === 1 ? part.words[0] : part.rest });
      else if (part.command === "read" && part.rest in packedFiles)
        await database.run(
          new TextDecoder().decode(await fileOfPage(part.rest)),
          [],
          options,
        );
      else if (!IGNORED_COMMANDS.includes(part.command))
        throw new Error(`.${part.command} is not known here; the sqlite3 shell has it`);
  } catch (error) {
    if (isStopped()) return;
    const line = part.sql === undefined ? part.first + 1 : lineOf(part, error.position);
    show({ problem: `Line ${line}: ${error.message}`, line });
  }
}
