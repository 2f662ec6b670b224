// What a screen reader and a keyboard need, and Material does not have yet.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
addEventListener("load", () => {
  for (const scrolled of document.querySelectorAll(".md-typeset__scrollwrap"))
    scrolled.tabIndex = 0;
});
