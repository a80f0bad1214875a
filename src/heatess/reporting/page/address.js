// The view in the address: #scale=3.15, and &look=longitude,latitude,zoom once the picture was turned. Who opens the
// address sees what was seen.
(function (he) {
  "use strict";

  const DEGREE = Math.PI / 180;
  let turned = false, waiting = 0;

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const scale = Number(given.get("scale")), look = (given.get("look") || "").split(",").map(Number);
    if (scale > 0 && Number.isFinite(scale)) he.state.index = he.nearestScale(scale);
    if (look.length === 3 && look.every(Number.isFinite)) {
      turned = true;
      Object.assign(he.state, { yaw: look[0] * DEGREE, pitch: Math.max(-90, Math.min(90, look[1])) * DEGREE, zoom: Math.max(1, Math.min(he.nearest, look[2])) });
    }
  }

  const short = (value, digits) => String(Number(value.toPrecision(digits)));

  function write() {
    const { index, yaw, pitch, zoom } = he.state, parts = [`scale=${short(he.data.scales.values[index], 4)}`];
    if (turned) parts.push(`look=${[yaw / DEGREE, pitch / DEGREE, zoom].map((value) => short(value, 4)).join(",")}`);
    try {
      history.replaceState(null, "", `#${parts.join("&")}`);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error; // a frame that may not change its address
    }
  }
  const later = () => { clearTimeout(waiting); waiting = setTimeout(write, 120); };

  he.address = function () {
    read();
    he.on("scale", later);
    he.on("turn", () => { turned = true; later(); });
    window.addEventListener("hashchange", () => { read(); he.tell("scale"); he.tell("turn"); });
  };
})(heatess);
