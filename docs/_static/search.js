// What a search result shows: the sentence that has the word, else the first one of the page; no code, formulas or menus.
(function () {
  "use strict";
  if (typeof Search === "undefined") return; // not the page of the search

  const LEFT_OUT = "h1, nav, .bd-header-article, .prev-next-footer, .headerlink, script, style, pre, .math, dt.sig, .sd-card, .sphx-glr-footer, .sphx-glr-timing, .admonition";
  const SHORTEST = 30, LONGEST = 240; // characters of a sentence, and of all that is shown

  const plain = (part) => part.textContent.replace(/\s+/g, " ").trim();
  const text = (part) => (part.tagName === "TR" ? [...part.cells].map(plain).filter(Boolean).join(": ") : plain(part));
  const sentences = (whole) => (whole.match(/.+?[.!?:](?=\s+[A-Z0-9"*`(]|$)|.+$/g) || []).filter((one) => one.trim().length > SHORTEST);
  const cut = (whole) => (whole.length <= LONGEST ? whole : `${whole.slice(0, whole.lastIndexOf(" ", LONGEST))} …`);

  Search.makeSearchSummary = function (html, keywords) {
    const page = new DOMParser().parseFromString(html, "text/html"), main = page.querySelector("article") || page.querySelector('[role="main"]');
    if (!main) return null;
    for (const part of main.querySelectorAll(LEFT_OUT)) part.remove();
    const words = [...keywords].map((word) => word.toLowerCase()), has = (one) => words.some((word) => one.toLowerCase().includes(word));
    const parts = [...main.querySelectorAll("p, li, dd, tr")].filter((part) => !part.querySelector("p, li, dd, tr") && (part.tagName === "TR" || !part.closest("tr")));
    const all = parts.map((part) => sentences(text(part))).filter((some) => some.length);
    if (!all.length) return null;
    const best = all.find((some) => some.some(has)) || all[0], from = Math.max(best.findIndex(has), 0);
    const summary = document.createElement("p");
    summary.classList.add("context");
    summary.textContent = cut(best.slice(from, from + 3).join(" "));
    return summary;
  };
})();
