// What is under the pointer: the name of a point, where it is, and its row.
(function (he) {
  "use strict";

  const { element } = he;
  const REACH = 9; // CSS pixels

  const degrees = (value, digits = 2) => `${value.toFixed(digits)}°`.replace("-", "−");

  // Where a point is, in the words of its field.
  he.placeOf = function (view, i) {
    const { points, dims } = he.cloud(view), at = Array.from(points.slice(dims * i, dims * i + dims));
    if (view.kind === "graph" || view.kind === "surface") return "";
    if (view.kind === "globe" && (view.graticule === "earth" || view.graticule === "sky")) {
      const lon = (Math.atan2(at[1], at[0]) * 180) / Math.PI, lat = (Math.asin(Math.max(-1, Math.min(1, at[2]))) * 180) / Math.PI;
      if (view.graticule === "earth") return `${degrees(Math.abs(lat))} ${lat < 0 ? "S" : "N"}, ${degrees(Math.abs(lon))} ${lon < 0 ? "W" : "E"}`;
      const [east, north] = view.names || ["longitude", "latitude"];
      return `${east} ${degrees((lon + 360) % 360)}, ${north} ${lat < 0 ? "" : "+"}${degrees(lat)}`;
    }
    const middle = view.middle || [], angles = view.unit === "rad" && view.kind === "square";
    return at.map((value, k) => (angles ? degrees((value * 180) / Math.PI, 1) : he.number(value + (middle[k] || 0)))).join(", ");
  };

  he.nameOf = function (view, i) {
    view.names_ ??= view.labels ? view.labels.split("\n") : [];
    const row = view.shown < view.of ? Math.floor((i * view.of) / view.shown) : i;
    return view.names_[i] || `${["graph", "surface"].includes(view.kind) ? "node" : "row"} ${he.count(row)}`;
  };

  he.hovering = function (figure, canvas, painter, view) {
    if (!painter.spot || view.dots === false) return;
    const cloud = he.cloud(view), tip = element("div", { class: "tip", hidden: true });
    figure.append(tip);
    const nearest = (x, y, reach) => {
      let best = -1, least = reach * reach;
      for (let i = 0; i < cloud.count; i++) {
        if (!cloud.sizes[i]) continue;
        const at = painter.spot(i);
        if (!at) continue;
        const far = (at[0] - x) ** 2 + (at[1] - y) ** 2;
        if (far < least) { least = far; best = i; }
      }
      return best;
    };
    const show = he.once(() => {
      if (!pointer) return void (tip.hidden = true);
      const box = canvas.getBoundingClientRect(), ratio = canvas.width / box.width;
      const i = nearest((pointer.clientX - box.left) * ratio, (pointer.clientY - box.top) * ratio, REACH * ratio);
      tip.hidden = i < 0;
      if (i < 0) return;
      tip.replaceChildren(element("strong", {}, he.nameOf(view, i)), he.placeOf(view, i));
      const own = figure.getBoundingClientRect(), left = pointer.clientX - own.left;
      tip.style.left = `${Math.max(0, Math.min(own.width - tip.offsetWidth, left < own.width / 2 ? left + 14 : left - 14 - tip.offsetWidth))}px`;
      tip.style.top = `${pointer.clientY - own.top + 14}px`;
    });
    let pointer = null;
    canvas.addEventListener("pointermove", (event) => { pointer = event.buttons ? null : event; show(); });
    canvas.addEventListener("pointerleave", () => { pointer = null; show(); });
  };
})(heatess);
