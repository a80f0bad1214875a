// The frame around a picture: canvas, turning by mouse, touch, keys and buttons, colour scale and caption.
(function (he) {
  "use strict";

  const { element } = he;
  const STEP = (10 * Math.PI) / 180;
  const SHAPES = {
    globe: "Globe", hemisphere: "Half globe of axes", circle: "Circle", square: "Wrapped square", ball: "Ball of rotations",
    flat: "Scatter", mollweide: "Map of equal areas", solid: "Cloud in space", surface: "Surface", graph: "Graph", histogram: "Angles between pairs",
  };
  const FRAMES = { icrs: "equatorial (ICRS)", galactic: "galactic", ecliptic: "ecliptic", geographic: "geographic" };
  const TOLD = {
    globe: "Dots are atoms, their area is the weight.",
    hemisphere: "An axis has two ends; the one on the near side is shown. The area of a dot is the weight.",
    circle: "Ticks are atoms, longer for more weight; the curve around the circle is the smoothed density.",
    square: "Opposite sides are the same line. The area of a dot is the weight.",
    ball: "Each rotation is the point at its angle along its axis; opposite points of the surface are one rotation of 180°.",
    flat: "Dots are atoms, their area is the weight.",
    solid: "Dots are atoms, their area is the weight; nearer ones stand out.",
    surface: "Colour is the smoothed density; dots are atoms.",
    graph: "Colour is the smoothed density at each node; dark rims are atoms.",
  };

  // What the data say of the picture replaces the general words where it says the same.
  function wordsOf(view) {
    const subsample = / ?[\d,]+ of [\d,]+ points are drawn.*$/, note = (view.note || "").replace(subsample, "");
    if (view.dots === false && view.density) return [he.said("Colour is the smoothed map; its atoms are not drawn one by one."), note].filter(Boolean).join(" ");
    return ["ball", "hemisphere"].includes(view.kind) && note ? note : [he.said(TOLD[view.kind] || ""), note].filter(Boolean).join(" ");
  }

  he.view = function (measure, number, several) {
    const view = measure.view || { kind: "none", why: "" };
    const heading = several ? element("h3", {}, he.swatch({ hue: he.hue(number), dash: he.dash(number) }), measure.name) : null;
    if (view.kind === "histogram") return element("figure", { class: "view", "data-view": "histogram" }, heading, histogram(measure));
    if (!he.painters[view.kind]) {
      const why = view.why || `There is no picture of ${measure.space}; the curves say it all.`;
      return element("figure", { class: "view", "data-view": "none" }, heading, element("p", { class: "why" }, why));
    }
    const made = picture(measure, view, heading, number > 0, view.kind);
    const whole = !several && view.kind === "globe" && ["earth", "sky"].includes(view.graticule) && (view.dots === false || !view.centre || view.spread > 20);
    return whole ? element("div", { class: "both" }, made, picture(measure, view, null, true, "mollweide")) : made;
  };

  const frameWords = (view) => (FRAMES[view.frame] ? `Coordinates: ${FRAMES[view.frame]}.` : "");

  function picture(measure, view, heading, brief, shape) {
    const painter = he.painters[shape](measure), help = he.id("help");
    const canvas = element("canvas", { role: "img", class: painter.turns ? null : "still", tabindex: painter.turns ? 0 : null, "aria-describedby": painter.turns ? help : null });
    const context = canvas.getContext("2d");
    const ramp = view.density && view.kind !== "circle" && !painter.flat ? he.rampLegend(view) : null;
    const caption = element("figcaption", {});
    const figure = element("figure", { class: "view", "data-view": shape }, heading, canvas,
      element("div", { class: "controls" }, painter.turns ? buttons() : null, ramp && ramp.node),
      painter.turns ? element("p", { id: help, class: "hidden" }, "Arrow keys turn the picture, plus and minus zoom, Home goes back.") : null, caption);

    let width = 0, height = 0, ratio = 1, seen = true;
    const draw = () => {
      if (!width) return;
      const start = performance.now();
      painter.draw(context, width, height, ratio, he.state.moving);
      figure.drawn = (figure.drawn || 0) + 1;
      figure.milliseconds = performance.now() - start;
    };
    const redraw = he.once(() => { if (seen) draw(); });
    const fit = () => {
      const across = canvas.clientWidth;
      if (!across) return;
      ratio = Math.min(2, window.devicePixelRatio || 1);
      const tall = painter.flat ? Math.round(across / 2) : Math.min(across, 560);
      canvas.style.height = `${tall}px`;
      if (canvas.width === Math.round(across * ratio) && canvas.height === Math.round(tall * ratio)) return;
      width = canvas.width = Math.round(across * ratio);
      height = canvas.height = Math.round(tall * ratio);
      draw();
    };
    const say = () => {
      const scale = he.scaleWhole(he.scaleNow()), frame = he.frameFor(view, he.state.index);
      const at = frame ? he.scaleText(frame.at) : "";
      canvas.setAttribute("aria-label", `${SHAPES[shape]}: ${he.count(view.shown)} ${he.said("atoms")} of ${measure.name}${frame ? `, with the density smoothed at ${at}` : ""}.`);
      const ruler = painter.ruler ? `The ${painter.ruler} is the scale, ${scale}: ${he.said("atoms")} much closer than that count as one.` : `${he.said("Atoms")} much closer than ${scale} count as one.`;
      const flat = `Mollweide's map: equal areas are equal. ${frameWords(view)}${view.graticule === "sky" ? " East is to the left." : ""}`;
      const told = painter.flat ? flat : brief ? "" : `${wordsOf(view)} ${ruler}${shading(view, frame, at)} ${frameWords(view)}`;
      caption.replaceChildren(told, view.shown < view.of && !painter.flat && view.dots !== false ? element("strong", {}, ` Shown: ${he.count(view.shown)} of ${he.count(view.of)} ${he.said("atoms")}. All of them are in the numbers.`) : "");
      if (ramp) ramp.update();
    };
    new ResizeObserver(he.once(fit)).observe(canvas);
    he.on("scale", () => { say(); redraw(); });
    he.on("theme", () => { if (ramp) ramp.update(); draw(); });
    if (painter.turns) {
      he.on("turn", redraw);
      turning(canvas, painter, view);
      new IntersectionObserver((entries) => {
        seen = entries[entries.length - 1].isIntersecting;
        if (seen) redraw();
      }).observe(canvas);
    }
    say();
    he.hovering(figure, canvas, painter, view);
    figure.draw = draw;
    return figure;
  }

  // At which scale the shading is; where there is none, from which scale on there is.
  function shading(view, frame, at) {
    if (frame) return ` Shading: density smoothed at ${at}${frame.at === he.data.scales.values[he.state.index] ? "" : ", the nearest that this page holds"}.`;
    if (!view.density) return view.no_density ? ` ${view.no_density}` : "";
    const ends = [view.density.frames[0], view.density.frames[view.density.frames.length - 1]].map((one) => he.scaleText(he.data.scales.values[one.scale]));
    return ` The density is shaded from ${ends[0]} to ${ends[1]}.`;
  }

  // ---- Turning: all pictures of a page turn together.

  function turn(yaw, pitch, zoom = 1) {
    he.state.yaw += yaw;
    he.state.pitch = Math.max(-Math.PI / 2, Math.min(Math.PI / 2, he.state.pitch + pitch));
    he.state.zoom = Math.max(1, Math.min(he.nearest, he.state.zoom * zoom));
    he.tell("turn");
    settle();
  }
  he.turn = turn;

  let rest = 0;
  // While the picture moves, the density is coarse; it is drawn fine once the hand rests.
  function settle() {
    he.state.moving = true;
    clearTimeout(rest);
    rest = setTimeout(() => { he.state.moving = false; he.tell("turn"); }, 160);
  }

  function home() {
    Object.assign(he.state, { zoom: 1 }, he.first);
    he.tell("turn");
  }

  function turning(canvas, painter, view) {
    const sign = painter.mirror ? 1 : -1;
    let from = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = [event.clientX, event.clientY];
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      const radius = canvas.clientHeight * 0.475 * he.state.zoom;
      turn((sign * (event.clientX - from[0])) / radius, (event.clientY - from[1]) / radius);
      from = [event.clientX, event.clientY];
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (from = null));
    canvas.addEventListener("keydown", (event) => {
      const act = moves(sign)[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act();
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      turn(0, 0, Math.exp(-event.deltaY / 300));
    }, { passive: false });
  }

  const moves = (sign) => ({
    ArrowLeft: () => turn((sign * STEP) / he.state.zoom, 0), ArrowRight: () => turn((-sign * STEP) / he.state.zoom, 0),
    ArrowUp: () => turn(0, STEP / he.state.zoom), ArrowDown: () => turn(0, -STEP / he.state.zoom),
    "+": () => turn(0, 0, 1.25), "=": () => turn(0, 0, 1.25), "-": () => turn(0, 0, 0.8), Home: home,
  });

  function buttons() {
    const act = moves(he.data.measures.some((one) => one.view && one.view.graticule === "sky") ? 1 : -1);
    const make = (key, sign, label) => {
      const button = element("button", { type: "button", "aria-label": label, title: label }, sign);
      button.addEventListener("click", act[key]);
      return button;
    };
    return [make("ArrowLeft", "←", "Look left"), make("ArrowRight", "→", "Look right"), make("ArrowUp", "↑", "Look up"),
      make("ArrowDown", "↓", "Look down"), make("+", "+", "Zoom in"), make("-", "−", "Zoom out"), make("Home", "Reset", "Reset the view")];
  }

  // ---- The colour scale, in multiples of the uniform density

  he.rampLegend = function (view) {
    const canvas = element("canvas", { width: 128, height: 1, class: "still", "aria-hidden": "true" });
    const low = element("span", {}), high = element("span", {});
    const context = canvas.getContext("2d"), node = element("div", { class: "ramp" }, low, canvas, high);
    const relative = view.density.relative !== false;
    const update = () => {
      const range = he.densityRange(he.state.index), ramp = he.ramp();
      node.hidden = !range;
      if (!range) return;
      for (let k = 0; k < 128; k++) {
        const colour = ramp[2 * k];
        context.fillStyle = `rgb(${colour & 255} ${(colour >> 8) & 255} ${(colour >> 16) & 255})`;
        context.fillRect(k, 0, 1, 1);
      }
      const text = (value) => (relative ? `×${he.number(10 ** value, 2)}` : he.number(10 ** value, 2));
      low.textContent = text(range.low);
      high.textContent = text(range.high) + (relative ? " uniform" : "");
    };
    return { node, update };
  };

  const OVERLAP = "Where the overlap is near 1, two atoms count as one.";

  // ---- High dimensions: how far apart pairs are, and how much such pairs overlap at this scale

  function histogram(measure) {
    const { edges, counts, overlap } = measure.view.histogram;
    const total = counts.reduce((sum, value) => sum + value, 0) || 1, most = Math.max(...counts) || 1;
    const known = Boolean(overlap && overlap.length);
    const middles = counts.map((_, i) => (edges[i] + edges[i + 1]) / 2);
    const unit = measure.view.unit ?? he.data.scales.unit;
    const curve = { name: he.said("overlap of two atoms at this scale"), hue: 1, main: true, values: [] };
    const spec = {
      name: "histogram", title: he.said("How far apart pairs of atoms are"), alwaysLegend: true,
      x: { values: middles, edges: [edges[0], edges[edges.length - 1]], log: false, label: he.said(unit === "deg" ? "angle between two atoms (degrees)" : "distance between two atoms"), kind: unit },
      y: { log: false, from: 0, to: 1.06 },
      series: [{ name: "pairs (share of the highest bar)", hue: 0, steps: edges, values: counts.map((value) => value / most), faint: true }, ...(known ? [curve] : [])],
      tip: (i) => [["pairs", `${he.number((100 * counts[i]) / total, 2)} %`], ...(known ? [["overlap", he.number(curve.values[i])]] : [])],
      caption: (measure.view.note ? `${measure.view.note} ` : "") + (known ? he.said(OVERLAP) : ""),
    };
    const load = () => {
      const values = (overlap && overlap[he.state.index]) || [];
      curve.values = values.length === counts.length ? values : middles.map((_, i) => (he.known(values[i]) && he.known(values[i + 1]) ? (values[i] + values[i + 1]) / 2 : null));
    };
    load();
    const chart = he.chart(spec);
    he.on("scale", () => { load(); chart.redraw(); });
    return chart;
  }
})(heatess);
