// What a screen reader and a keyboard need, and Material does not have yet.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
addEventListener("load", () => {
  for (const scrolled of document.querySelectorAll(".md-typeset__scrollwrap"))
    scrolled.tabIndex = 0;
});

// The page to try it, in the colours that the reader chose here. What follows # is for it, too.
const frame = document.querySelector("#try");
if (frame !== null) {
  const show = () => {
    const { colorScheme } = getComputedStyle(document.body);
    // A page that was opened from a disk sees nothing of its frame.
    frame.contentDocument?.documentElement.style.setProperty("color-scheme", colorScheme);
  };
  frame.src = `page.html${location.hash}`;
  frame.addEventListener("load", show);
  new MutationObserver(show).observe(document.body, { attributes: true });
}
