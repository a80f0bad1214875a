// Where the mass is: the scale that the data support, a map with the edges of regions, and a table of them.
(function (he) {
  "use strict";

  const { element } = he;
  const DECADES = 2; // below the largest density that have a colour of their own

  he.mass = function () {
    const told = he.data.measures.filter((measure) => measure.mass);
    if (!told.length) return null;
    const several = he.data.measures.length > 1;
    return he.part("mass", "Where the mass is", null, told.map((measure) => {
      const { sentence, notes, regions, map } = measure.mass, curve = crossValidation(measure.mass);
      const said = element("p", { class: "lead" }, he.said(sentence.replace("points", "atoms")), ...notes.map((note) => ` ${note}`));
      const side = element("div", { class: "stack" }, table(regions), curve);
      const picture = !map ? null : map.layout === "circle" ? line(map) : drawn(map, measure.mass.unit);
      return element("div", {}, several ? element("h3", {}, measure.name) : null, said, element("div", { class: picture ? "pair" : null }, picture, side));
    }));
  };

  const EXPLAINED = {
    error: "±: the standard error of the area, a tenth of the points left out in turn.",
    held: "Holds: how much of the distribution behind the sample is in the region, found by leaving each point out.",
  };

  function table({ columns, rows, calibrated }) {
    const note = columns.map(({ key }) => EXPLAINED[key]).filter(Boolean).join(" ");
    const title = calibrated ? "Calibrated regions: each holds its share of the distribution" : "The smallest regions that hold a share of the mass";
    return element("div", {}, element("div", { class: "sideways", tabindex: 0, role: "region", "aria-label": title }, element("table", { class: "data" }, element("caption", {}, title),
      element("thead", {}, element("tr", {}, columns.map(({ label, unit }) => element("th", { scope: "col" }, label + (unit ? ` (${unit})` : ""))))),
      element("tbody", {}, rows.map((row) => element("tr", {}, row.map((cell, j) => element(j ? "td" : "th", { scope: j ? null : "row" }, typeof cell === "string" ? cell : he.number(cell)))))))), note ? element("p", { class: "note" }, he.said(note.replace(/point/g, "atom"))) : null);
  }

  function crossValidation({ curve, unit }) {
    if (!curve || !curve.values.some(he.known)) return null;
    const from = curve.values.findIndex(he.known), scales = curve.scales.slice(from);
    const earth = unit === "deg" && he.onEarth(), shown = (value) => (earth ? he.inReadersUnit(value) : value), named = earth ? "km" : unit;
    return he.chart({
      name: "cv", title: "Cross-validated error", under: "squared error, less that of uniform", height: 220,
      x: { values: scales.map(shown), log: true, label: `scale${named === "deg" ? " (degrees)" : named ? ` (${named})` : ""}` }, y: { log: false },
      series: [{ name: "error", values: curve.values.slice(from), hue: 0, main: true }],
      tipTitle: (i) => he.inUnit(shown(scales[i]), named),
      spans: [{ from: shown(Math.min(curve.lower, curve.chosen / 1.03)), to: shown(Math.max(curve.upper, curve.chosen * 1.03)), label: he.inUnit(shown(curve.chosen), named) }],
      caption: "Lowest at the scale that is used; the shaded range is as good within one standard error.",
    });
  }

  function line(map) {
    return he.chart({
      name: "mass", title: "Density", under: map.relative ? "in multiples of the uniform one" : "", height: 300,
      x: { values: map.angles, log: false, label: "angle (degrees)" }, y: { log: false, from: 0 },
      series: [{ name: "density", values: map.density, hue: 0, main: true }],
      levels: map.levels.map(({ label, log }) => ({ value: 10 ** log, label })),
      caption: "Regions are where the curve is above their line.",
    });
  }

  // ---- Maps: the logarithm of the density at each pixel, and where it crosses the threshold of a region

  // From a pixel to shares of the height and width of the grid; null outside the picture.
  function placing(map, width, height) {
    if (map.layout !== "lonlat") return (px, py) => [(py + 0.5) / height, (map.sky ? width - px - 0.5 : px + 0.5) / width];
    const sign = map.sky ? -1 : 1, middle = map.frame === "icrs" ? 0.5 : 0;
    return function (px, py) {
      const sine = 1 - (2 * (py + 0.5)) / height;
      const a = Math.asin(sine), lat = Math.asin((2 * a + Math.sin(2 * a)) / Math.PI);
      const turn = (sign * ((px + 0.5) / width - 0.5)) / Math.cos(a);
      return Math.abs(turn) > 0.5 ? null : [0.5 - lat / Math.PI, (((turn + middle + 0.5) % 1) + 1) % 1];
    };
  }

  function paint(map, canvas, width, height, ratio) {
    const context = canvas.getContext("2d"), image = context.createImageData(width, height), pixels = new Uint32Array(image.data.buffer);
    const ramp = he.ramp(), at = placing(map, width, height), logs = new Float32Array(width * height).fill(-Infinity), around = map.layout === "lonlat";
    const grid = { bytes: (map.bytes ||= he.bytes(map.values)), rows: map.rows, columns: map.columns };
    for (let py = 0; py < height; py++) {
      for (let px = 0; px < width; px++) {
        const place = at(px, py);
        if (place) logs[px + width * py] = map.least + (he.sampled(grid, ...place, around) / 255) * (map.most - map.least);
      }
    }
    const low = Math.max(map.least, map.most - DECADES), across = Math.max(map.most - low, 0.3), edge = he.pack(he.rgb("ink"));
    const holds = (log) => map.levels.filter((level) => log >= level.log).length, reach = Math.max(1, Math.round(0.7 * ratio));
    for (let py = 0; py < height; py++) {
      for (let px = 0; px < width; px++) {
        const i = px + width * py, log = logs[i];
        if (!Number.isFinite(log)) continue;
        pixels[i] = ramp[Math.max(0, Math.min(255, Math.round((255 * (log - low)) / across)))];
        const inside = holds(log);
        for (const [dx, dy] of [[reach, 0], [0, reach]]) {
          const near = px + dx < width && py + dy < height ? logs[i + dx + width * dy] : -Infinity;
          if (Number.isFinite(near) && holds(near) !== inside) pixels[i] = edge;
        }
      }
    }
    context.putImageData(image, 0, 0);
    if (map.layout === "lonlat") lines(map, context, width, height, ratio);
    labels(map, context, logs, width, height, ratio);
  }

  // Each region is named once: above its highest place, or below its lowest one if that is at the rim.
  function labels(map, context, logs, width, height, ratio) {
    const rim = Math.round(14 * ratio), side = Math.round(20 * ratio);
    const first = (log, from, to, step) => {
      for (let py = from; py !== to; py += step) {
        for (let px = side; px < width - side; px++) if (logs[px + width * py] >= log) return [px, py];
      }
      return null;
    };
    for (const { label, log } of map.levels) {
      const top = first(log, 0, height, 1), low = top && top[1] < rim, place = low ? first(log, height - 1, -1, -1) : top;
      if (place) he.text(context, label, place[0], Math.min(place[1] + (low ? 9 : -8) * ratio, height - 9 * ratio), ratio, { size: 11, colour: "ink" });
    }
  }

  function lines(map, context, width, height, ratio) {
    const middle = map.frame === "icrs" ? Math.PI : 0, sign = map.sky ? -1 : 1;
    for (const [list, opacity] of [[he.graticule(), 0.18], [map.coast ? he.coastlines() : [], 0.5]]) {
      context.beginPath();
      for (const one of list) {
        let before = null;
        for (let k = 0; k < one.length; k += 3) {
          const place = he.mollweideOf(one[k], one[k + 1], one[k + 2], middle, sign), x = (width * (place[0] + 2)) / 4, y = (height * (1 - place[1])) / 2;
          if (before && Math.abs(before[0] - place[0]) < 0.8) context.lineTo(x, y); else context.moveTo(x, y);
          before = place;
        }
      }
      context.lineWidth = 0.8 * ratio;
      context.strokeStyle = he.colour("ink");
      context.globalAlpha = opacity;
      context.stroke();
      context.globalAlpha = 1;
    }
  }

  function drawn(map, unit) {
    const canvas = element("canvas", { role: "img", "aria-label": `Map of the density, with the edges of regions: ${map.levels.map((level) => level.label).join(", ")}` });
    const host = element("figure", { class: "chart masspicture" }, element("h3", {}, "Density", " ", element("span", { class: "under" }, map.relative ? "in multiples of the uniform one" : "per unit of area")), canvas, element("figcaption", {}, caption(map, unit)));
    const shape = map.layout === "lonlat" ? 0.5 : map.layout === "patch" ? 1 : map.half[1] / map.half[0];
    const draw = he.once(() => {
      const ratio = window.devicePixelRatio || 1, wide = Math.min(host.clientWidth, shape > 0.8 ? 420 : 900);
      if (wide < 40) return;
      const width = Math.round(wide * ratio), height = Math.round(wide * shape * ratio);
      canvas.width = width;
      canvas.height = height;
      canvas.style.width = `${wide}px`;
      paint(map, canvas, width, height, ratio);
    });
    new ResizeObserver(draw).observe(host);
    he.on("theme", draw);
    return host;
  }

  function caption(map) {
    const range = `Colours from ${he.number(10 ** Math.max(map.least, map.most - DECADES))} to ${he.number(10 ** map.most)}; lines are the edges of the regions that hold ${map.levels.map((level) => level.label).join(" and ")}.`;
    if (map.layout === "lonlat") return `Mollweide's map: equal areas are equal.${map.sky ? " East is to the left." : ""} ${range}`;
    if (map.layout === "patch") {
      const [x, y, z] = map.centre, lon = ((Math.atan2(y, x) * 180) / Math.PI + 360) % 360, lat = (Math.asin(Math.max(-1, Math.min(1, z))) * 180) / Math.PI;
      return `The part around longitude ${he.number(lon, 4)}°, latitude ${he.number(lat, 4)}°, ${he.number((2 * Math.asin(Math.min(1, (map.half * Math.PI) / 180)) * 180) / Math.PI)}° wide; north is up${map.sky ? ", east to the left" : ""}. ${range}`;
    }
    return `${map.axes[0]} to the right, ${map.axes[1]} up. ${range}`;
  }
})(heatess);
