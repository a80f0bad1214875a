// Curves in SVG: axes with plain numbers, lines with dashes, bands, levels with labels that do not overlap,
// a marker at the scale of the slider, and a cursor with the readings of all curves.
(function (he) {
  "use strict";

  const { shape, element, known } = he;
  const DASHES = ["", "8 4", "2 3", "9 3 2 3", "5 2 2 2 2 2", "12 4"];
  const MARGIN = { top: 10, right: 14, bottom: 42 };
  he.dash = (number) => DASHES[number % DASHES.length];
  he.hue = (number) => number % 6;

  he.swatch = function ({ hue, dash, band, bar }) {
    const line = shape("line", { x1: 0, x2: 28, y1: 5, y2: 5, class: `curve s${hue}`, "stroke-dasharray": dash || null });
    const rect = band || bar ? shape("rect", { x: 0, y: band ? 0 : 1, width: 28, height: band ? 10 : 8, class: `${band ? "band " : ""}f${hue}` }) : null;
    return shape("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" }, rect, bar ? null : line);
  };

  // ---- Ticks

  function logTicks(least, most, room) {
    const low = Math.log10(least), high = Math.log10(most), decades = high - low;
    const candidates = (steps) => {
      const found = [];
      for (let e = Math.floor(low) - 1; e <= Math.ceil(high); e++) {
        for (const step of steps) {
          const value = Number(`${step}e${e}`);
          if (value >= least * 0.999 && value <= most * 1.001) found.push(value);
        }
      }
      return found;
    };
    for (const steps of [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]]) {
      const ticks = candidates(steps);
      if (ticks.length >= 2 && ticks.length <= room) return ticks;
    }
    if (decades < 1) return linearTicks(least, most, room).filter((value) => value > 0);
    const stride = Math.ceil(decades / room);
    return candidates([1]).filter((value) => Math.round(Math.log10(value)) % stride === 0);
  }

  function linearTicks(least, most, room) {
    const raw = (most - least) / Math.max(1, room - 1) || 1;
    const unit = 10 ** Math.floor(Math.log10(raw));
    const step = unit * ([1, 2, 5, 10].find((factor) => factor * unit >= raw * 0.999) || 10);
    const ticks = [];
    for (let k = Math.ceil(least / step - 1e-9); k * step <= most + step * 1e-9 && ticks.length < 50; k++) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  }
  he.linearTicks = linearTicks;

  function tickText(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-3)) return he.number(value, 2);
    return value.toLocaleString("en", { maximumFractionDigits: 6 }).replace("-", "−");
  }

  // ---- The span of an axis: of all values; a logarithmic one ends at *most* and has at most *deepest* from end to end

  function span(values, { log, from, to, most, deepest, reach }) {
    const used = values.filter((value) => known(value) && (!log || value > 0)).map((value) => (log ? Math.log10(value) : value));
    let low = used.length ? Math.min(...used) : 0, high = used.length ? Math.max(...used) : 1;
    if (known(reach)) high = Math.max(high, reach);
    if (log && known(most) && low < Math.log10(most) - 1) high = Math.min(high, Math.log10(most));
    if (log && known(deepest)) low = Math.max(low, high - Math.log10(deepest));
    if (log && high - low < 0.2) { low -= 0.2; high += 0.2; }
    const pad = log ? 0.05 * (high - low) : 0.06 * (high - low || Math.abs(high) || 1);
    const back = (value) => (log ? 10 ** Math.max(-300, Math.min(300, value)) : value);
    return [known(from) ? from : back(low - pad), known(to) ? to : back(high + pad)];
  }

  function axis(log, from, to, start, end) {
    const f = log ? Math.log : (value) => value;
    const a = f(from), b = f(to);
    return (value) => start + ((f(value) - a) / (b - a)) * (end - start);
  }

  // ---- Drawing

  function path(xs, ys, X, Y, usable) {
    let text = "", open = false;
    for (let i = 0; i < xs.length; i++) {
      if (known(xs[i]) && usable(ys[i])) {
        text += `${open ? "L" : "M"}${X(xs[i]).toFixed(1)} ${Y(ys[i]).toFixed(1)}`;
        open = true;
      } else open = false;
    }
    return text;
  }

  function bandPath(xs, lower, upper, X, Y, floor, usable) {
    const rows = xs.map((x, i) => i).filter((i) => usable(upper[i]) && known(lower[i]));
    if (rows.length < 2) return "";
    const up = rows.map((i) => `${X(xs[i]).toFixed(1)} ${Y(upper[i]).toFixed(1)}`);
    const down = rows.reverse().map((i) => `${X(xs[i]).toFixed(1)} ${Y(Math.max(lower[i], floor)).toFixed(1)}`);
    return `M${up.join("L")}L${down.join("L")}Z`;
  }

  // Labels of levels, pushed apart so that none covers another.
  function spread(labels, least, most) {
    labels.sort((a, b) => a.y - b.y);
    for (let i = 1; i < labels.length; i++) labels[i].y = Math.max(labels[i].y, labels[i - 1].y + 15);
    for (let i = labels.length - 1; i >= 0; i--) {
      const limit = i === labels.length - 1 ? most : labels[i + 1].y - 15;
      labels[i].y = Math.max(least, Math.min(labels[i].y, limit));
    }
  }

  // spec: {name, title, under, desc, x: {values, log, label, unit}, y: {log, label, from, to}, height, linked,
  //        series: [{name, short, values, xs, hue, dash, main, band: {lower, upper, name}, steps, dots, quiet}],
  //        levels: [{value, label, hue}], spans: [{from, to, label}], tip: (index) -> [[label, text]]}
  he.chart = function (spec) {
    const host = element("figure", { class: "chart", "data-chart": spec.name });
    const plot = element("div", {
      class: "plot", tabindex: spec.linked ? 0 : null, role: spec.linked ? "group" : null,
      "aria-label": spec.linked ? `${spec.title}. Left and right arrow keys change the scale.` : null,
    });
    const tip = element("div", { class: "tip", hidden: true });
    const heading = element("h3", {}, spec.title, spec.under ? " " : null, spec.under ? element("span", { class: "under" }, spec.under) : null);
    host.append(heading);
    const legend = he.legend(spec);
    plot.append(tip);
    host.append(...(spec.legendUnder ? [plot, legend] : [legend, plot]).filter(Boolean));
    if (spec.caption) host.append(element("figcaption", {}, spec.caption));

    let drawn = null, hover = null;
    const render = () => {
      const width = Math.round(plot.clientWidth);
      if (width < 40) return;
      drawn = draw(spec, width);
      plot.replaceChildren(drawn.svg, tip);
      mark();
    };
    const mark = () => drawn && place(spec, drawn, tip, hover, plot);
    new ResizeObserver(he.once(() => {
      if (!drawn || Math.round(plot.clientWidth) !== drawn.width) render();
    })).observe(plot);
    if (spec.linked) he.on("scale", mark);
    interact(spec, plot, () => drawn, (to) => { hover = to; mark(); });
    host.redraw = render;
    return host;
  };

  he.legend = function (spec) {
    const entries = [];
    for (const one of spec.series) {
      if (one.quiet) continue;
      entries.push([he.swatch({ hue: one.hue, dash: one.dash, bar: one.steps, band: one.band && !one.band.name }), one.name]);
      if (one.band && one.band.name) entries.push([he.swatch({ hue: one.hue, band: true, dash: "0 40" }), one.band.name]);
    }
    if (entries.length < 2 && !spec.alwaysLegend) return null;
    return element("ul", { class: "legend" }, entries.map(([swatch, name]) => element("li", {}, swatch, name)));
  };

  function draw(spec, width) {
    const height = Math.round(spec.height || Math.max(230, Math.min(400, width * 0.62)));
    const { x, y } = spec;
    const usable = (value) => known(value) && (!y.log || value > 0);
    const all = spec.series.flatMap((one) => [...one.values, ...(one.band ? one.band.upper : [])]).concat((spec.levels || []).map((level) => level.value));
    const [low, high] = span(all, y);
    const xs = x.values.filter((value) => known(value) && (!x.log || value > 0));
    let [first, final] = x.edges || [Math.min(...xs), Math.max(...xs)];
    if (first === final) { first = x.log ? first / 1.5 : first - 1; final = x.log ? final * 1.5 : final + 1; }

    const bottom = height - MARGIN.bottom;
    const yTicks = y.log ? logTicks(low, high, Math.max(3, Math.floor(bottom / 34))) : linearTicks(low, high, Math.max(3, Math.floor(bottom / 40)));
    const texts = yTicks.map((value) => tickText(value));
    const left = Math.max(30, 10 + 6.8 * Math.max(...texts.map((text) => text.length), 1));
    const X = axis(x.log, first, final, left, width - MARGIN.right);
    const Y = axis(y.log, low, high, bottom, MARGIN.top);
    const title = he.id("title"), desc = he.id("desc"), clip = he.id("clip");
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-labelledby": `${title} ${desc}` },
      shape("title", { id: title }, spec.title), shape("desc", { id: desc }, spec.desc || describe(spec)),
      shape("clipPath", { id: clip }, shape("rect", { x: left - 2, y: MARGIN.top - 4, width: width - MARGIN.right - left + 4, height: bottom - MARGIN.top + 8 })));

    for (const one of spec.spans || []) {
      const a = Math.max(left, X(one.from)), b = Math.min(width - MARGIN.right, X(one.to));
      if (b - a < 1) continue;
      svg.append(shape("rect", { x: a, y: MARGIN.top, width: b - a, height: bottom - MARGIN.top, class: "span" }));
      const crowded = (spec.levels || []).some((level) => usable(level.value) && Math.abs(Y(level.value) - MARGIN.top - 8) < 22);
      if (one.label && b - a > 6.5 * one.label.length && !crowded) svg.append(shape("text", { x: (a + b) / 2, y: MARGIN.top + 13, "text-anchor": "middle" }, one.label));
    }
    for (const one of spec.marks || []) {
      svg.append(shape("path", { class: "marked", d: `M${X(one.at).toFixed(1)} ${MARGIN.top}V${bottom}` }));
      svg.append(shape("text", { x: X(one.at), y: MARGIN.top + 11, "text-anchor": X(one.at) > width / 2 ? "end" : "start", dx: X(one.at) > width / 2 ? -6 : 6, class: "halo strong" }, one.label));
    }
    yTicks.forEach((value, k) => {
      svg.append(shape("path", { class: "grid", d: `M${left} ${Y(value).toFixed(1)}H${width - MARGIN.right}` }));
      svg.append(shape("text", { x: left - 7, y: Y(value) + 4, "text-anchor": "end" }, texts[k]));
    });
    const xTicks = x.log ? logTicks(first, final, Math.max(3, Math.floor((width - left) / 46))) : linearTicks(first, final, Math.max(3, Math.floor((width - left) / 60)));
    const ticks = x.texts ? x.values.map((value, k) => [value, x.texts[k]]) : xTicks.map((value) => [value, tickText(value)]);
    const stride = x.texts ? Math.ceil(ticks.length / Math.max(3, Math.floor((width - left) / 34))) : 1;
    for (const [value, text] of ticks.filter((_, k) => k % stride === 0 || k === ticks.length - 1)) {
      svg.append(shape("path", { class: "axis", d: `M${X(value).toFixed(1)} ${bottom}v5` }));
      svg.append(shape("text", { x: X(value), y: bottom + 18, "text-anchor": "middle" }, text));
    }
    svg.append(shape("path", { class: "axis", d: `M${left} ${bottom}H${width - MARGIN.right}` }));
    svg.append(shape("text", { x: (left + width - MARGIN.right) / 2, y: height - 6, "text-anchor": "middle" }, x.label));

    const inside = shape("g", { "clip-path": `url(#${clip})` });
    svg.append(inside);
    for (const one of spec.series) {
      if (one.band) inside.append(shape("path", { class: `band f${one.hue}`, d: bandPath(one.xs || x.values, one.band.lower, one.band.upper, X, Y, low, usable) }));
    }
    for (const one of spec.series) drawSeries(one, spec, inside, X, Y, bottom, usable);
    const labels = [];
    for (const level of spec.levels || []) {
      if (!usable(level.value) || level.value < low || level.value > high) continue;
      inside.append(shape("path", { class: `level${level.hue === undefined ? "" : ` s${level.hue}`}`, d: `M${left} ${Y(level.value).toFixed(1)}H${width - MARGIN.right}` }));
      if (level.label) labels.push({ y: Y(level.value) - 5, text: level.label });
    }
    spread(labels, MARGIN.top + 8, bottom - 4);
    for (const label of labels) svg.append(shape("text", { x: width - MARGIN.right - 2, y: label.y, "text-anchor": "end", class: "halo" }, label.text));
    const moving = shape("g", {});
    svg.append(moving);
    return { svg, moving, X, Y, width, height, left, right: width - MARGIN.right, bottom, low, high, usable };
  }

  function drawSeries(one, spec, group, X, Y, bottom, usable) {
    const xs = one.xs || spec.x.values;
    if (one.steps) {
      const edges = one.steps;
      one.values.forEach((value, i) => {
        if (!usable(value)) return;
        const a = X(edges[i]), b = X(edges[i + 1]);
        group.append(shape("rect", { x: a + 0.5, y: Y(value), width: Math.max(0.5, b - a - 1), height: Math.max(0, bottom - Y(value)), class: `f${one.hue}`, opacity: one.faint ? 0.45 : 1 }));
      });
      return;
    }
    if (!one.dotsOnly) {
      group.append(shape("path", { class: `curve s${one.hue}${one.main ? " main" : ""}`, "data-curve": one.key || one.name, "stroke-dasharray": one.dash || null, d: path(xs, one.values, X, Y, usable) }));
    }
    if (one.dots || one.dotsOnly) {
      xs.forEach((value, i) => {
        if (usable(one.values[i])) group.append(shape("circle", { cx: X(value), cy: Y(one.values[i]), r: 3, class: `f${one.hue}` }));
      });
    }
  }

  function describe(spec) {
    const parts = spec.series.filter((one) => !one.steps).map((one) => {
      const used = one.values.filter(known);
      return used.length ? `${one.name}: from ${he.number(used[0])} to ${he.number(used[used.length - 1])}` : `${one.name}: no values`;
    });
    return `Against ${spec.x.label}. ${parts.join("; ")}.`;
  }

  // The marker of the slider, the cursor of the pointer, and the box with readings.
  function place(spec, drawn, tip, hover, plot) {
    const { moving, X, Y, usable, bottom } = drawn;
    const xs = spec.x.values;
    const at = [];
    const own = spec.linked ? he.state.index : null;
    const nodes = [];
    if (own !== null && known(xs[own])) {
      nodes.push(shape("path", { class: "marker", d: `M${X(xs[own]).toFixed(1)} ${MARGIN.top}V${bottom}`, "data-marker": own }));
      at.push(own);
    }
    if (hover !== null && hover !== own) {
      nodes.push(shape("path", { class: "hover", d: `M${X(xs[hover]).toFixed(1)} ${MARGIN.top}V${bottom}` }));
      at.push(hover);
    }
    for (const i of at) {
      for (const one of spec.series) {
        if (one.steps || one.xs || !usable(one.values[i])) continue;
        const y = Y(one.values[i]);
        if (y < MARGIN.top - 4 || y > bottom + 4) continue;
        nodes.push(shape("circle", { cx: X(xs[i]), cy: y, r: one.main ? 4.5 : 3.5, class: `dot f${one.hue}` }));
      }
    }
    moving.replaceChildren(...nodes);
    if (hover === null) {
      tip.hidden = true;
      return;
    }
    const rows = spec.tip ? spec.tip(hover) : spec.series.filter((one) => !one.steps && !one.xs).map((one) => [one.short || one.name, he.number(one.values[hover])]);
    tip.replaceChildren(element("strong", {}, spec.tipTitle ? spec.tipTitle(hover) : he.number(xs[hover])),
      ...rows.map(([label, text]) => element("div", {}, element("span", {}, label), element("span", {}, text))));
    tip.hidden = false;
    const share = plot.clientWidth / drawn.width, room = plot.clientWidth - tip.offsetWidth;
    const x = X(xs[hover]) * share;
    tip.style.left = `${Math.max(0, Math.min(room, x < plot.clientWidth / 2 ? x + 12 : x - 12 - tip.offsetWidth))}px`;
  }

  function interact(spec, plot, current, show) {
    const xs = spec.x.values;
    const nearest = (event) => {
      const drawn = current();
      if (!drawn) return null;
      const box = plot.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * drawn.width;
      let best = null, least = Infinity;
      xs.forEach((value, i) => {
        const far = known(value) ? Math.abs(drawn.X(value) - x) : Infinity;
        if (far < least) { least = far; best = i; }
      });
      return best;
    };
    plot.addEventListener("pointermove", (event) => show(nearest(event)));
    plot.addEventListener("pointerleave", () => show(null));
    plot.addEventListener("blur", () => show(null));
    if (!spec.linked) return;
    plot.addEventListener("pointerdown", (event) => { const to = nearest(event); if (to !== null) he.setScale(to); });
    plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) show(he.state.index); });
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, PageDown: -5, PageUp: 5, Home: -1e6, End: 1e6 }[event.key];
      if (!step) return;
      event.preventDefault();
      he.setScale(he.state.index + step);
      show(he.state.index);
    });
  }
})(heatess);
