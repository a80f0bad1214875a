// Puts the page together.
(function (he) {
  "use strict";

  const root = document.documentElement;
  const wanted = window.matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;

  const theme = () => chosen || (wanted.matches ? "dark" : "light");
  function show(name) {
    root.dataset.theme = name;
    he.tell("theme");
  }

  // What is printed or saved is light, whatever is on the screen.
  he.inLight = function (act) {
    const before = root.dataset.theme;
    root.dataset.theme = "light";
    try {
      return act();
    } finally {
      root.dataset.theme = before;
    }
  };

  function themes() {
    const button = document.getElementById("theme");
    const label = () => (button.textContent = theme() === "dark" ? "Light colours" : "Dark colours");
    const follow = () => { show(theme()); label(); };
    button.hidden = false;
    button.addEventListener("click", () => { chosen = theme() === "dark" ? "light" : "dark"; follow(); });
    wanted.addEventListener("change", follow);
    window.addEventListener("beforeprint", () => {
      for (const details of document.querySelectorAll("details")) details.open = true;
      show("light");
    });
    window.addEventListener("afterprint", follow);
    follow();
  }

  function navigation() {
    const names = { verdict: "Verdict", cloud: "Cloud", mass: "Mass", spectrum: "Structure", comparison: "Comparison", atoms: he.said("Atoms"), table: "Numbers", methods: "Methods", provenance: "Provenance" };
    document.getElementById("parts").append(...Object.entries(names).filter(([id]) => document.getElementById(id)).map(([id, text]) => link(id, text)));
  }

  // Links within the page leave the scale in the address.
  function link(id, text) {
    const made = he.element("a", { href: `#${id}` }, text);
    made.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById(id).scrollIntoView();
    });
    return made;
  }

  // Headline and sentences are those of the slider's scale, on the screen and on paper.
  function following() {
    const { texts, rows } = he.data.verdict.follows || {}, headline = document.getElementById("headline"), said = document.querySelector(".said");
    if (!rows) return;
    const caveat = said.querySelector(".caveat");
    const update = () => {
      const [first, ...rest] = rows[he.state.index].map((k) => texts[k]);
      headline.textContent = first.replace(/(\d) (?=km|%)/g, "$1\u00a0");
      said.replaceChildren(...rest.map((text) => he.element("p", {}, text)), ...(caveat ? [caveat] : []));
    };
    he.on("scale", update);
    update();
  }

  he.data = he.readJson("heatess-data");
  if (he.data.measures.length && he.data.scales) {
    he.state.index = Math.max(0, Math.min(he.data.scales.values.length - 1, he.data.scales.start || 0));
    const turned = he.data.measures.map((measure) => measure.view).find((view) => view && view.dims === 3 && he.painters[view.kind]);
    he.first = turned ? he.firstLook(turned) : { yaw: 0, pitch: 0 };
    Object.assign(he.state, he.first);
    he.address();
    themes();
    following();
    const body = he.element("div", { class: "wide" }, he.explorer(), he.comparison(), he.mass(), he.spectra(), he.atoms(), he.tables());
    document.getElementById("app").append(he.scaleBar(), body);
    navigation();
  }
})(heatess);
