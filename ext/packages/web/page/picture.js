// What a filter is, as a picture that moves: a filter of 64 bits, to which fruits are added, and
// which is asked for some. The extension makes its bits; so the false positive is a true one.

const SMALL_BITS = 64;
const SMALL_HASHES = 3;
const PICTURE_COLUMNS = 16;
const ADDED = ["apple", "cherry", "mango", "plum", "quince", "fig"];
const ABSENT = (
  "banana pear grape sapodilla lime kiwi papaya peach melon guava lychee apricot orange " +
  "pomelo date currant damson durian medlar mulberry nectarine olive persimmon raspberry " +
  "tamarind blueberry"
).split(" ");
const STEP_MILLISECONDS = 2600;

async function startPicture(database) {
  const [[empty]] = await rowsOf(database, "SELECT bloom_new_bits(?, ?)", [
    SMALL_BITS,
    SMALL_HASHES,
  ]);
  const rows = await rowsOf(
    database,
    "SELECT value, bloom_add(?1, value) FROM json_each(?2)",
    [empty, JSON.stringify([...ADDED, ...ABSENT])],
  );
  const bitsOf = new Map(
    rows.map(([key, filter]) => {
      const bytes = filter.subarray(64);
      return [key, Array.from({ length: SMALL_BITS }, (_, i) => i).filter((i) => isSet(bytes, i))];
    }),
  );
  showSteps(stepsOf(bitsOf));
}

// Each step: the bits that are set, the key that is added or asked with its bits, and the words.
function stepsOf(bitsOf) {
  const set = new Set();
  const steps = [{ set: [], words: `An empty filter: ${SMALL_BITS} bits, none of them set.` }];
  for (const key of ADDED) {
    const bits = bitsOf.get(key);
    const shared = bits.filter((bit) => set.has(bit)).length;
    bits.forEach((bit) => set.add(bit));
    const count = bits.length - shared;
    steps.push({
      kind: "added",
      key,
      bits,
      set: [...set],
      words:
        `Add ${key}. Its hash names ${bits.length} bits; ` +
        (shared === 0 ? "they are set." : `${count} of them ${count === 1 ? "is" : "are"} new.`),
    });
  }
  const isIn = (key) => bitsOf.get(key).every((bit) => set.has(bit));
  const half = (key) => bitsOf.get(key).filter((bit) => set.has(bit)).length;
  const ask = (key, words) =>
    steps.push({ kind: "asked", key, bits: bitsOf.get(key), set: [...set], words });
  const [known] = ADDED.slice(1);
  const absent = ABSENT.filter((key) => !isIn(key)).sort((a, b) => half(b) - half(a))[0];
  const wrong = ABSENT.find(isIn);
  ask(known, `Ask for ${known}. All of its bits are set: probably in, and so it is.`);
  ask(absent, `Ask for ${absent}. One of its bits is not set: it was certainly never added.`);
  ask(
    wrong,
    `Ask for ${wrong}. It was never added, but others have set all of its bits: a false positive.`,
  );
  return steps;
}

function showSteps(steps) {
  const [columns, pitch, top] = [PICTURE_COLUMNS, 23, 78];
  const place = (bit) => [(bit % columns) * pitch, top + Math.floor(bit / columns) * pitch];
  const cells = Array.from({ length: SMALL_BITS }, (_, bit) => {
    const [x, y] = place(bit);
    return svg.rect({ x: x + 3, y: y + 3, width: 17, height: 17, rx: 3 });
  });
  const lines = svg.g();
  const name = svg.text({ x: 184, y: 24, "text-anchor": "middle", class: "key" });
  element("picture-drawing").replaceChildren(...cells, lines, name);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  let at = 0;
  let timer;

  function show(step) {
    at = step;
    const { set, bits = [], key = "", kind = "", words } = steps[at];
    cells.forEach((cell, bit) => {
      const isOne = set.includes(bit) ? "set" : "";
      const isProbe = bits.includes(bit) ? (kind === "added" ? "new" : "probe") : "";
      cell.setAttribute("class", ["bit", isOne, isProbe].filter(Boolean).join(" "));
    });
    name.textContent = key;
    lines.replaceChildren(
      ...bits.map((bit) => {
        const [x, y] = place(bit);
        const d = `M184,32 C184,56 ${x + 11.5},44 ${x + 11.5},${y + 3}`;
        return svg.path({ class: "ray", pathLength: 1, d });
      }),
    );
    element("picture-caption").textContent = words;
    element("picture-step").textContent = `${at + 1} of ${steps.length}`;
    // Not disabled: a button that is loses the focus.
    element("picture-back").ariaDisabled = String(at === 0);
    element("picture-next").ariaDisabled = String(at === steps.length - 1);
    if (at === steps.length - 1) pause();
  }

  function pause() {
    clearInterval(timer);
    timer = undefined;
    showPlay();
  }

  function showPlay() {
    const rests = at === steps.length - 1 ? "Play again" : "Play";
    element("picture-play").textContent = timer === undefined ? rests : "Pause";
  }

  function play() {
    if (at === steps.length - 1) show(0);
    timer = setInterval(() => show(at + 1), STEP_MILLISECONDS);
    showPlay();
  }

  const go = (change) => () => {
    show(Math.min(Math.max(at + change, 0), steps.length - 1));
    pause();
  };
  element("picture-back").addEventListener("click", go(-1));
  element("picture-next").addEventListener("click", go(1));
  element("picture-play").addEventListener("click", () =>
    timer === undefined ? play() : pause(),
  );
  still.addEventListener("change", pause);
  show(still.matches ? steps.length - 1 : 0);
  pause();
  if (!still.matches) play();
}
