// Files made in the page: the numbers as CSV with all digits, the data as JSON, the curves as SVG.
(function (he) {
  "use strict";

  const { element } = he;

  he.curveColumns = function (measure) {
    const { values, unit, km, kind } = he.data.scales, c = measure.curves;
    const columns = [{ key: kind, label: kind, unit: unit === "deg" ? "degrees" : unit, values }];
    for (const key of ["times", "angles", "resolutions", "divergence"]) {
      if (c[key] && c[key].some(he.known)) columns.push({ key, label: key, values: c[key], shown: false });
    }
    if (km) columns.push({ key: "km", label: "distance", unit: "km", values: km });
    columns.push({ key: "gess", label: "gESS", values: c.gess });
    const add = (key, label, list, shown) => { if (list) columns.push({ key, label, values: list, shown }); };
    add("maximum", "most possible", c.maximum);
    add("even", "gESS, equal weights", c.even, !measure.equal);
    add("places", "places", c.places && c.places.estimate);
    add("places_lower", "places, lower", c.places && c.places.lower, false);
    add("places_upper", "places, upper", c.places && c.places.upper, false);
    add("volume", "volume", c.volume);
    add("dimension", "dimension", c.dimension);
    add("mmd2", "squared MMD", c.mmd2);
    add("mmd2_uniform_mean", "uniform: mean", c.mmd2_null && c.mmd2_null.mean, false);
    add("mmd2_uniform_upper", "uniform: 95 %", c.mmd2_null && c.mmd2_null.upper, false);
    add("error", "relative error", c.error);
    return columns;
  };

  // A text cell that a spreadsheet would run as a formula gets a quote in front.
  const cell = (value) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  he.csv = function () {
    const keys = [...new Set(he.data.measures.flatMap((m) => he.curveColumns(m).map((column) => column.key)))];
    const lines = [["measure", ...keys].join(",")];
    for (const measure of he.data.measures) {
      const byKey = Object.fromEntries(he.curveColumns(measure).map((column) => [column.key, column.values]));
      he.data.scales.values.forEach((_, i) => lines.push([measure.name, ...keys.map((key) => (byKey[key] ? byKey[key][i] : null))].map(cell).join(",")));
    }
    return `${lines.join("\n")}\n`;
  };

  // Curves in a file of their own: the colours of the light theme, written into each element.
  const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "text-anchor", "paint-order"];
  function styledCopy(node) {
    const copy = node.cloneNode(true), from = [node, ...node.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((one, k) => {
      const style = getComputedStyle(from[k]);
      if (!["title", "desc"].includes(one.tagName)) for (const name of STYLES) one.setAttribute(name, style.getPropertyValue(name));
      one.removeAttribute("class");
    });
    return copy;
  }

  const written = (x, y, text, size, weight) => he.shape("text", { x, y, fill: he.colour("ink"), "font-family": "sans-serif", "font-size": size, "font-weight": weight }, text);
  function placed(node, x, y, width, height) {
    for (const [name, value] of Object.entries({ x, y, width, height })) node.setAttribute(name, value);
    return node;
  }

  // The entries of a legend, in lines that are not wider than *width*; returns the height that they take.
  function legendInto(out, chart, top, width) {
    let x = 20, y = top;
    for (const entry of chart.querySelectorAll(".legend li")) {
      const room = 46 + 7 * entry.textContent.length;
      if (x > 20 && x + room > width) { x = 20; y += 18; }
      out.append(placed(styledCopy(entry.querySelector("svg")), x, y - 9, 28, 10), written(x + 34, y, entry.textContent, 12, 400));
      x += room;
    }
    return x > 20 ? y - top + 18 : 0;
  }

  const titleOf = (chart) => [chart.querySelector("title"), chart.querySelector("h3 .under")].filter(Boolean).map((node) => node.textContent).join(", ");

  he.svg = function () {
    return he.inLight(() => {
      const charts = [...document.querySelectorAll(".chart")].filter((chart) => chart.querySelector("svg[role=img]"));
      const size = (chart) => chart.querySelector("svg[role=img]").viewBox.baseVal;
      const width = Math.max(...charts.map((chart) => size(chart).width)) + 40;
      const out = he.shape("svg", { xmlns: "http://www.w3.org/2000/svg" }), ground = he.shape("rect", { fill: he.colour("paper") });
      out.append(ground);
      let top = 0;
      for (const chart of charts) {
        out.append(written(20, top + 28, titleOf(chart), 16, 600));
        top += 48 + legendInto(out, chart, top + 50, width);
        out.append(placed(styledCopy(chart.querySelector("svg[role=img]")), 20, top, size(chart).width, size(chart).height));
        top += size(chart).height + 16;
      }
      placed(ground, 0, 0, width, top);
      for (const [name, value] of Object.entries({ width, height: top, viewBox: `0 0 ${width} ${top}` })) out.setAttribute(name, value);
      return new XMLSerializer().serializeToString(out);
    });
  };

  function save(text, type, name) {
    const address = URL.createObjectURL(new Blob([text], { type }));
    const link = element("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  he.downloads = function () {
    const make = (label, act) => {
      const button = element("button", { type: "button" }, label);
      button.addEventListener("click", act);
      return button;
    };
    return element("div", { class: "downloads", role: "group", "aria-label": "Downloads" },
      make("Curves as CSV", () => save(he.csv(), "text/csv;charset=utf-8", "heatess-curves.csv")),
      make("Everything as JSON", () => save(document.getElementById("heatess-data").textContent, "application/json", "heatess-report.json")),
      make("Figures as SVG", () => save(he.svg(), "image/svg+xml", "heatess-figures.svg")));
  };
})(heatess);
