// What every part of the page uses: elements, numbers as text, binary data, and the state that the parts share.
const heatess = {};

(function (he) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  // ---- Elements. Text is always set as text, so that no name in the data is ever read as HTML.

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of (children || []).flat()) {
      if (child !== null && child !== undefined) node.append(child);
    }
    return node;
  }

  he.element = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  he.shape = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  let last = 0;
  he.id = (stem) => `${stem}-${++last}`;

  // ---- Words: points are called what their field calls them; "atoms" in a text stands for that word

  he.things = function (many = true) {
    const all = new Set(he.data.measures.map((m) => (m.nouns || ["point", "points"])[many ? 1 : 0]));
    return all.size === 1 ? [...all][0] : many ? "points" : "point";
  };
  he.said = function (text) {
    const many = he.things(), one = he.things(false), article = /^[aeiou]/.test(one) ? "an" : "a";
    return text.replace(/\batoms\b/g, many).replace(/\bAtoms\b/g, many[0].toUpperCase() + many.slice(1)).replace(/\ban atom\b/g, `${article} ${one}`).replace(/\batom\b/g, one);
  };
  he.cells = () => he.data.measures.length > 0 && he.data.measures.every((m) => m.kind === "cells");
  he.separate = () => (he.cells() ? "separate places" : `separate ${he.things()}`);

  // ---- Numbers

  const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
  const superscript = (integer) =>
    (integer < 0 ? "⁻" : "") + [...String(Math.abs(integer))].map((digit) => SUPERSCRIPTS[digit]).join("");

  const known = (value) => typeof value === "number" && Number.isFinite(value);
  he.known = known;

  // 1234.5 -> "1,235", 0.0123456 -> "0.0123", 2.1e-7 -> "2.1 × 10⁻⁷"
  he.number = function (value, digits = 3) {
    if (!known(value)) return "–";
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 1e9 || size < 1e-4) {
      const exponent = Math.floor(Math.log10(size));
      const front = Number((value / 10 ** exponent).toPrecision(Math.min(digits, 2)));
      return front === 1 ? `10${superscript(exponent)}` : `${front} × 10${superscript(exponent)}`.replace("-", "−");
    }
    const rounded = size >= 1e6 ? Number(value.toPrecision(3)) : size >= 10 ** digits ? Math.round(value) : Number(value.toPrecision(digits));
    const places = size >= 10 ** digits ? 0 : Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    return rounded.toLocaleString("en", { maximumFractionDigits: Math.min(places, 12) }).replace("-", "−");
  };
  // A share of one, near one with as many digits as tell it from one: 0.99953
  he.share = (value) => (value > 0.999 && value < 1 ? value.toFixed(Math.min(12, 1 - Math.floor(Math.log10(1 - value)))) : he.number(value, 4));
  he.count = (value) => (known(value) ? Math.round(value).toLocaleString("en") : "–");

  // A scale as text. On the Earth readers think in kilometres: these come first, and degrees beside them.
  he.onEarth = () => Boolean(he.data.scales.km);
  he.inReadersUnit = (value) => (he.onEarth() ? (value * he.data.scales.km[0]) / he.data.scales.values[0] : value);
  he.inUnit = (value, unit) => he.number(value) + (unit === "deg" ? "°" : unit ? ` ${unit}` : "");
  he.scaleText = (value) => he.inUnit(he.inReadersUnit(value), he.onEarth() ? "km" : he.data.scales.unit);
  he.scaleBeside = (value) => (he.onEarth() ? he.inUnit(value, he.data.scales.unit) : "");
  he.scaleWhole = (value) => he.scaleText(value) + (he.onEarth() ? ` (${he.scaleBeside(value)})` : "");
  he.scaleNow = () => he.data.scales.values[he.state.index];
  he.spoken = function (value) {
    const { unit } = he.data.scales, words = he.number(value) + (unit === "deg" ? " degrees" : unit ? ` ${unit}` : "");
    return he.onEarth() ? `${he.number(he.inReadersUnit(value))} kilometres, ${words}` : words;
  };
  he.scaleName = () => (he.onEarth() ? "scale" : { angle: "angular scale", resolution: "resolution", distance: "scale" }[he.data.scales.kind] || "scale");
  he.scaleLabel = function () {
    const unit = he.onEarth() ? "km" : he.data.scales.unit;
    return he.scaleName() + (unit === "deg" ? " (degrees)" : unit ? ` (${unit})` : "");
  };

  // ---- Binary data: base64, little-endian, as every browser's typed arrays are on the machines that exist.

  he.bytes = function (text) {
    const characters = atob(text || "");
    const bytes = new Uint8Array(characters.length);
    for (let i = 0; i < characters.length; i++) bytes[i] = characters.charCodeAt(i);
    return bytes;
  };
  he.int16 = (text) => new Int16Array(he.bytes(text).buffer);
  he.uint32 = (text) => new Uint32Array(he.bytes(text).buffer);

  // ---- State: the scale, the direction of view and the theme; whoever draws listens.

  const listeners = {};
  he.state = { index: 0, yaw: 0, pitch: 0, zoom: 1, moving: false };
  he.on = (topic, act) => (listeners[topic] ||= []).push(act);
  he.tell = (topic) => (listeners[topic] || []).forEach((act) => act());
  he.setScale = function (index) {
    const to = Math.max(0, Math.min(he.data.scales.values.length - 1, Math.round(index)));
    if (!(to >= 0) || to === he.state.index) return;
    he.state.index = to;
    he.tell("scale");
  };

  // The row whose scale is nearest to a value, by ratio.
  he.nearestScale = function (value) {
    const far = he.data.scales.values.map((one) => Math.abs(Math.log(one / value)));
    return far.indexOf(Math.min(...far));
  };

  // One redraw a frame, however many events ask for it.
  he.once = function (draw) {
    let asked = false;
    return function () {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
        asked = false;
        draw();
      });
    };
  };

  // ---- Colours as the style sheet has them now, for canvases.

  he.colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  he.rgb = function (name) {
    const hex = he.colour(name).replace("#", "");
    return [0, 2, 4].map((start) => parseInt(hex.slice(start, start + 2), 16));
  };

  he.readJson = function (id) {
    const node = document.getElementById(id);
    return node ? JSON.parse(node.textContent) : null;
  };
})(heatess);
