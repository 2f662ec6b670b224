// The page to try it in the colours that the reader chose on the site, where Material keeps them.
try {
  const chosen = localStorage.getItem(`${new URL(".", location).pathname}.__palette`);
  const scheme = { default: "light", slate: "dark" };
  const { media, scheme: name } = JSON.parse(chosen).color;
  if (media !== "(prefers-color-scheme)") document.documentElement.dataset.scheme = scheme[name];
} catch {
  // Nothing was chosen, so the system decides.
}
