// The page to try it in the colours that the reader chose on the site, where Material keeps them,
// with the site's switch for them, and a link to its search.
{
  const place = `${new URL(".", location).pathname}.__palette`;
  // As in mkdocs.yml: what a palette is for, its name there and here, and the words of the switch.
  const palettes = [
    ["(prefers-color-scheme)", "default", "", "Switch to light"],
    ["(prefers-color-scheme: light)", "default", "light", "Switch to dark"],
    ["(prefers-color-scheme: dark)", "slate", "dark", "As the system has it"],
  ];
  let chosen = 0;
  try {
    const { media } = JSON.parse(localStorage.getItem(place)).color;
    chosen = Math.max(0, palettes.findIndex(([each]) => each === media));
  } catch {
    // Nothing was chosen, so the system decides.
  }

  const palette = document.createElement("button");
  palette.type = "button";
  const show = () => {
    document.documentElement.dataset.scheme = palettes[chosen][2];
    palette.textContent = palettes[chosen][3];
  };
  palette.addEventListener("click", () => {
    chosen = (chosen + 1) % palettes.length;
    show();
    const [media, scheme] = palettes[chosen];
    const color = { media, scheme, primary: "custom", accent: "custom" };
    localStorage.setItem(place, JSON.stringify({ index: chosen, color }));
  });
  show();

  addEventListener("DOMContentLoaded", () => {
    const search = document.createElement("a");
    search.href = "index.html?q="; // Material opens its search for q
    search.textContent = "Search";
    document.querySelector("#bar p").append(search, palette);
  });
}
