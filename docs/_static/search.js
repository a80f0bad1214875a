// What a search result shows: the sentence that has the word, else the first one of the page; no code, formulas or menus.
(function () {
  "use strict";
  if (typeof Search === "undefined") return; // not the page of the search

  const LEFT_OUT = "h1, nav, .bd-header-article, .prev-next-footer, .headerlink, script, style, pre, .math, .sd-card, .sphx-glr-footer, .sphx-glr-timing, .admonition";
  const MOST = 240; // characters

  const sentences = (text) => text.replace(/\s+/g, " ").trim().match(/.+?[.!?:](?=\s+[A-Z0-9"*`]|$)|.+$/g) || [];
  const cut = (text) => (text.length <= MOST ? text : `${text.slice(0, text.lastIndexOf(" ", MOST))} …`);

  Search.makeSearchSummary = function (html, keywords) {
    const page = new DOMParser().parseFromString(html, "text/html"), main = page.querySelector("article") || page.querySelector('[role="main"]');
    if (!main) return null;
    for (const part of main.querySelectorAll(LEFT_OUT)) part.remove();
    const words = [...keywords].map((word) => word.toLowerCase());
    const all = [...main.querySelectorAll("p, li, dd, td")].filter((part) => !part.querySelector("p, li, dd")).flatMap((part) => sentences(part.textContent)).filter((text) => text.length > 30);
    if (!all.length) return null;
    const found = all.findIndex((text) => words.some((word) => text.toLowerCase().includes(word)));
    const from = Math.max(found, 0), summary = document.createElement("p");
    summary.classList.add("context");
    summary.textContent = cut(all[from].length < MOST / 2 && all[from + 1] ? `${all[from]} ${all[from + 1]}` : all[from]);
    return summary;
  };
})();
