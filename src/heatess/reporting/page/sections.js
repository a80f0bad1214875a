// The parts of the report that change with the scale or are drawn from the data.
(function (he) {
  "use strict";

  const { element, known } = he;
  const several = () => he.data.measures.length > 1;
  const has = (values) => Array.isArray(values) && values.some(known);

  he.part = (id, title, lead, ...children) =>
    element("section", { class: "part", id, "aria-labelledby": `${id}-h` }, element("h2", { id: `${id}-h` }, title), lead ? element("p", { class: "lead" }, lead) : null, ...children);

  // ---- The slider, with the answer beside it

  he.scaleBar = function () {
    const { values } = he.data.scales, id = he.id("scale");
    const input = element("input", { type: "range", id, min: 0, max: values.length - 1, step: 1, value: he.state.index });
    const now = element("span", { class: "now" });
    const answers = he.data.measures.map((measure, k) => ({
      measure, big: element("span", { class: "big" }), of: element("span", { class: "of" }), hue: he.hue(k),
    }));
    const update = () => {
      const i = he.state.index, value = he.scaleNow();
      input.value = i;
      now.replaceChildren(he.scaleText(value), he.onEarth() ? element("small", {}, ` ${he.scaleBeside(value)}`) : "");
      for (const { measure, big, of } of answers) {
        big.textContent = he.number(measure.curves.gess[i]);
        const most = measure.curves.maximum && measure.curves.maximum[i];
        of.textContent = several() ? measure.name : `${he.separate()}${known(most) ? `; room for ${he.number(most)}` : ""}`;
        if (several()) of.title = measure.name;
      }
      const heard = answers.map(({ measure }) => `${several() ? `${measure.name}: ` : ""}${he.number(measure.curves.gess[i])} ${he.separate()}`);
      input.setAttribute("aria-valuetext", `${he.spoken(value)}. ${heard.join("; ")}`);
    };
    input.addEventListener("input", () => he.setScale(Number(input.value)));
    he.on("scale", update);
    update();
    const end = (index) => element("span", { class: "end", "aria-hidden": "true" }, he.scaleText(values[index]), he.onEarth() ? element("small", {}, he.scaleBeside(values[index])) : null);
    return element("div", { class: "scalebar", role: "group", "aria-label": "Scale of the whole report" }, element("div", { class: "wide" },
      element("label", { for: id }, element("span", { class: "name" }, `${he.scaleName()[0].toUpperCase()}${he.scaleName().slice(1)}`), now),
      element("div", { class: "middle" }, element("div", { class: "slide" }, end(0), input, end(values.length - 1)), chips()),
      element("div", { class: `answer${answers.length > 2 ? " many" : ""}` }, answers.map(({ big, of, hue }) => element("div", { class: `b${hue}` }, big, of)))));
  };

  // Buttons for round scales, and for modes: the middle of the range over which they are seen.
  function chips() {
    const { buttons = [], values } = he.data.scales, [first] = he.data.measures;
    const rows = buttons.map((row) => [row, he.scaleText(values[row])]);
    for (const one of several() || !first.modes ? [] : first.modes.plateaus || []) rows.push([he.nearestScale(Math.sqrt(one.finest * one.coarsest)), groups(one.count)]);
    if (rows.length < 2) return null;
    const made = rows.map(([row, text]) => {
      const button = element("button", { type: "button", "data-row": row }, text);
      button.addEventListener("click", () => he.setScale(row));
      return button;
    });
    const mark = () => made.forEach((button) => button.setAttribute("aria-pressed", String(Number(button.dataset.row) === he.state.index)));
    he.on("scale", mark);
    mark();
    return element("div", { class: "chips", role: "group", "aria-label": "Scales to go to" }, made);
  }

  // ---- Readings at the scale

  const ROWS = [
    ["gESS", (m, i) => he.number(m.curves.gess[i])],
    ["room for, at this scale", (m, i) => m.curves.maximum && he.number(m.curves.maximum[i])],
    ["with equal weights", (m, i) => (m.equal ? null : m.curves.even && he.number(m.curves.even[i]))],
    ["places of the distribution, for independent draws", (m, i) => m.curves.places && interval(m.curves.places, i)],
    ["ordinary ESS, from weights alone", (m) => he.number(m.ess)],
    ["atoms (n)", (m) => he.count(m.n)],
    ["occupied share of the space", (m, i) => m.curves.volume && percent(m.curves.volume[i])],
    ["dimension at this scale", (m, i) => m.curves.dimension && he.number(rounded(m.curves.dimension[i]), 2)],
    ["squared MMD to uniform", (m, i) => m.curves.mmd2 && he.number(m.curves.mmd2[i])],
    ["certified relative error of gESS", (m, i) => (m.certified ? m.curves.error && he.number(m.curves.error[i], 2) : null)],
    ["estimated relative error of gESS", (m, i) => (m.certified ? null : m.curves.error && he.number(m.curves.error[i], 2))],
  ];
  const rounded = (value) => (known(value) && Math.abs(value) < 1e-9 ? 0 : value); // rounding of the profile
  const percent = (value) => (known(value) ? `${he.number(100 * value)} %` : "–");
  function interval({ estimate, lower, upper }, i) {
    if (!known(estimate[i])) return "–";
    if (!known(lower[i]) && !known(upper[i])) return he.number(estimate[i]);
    return [he.number(estimate[i]), element("small", {}, ` ${he.number(lower[i])} to ${he.number(upper[i])}`)];
  }

  he.readings = function () {
    const measures = he.data.measures;
    const caption = element("caption", { class: "hidden" });
    const rows = ROWS.filter(([, read]) => measures.some((m) => read(m, he.state.index))).map(([label, read]) => ({
      read, row: element("tr", {}, element("th", { scope: "row" }, label === "gESS" ? `gESS: ${he.separate()}` : he.said(label))), cells: measures.map(() => element("td", {})),
    }));
    rows.forEach(({ row, cells }) => row.append(...cells));
    const update = () => {
      const i = he.state.index;
      caption.textContent = `Readings at ${he.scaleWhole(he.scaleNow())}`;
      for (const { read, cells } of rows) cells.forEach((cell, k) => cell.replaceChildren(...[read(measures[k], i) || "–"].flat()));
    };
    he.on("scale", update);
    update();
    const head = several()
      ? element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "At this scale"), measures.map((m) => element("th", { scope: "col" }, m.name))))
      : null;
    const table = element("table", { class: "readings" }, caption, head, element("tbody", {}, rows.map(({ row }) => row)));
    return several() ? scrolled("Readings at this scale", "sideways", table) : table;
  };

  // ---- Curves

  const scaleAxis = (values) => ({ values: values.map(he.inReadersUnit), log: true, label: he.scaleLabel() });
  const tipTitle = (values) => (i) => he.scaleWhole(values[i]);
  const linked = (spec) => he.chart({ x: scaleAxis(he.data.scales.values), linked: true, tipTitle: tipTitle(he.data.scales.values), ...spec });

  const overlay = (key, extra) => he.data.measures.map((m, k) => ({
    name: m.name, key: several() ? `${key}-${k}` : key, values: m.curves[key] || [], hue: he.hue(k), dash: several() ? he.dash(k) : "", main: true, ...(extra ? extra(m, k) : {}),
  })).filter((one) => has(one.values));

  function gessCurve() {
    const [first] = he.data.measures, series = overlay("gess"), levels = [];
    const most = he.data.measures.find((m) => has(m.curves.maximum));
    if (!several()) {
      series[0].name = "gESS";
      const { places, even } = first.curves;
      if (even && has(even) && !first.equal) series.push({ name: "gESS if weights were equal", short: "equal weights", values: even, hue: 1, dash: "8 4" });
      if (places && has(places.estimate)) series.push({ name: "places", values: places.estimate, hue: 2, dash: "2 3", band: has(places.lower) ? { lower: places.lower, upper: places.upper, name: "95 % band" } : null });
      const same = Math.abs(first.n - first.ess) < 0.005 * first.n;
      levels.push({ value: first.ess, label: same ? `n = ESS = ${he.count(first.n)}` : `ESS = ${he.number(first.ess)}` });
      if (!same) levels.push({ value: first.n, label: `n = ${he.count(first.n)}` });
    }
    if (most) series.push({ name: "room for", short: "room for", values: most.curves.maximum, hue: 9, dash: "9 3 2 3" });
    const plateaus = several() || !first.modes ? [] : first.modes.plateaus || [];
    return linked({
      name: "gess", title: he.separate()[0].toUpperCase() + he.separate().slice(1), under: "gESS", y: { log: true, most: 4 * Math.max(...he.data.measures.map((m) => m.n)) }, series, levels, height: several() ? 360 : null,
      spans: plateaus.map((one) => ({ from: he.inReadersUnit(one.finest), to: he.inReadersUnit(one.coarsest), label: groups(one.count) })),
      caption: limitText(),
    });
  }

  const groups = (count) => (Math.abs(count - Math.round(count)) < 0.05 || count < 1 ? `${Math.round(count)} ${Math.round(count) === 1 ? "mode" : "modes"}` : `about ${he.number(count, 2)} modes`);

  function limitText() {
    const [first] = he.data.measures, parts = [];
    if (!several() && first.modes && first.modes.sentence) parts.push(first.modes.sentence);
    if (!several() && known(first.resolution_limit)) parts.push(he.said(`Below ${he.scaleWhole(first.resolution_limit)} there are too few atoms, and gESS mostly counts them.`));
    return parts.join(" ");
  }

  he.explorer = function () {
    const views = element("div", { class: "views" }, he.data.measures.map((m, k) => he.view(m, k, several())));
    const seen = he.data.measures.some((m) => m.view && m.view.kind !== "none"), wide = several() || !seen;
    const turning = he.data.measures.some((m) => m.view && ["globe", "hemisphere", "ball", "solid", "surface"].includes(m.view.kind));
    const right = element("div", { class: he.data.measures.length > 3 ? "stack" : wide ? "pair" : null }, gessCurve(), he.readings());
    const grid = element("div", { class: `explorer${wide ? " many" : ""}` }, ...(seen ? [views, right] : [right, views]));
    return he.part("cloud", several() ? "The clouds and their curves" : "The cloud and its curve", `Move the slider above, or click in a curve: picture, curves and readings follow.${turning ? " Drag a picture to turn it." : ""}`, grid, small());
  };

  function small() {
    const charts = [];
    const volume = overlay("volume"), dimension = overlay("dimension"), mmd2 = overlay("mmd2");
    if (volume.length) charts.push(linked({ name: "volume", title: "Occupied share of the space", y: { log: true, deepest: 1e8, to: 1 }, series: volume, height: 240, legendUnder: true }));
    if (dimension.length) charts.push(linked({ name: "dimension", title: "Dimension", under: "how fast gESS falls with the scale", y: { log: false, from: 0, reach: 0.5 }, series: dimension, height: 240, legendUnder: true }));
    if (mmd2.some((one) => one.values.some((value) => known(value) && value > 0))) {
      const [first] = he.data.measures, none = !several() && first.curves.mmd2_null;
      if (none) {
        mmd2[0].name = "this cloud";
        mmd2.push({ name: "uniform points: mean", short: "uniform: mean", values: none.mean, hue: 9, dash: "8 4" });
        mmd2.push({ name: "uniform: 95 %", short: "uniform: 95 %", values: none.upper, hue: 9, dash: "2 3" });
      }
      charts.push(linked({ name: "mmd2", title: "Distance from uniform", under: "squared MMD", y: { log: true, most: 1e4, deepest: 1e8 }, series: mmd2, height: 240, legendUnder: true }));
    }
    for (const chart of charts) {
      if (several()) for (const legend of chart.querySelectorAll(".legend")) legend.remove();
    }
    return charts.length ? element("div", { class: "small" }, charts) : null;
  }

  // ---- Power spectrum and maximum-entropy shares

  he.spectra = function () {
    const charts = he.data.measures.map((m, k) => [m.spectrum && spectrum(m, k), m.maximum_entropy && shares(m, k)]).flat().filter(Boolean);
    if (!charts.length) return null;
    return he.part("spectrum", "Structure, degree by degree", "Low degrees are coarse structure, high degrees are fine. Energy above the dashed line is more than chance gives to independent uniform points.", element("div", { class: "pair" }, charts));
  };

  function spectrum(measure, k) {
    const { degrees, energies, multiplicities, names } = measure.spectrum;
    const from = degrees.findIndex((degree) => degree >= 1), d = degrees.slice(from), e = energies.slice(from);
    const expected = multiplicities.slice(from).map((count) => count / measure.ess);
    return he.chart({
      name: "spectrum", title: "Power spectrum", under: several() ? measure.name : "", height: 280,
      x: { values: d, log: false, label: "degree", edges: [0.5, d[d.length - 1] + 0.5] }, y: { log: true, deepest: 1e8 },
      series: [{ name: "energy", values: e, hue: he.hue(k), main: true, dots: d.length <= 60 }, { name: "independent uniform points", short: "uniform", values: expected, hue: 9, dash: "8 4" }],
      caption: Object.entries(names || {}).map(([degree, name]) => `Degree ${degree}: ${name}.`).join(" "),
      tipTitle: (i) => `degree ${d[i]}${(names || {})[String(d[i])] ? `: ${names[String(d[i])]}` : ""}`,
    });
  }

  function shares(measure, k) {
    const { degrees, shares: parts, beyond, scale, order } = measure.maximum_entropy;
    const labels = degrees.map(String), values = [...parts];
    if (known(beyond)) { labels.push(`> ${degrees[degrees.length - 1]}`); values.push(beyond); }
    const x = values.map((_, i) => i + 0.5);
    const spec = {
      name: "shares", title: "Maximum-entropy shares", under: several() ? measure.name : "", height: 280,
      x: { values: x, log: false, label: "degree", edges: [0, values.length], texts: labels }, y: { log: false, from: 0, to: Math.min(1, 1.1 * Math.max(...values.filter(known))) },
      series: [{ name: "share", values, steps: values.map((_, i) => i).concat(values.length), hue: he.hue(k) }],
      tip: (i) => [["share", `${he.number(100 * values[i])} %`]], tipTitle: (i) => `degree ${labels[i]}`,
      desc: `Shares by degree: ${labels.map((label, i) => `${label}: ${he.number(100 * values[i])} %`).join(", ")}.`,
      caption: `How much of the departure from uniform, at ${scale}, each degree explains.${known(order) ? ` The data support degrees up to ${order} (BIC).` : ""}`,
    };
    return he.chart(spec);
  }

  // ---- Atoms

  he.atoms = function () {
    const tables = [], notes = [...new Set(he.data.measures.map((m) => m.atoms && m.atoms.note).filter(Boolean))].map((note) => ` ${note}`).join("");
    const at = he.data.measures.map((m) => m.atoms && m.atoms.scale).find(Boolean);
    let weighted = false;
    for (const measure of he.data.measures) {
      const atoms = measure.atoms;
      if (!atoms) continue;
      const name = several() ? `: ${measure.name}` : "";
      weighted ||= !measure.equal;
      for (const [title, rows] of [["Heaviest", measure.equal ? [] : atoms.heaviest], ["Most redundant", atoms.redundant], ["Stand alone", atoms.alone]]) {
        if ((rows || []).length) tables.push(atomTable(`${title}${name}`, rows, !measure.equal));
      }
    }
    if (!tables.length) return null;
    const told = `${weighted ? "The weight is a share of the whole. " : ""}Redundancy is the share of the heat at an atom that comes from the others: at 0 it stands alone, near 1 the others say the same.`;
    return he.part("atoms", he.said("Single atoms"), he.said(told) + (at ? ` It is taken at ${at}.` : "") + notes, element("div", { class: "pair" }, tables));
  };

  function atomTable(title, rows, weighted) {
    const shown = { name: rows.some((row) => row.name), copies: rows.some((row) => row.copies > 1), weight: weighted };
    const columns = [["row", "Row", he.count], ["name", "Name", String], ["place", "Place", String], ["copies", "Copies", he.count], ["weight", "Weight", he.number], ["redundancy", "Redundancy", he.share]]
      .filter(([key]) => shown[key] !== false);
    const text = (key) => ({ place: "text", name: "text name" })[key] || null;
    return scrolled(title, "scroll low", element("table", { class: "data" }, element("caption", {}, title),
      element("thead", {}, element("tr", {}, columns.map(([key, label]) => element("th", { scope: "col", class: text(key) }, label)))),
      element("tbody", {}, rows.map((row) => element("tr", {}, columns.map(([key, , as], k) => element(k ? "td" : "th", { scope: k ? null : "row", class: text(key) },
        row[key] === "" || row[key] === null || row[key] === undefined ? "–" : as(row[key]))))))));
  }

  // A table that may be wider than its place: shadows show where there is more, and a line says so.
  function scrolled(title, kind, table) {
    const box = element("div", { class: kind, tabindex: 0, role: "region", "aria-label": title }, table), hint = element("p", { class: "hint", hidden: true }, "The table goes on to the right: scroll it sideways.");
    new ResizeObserver(() => { hint.hidden = box.scrollWidth <= box.clientWidth + 1; }).observe(box);
    return element("div", {}, box, hint);
  }

  // ---- Comparison

  he.comparison = function () {
    const found = [he.data.comparison].flat().filter(Boolean);
    if (!found.length) return null;
    return he.part("comparison", "Are they the same?", null, found.map((one) => element("div", {}, one.title ? element("h3", {}, one.title) : null, element("p", {}, one.verdict), element("div", { class: "pair" }, comparisonCharts(one)))));
  };

  function comparisonCharts(one) {
    const x = scaleAxis(one.scales), title = tipTitle(one.scales), dots = one.scales.length <= 40, charts = [];
    if (has(one.statistics)) {
      const at = known(one.clearest) ? one.scales[one.clearest] : null, where = at === null ? "" : ` Clearest at ${he.scaleWhole(at)}, where it is largest.`;
      charts.push(he.chart({
        name: "clearness", title: "How clear the difference is", under: "in standard deviations of chance", height: 280, x, y: { log: false },
        series: [{ name: "above chance", values: one.statistics, hue: 1, main: true, dots }], tipTitle: title, marks: at === null ? [] : [{ at: he.inReadersUnit(at), label: "clearest" }],
        levels: [{ value: 0, label: "what chance gives on average" }],
        tip: (i) => [["standard deviations", he.number(one.statistics[i])], ["p-value", pvalue(one, i)]],
        caption: `The largest distance over all scales, in standard deviations of ${known(one.draws) ? he.count(one.draws) : "random"} relabellings, makes the p-value: ${one.said || `p = ${he.number(one.pvalue, 2)}`}.${where}`,
      }));
    }
    charts.push(he.chart({
      name: "comparison", title: "Distance between the clouds", under: "squared MMD", height: 280, x, tipTitle: title, y: { log: true, deepest: 1e8 },
      series: [{ name: "squared MMD", values: one.mmd2, hue: 0, main: true, dots }],
      tip: (i) => [["squared MMD", he.number(one.mmd2[i])], ...(has(one.pvalues) ? [["p-value", pvalue(one, i)]] : [])],
    }));
    return charts;
  }

  // At the floor of the draws a p-value is at most what is shown.
  const pvalue = (one, i) => { const p = (one.pvalues || [])[i]; return (known(p) && known(one.draws) && p * (one.draws + 1) < 1.001 ? "≤ " : "") + he.number(p, 2); };

  // ---- The table of all numbers

  he.tables = function () {
    const given = [he.data.table].flat().filter((table) => table && table.rows);
    const own = given.length ? given : he.data.measures.map((m) => m.table).filter(Boolean);
    const tables = own.length ? own : he.data.measures.map(fromCurves);
    const nodes = tables.map((table, k) => dataTable(table, table.caption || table.name || (he.data.measures.length === tables.length ? he.data.measures[k].name : "All scales")));
    return he.part("table", "All numbers", null, element("details", { open: true }, element("summary", {}, "One row per scale"), element("div", { class: "stack" }, nodes)), he.downloads());
  };

  function fromCurves(measure) {
    const wide = he.curveColumns(measure).filter((column) => column.shown !== false);
    return { columns: wide, rows: he.data.scales.values.map((_, i) => wide.map((column) => column.values[i])) };
  }

  function dataTable(table, title) {
    const body = table.rows.map((row, i) => element("tr", { "data-scale": table.rows.length === he.data.scales.values.length ? i : null },
      row.map((cell, j) => element(j ? "td" : "th", { scope: j ? null : "row", class: typeof cell === "string" ? "text" : null }, typeof cell === "number" || cell === null ? he.number(cell, 4) : String(cell)))));
    const mark = () => body.forEach((row, i) => row.classList.toggle("now", row.dataset.scale === String(he.state.index) && i === he.state.index));
    he.on("scale", mark);
    mark();
    return scrolled(`Table: ${title}`, "scroll", element("table", { class: "data" }, element("caption", {}, title),
      element("thead", {}, element("tr", {}, table.columns.map((column) => element("th", { scope: "col" }, column.label + (column.unit ? ` (${column.unit})` : ""))))), element("tbody", {}, body)));
  }
})(heatess);
