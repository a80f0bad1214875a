// Pixels: atoms are written straight into ImageData, which draws 100,000 of them in a few milliseconds without a GPU.
(function (he) {
  "use strict";

  const CLASSES = 12;
  const UNIT = 64; // coverage of one atom at the middle of its disc
  const STEPS = 4096; // entries of the table from coverage to opacity

  // ---- The atoms of a view, decoded once

  he.cloud = function (view) {
    if (view.cloud) return view.cloud;
    const raw = he.int16(view.points), dims = view.dims, factor = view.extent / 32767;
    const points = Float32Array.from(raw, (value) => value * factor);
    const count = dims ? Math.floor(points.length / dims) : 0;
    const sizes = view.sizes ? he.bytes(view.sizes) : new Uint8Array(count).fill(255);
    let sum = 0, squares = 0;
    for (let i = 0; i < count; i++) { sum += sizes[i]; squares += sizes[i] * sizes[i]; }
    const effective = squares ? (sum * sum) / squares : Math.max(count, 1);
    // Radius, in CSS pixels, of the heaviest atom: large when few atoms carry the weight.
    const largest = Math.max(1.15, Math.min(6.5, 62 / Math.sqrt(effective)));
    const opacity = Math.max(0.4, Math.min(0.9, 1.1 - 0.16 * Math.log10(Math.max(count, 1))));
    const classes = Uint8Array.from(sizes, (size) => Math.round((CLASSES - 1) * Math.sqrt(size / 255)));
    const smallest = count < 4000 ? 0.95 : 0.62;
    return (view.cloud = { points, count, dims, sizes, classes, largest, smallest, opacity });
  };

  // ---- Density: at the slider's scale, between the two frames around it, and one range of colours for all measures

  const SAME = Math.log(1.02), FAR = Math.log(3.3); // frames this near are the scale's own; so far apart nothing is drawn between them

  // The density at a scale of the slider; null where the page has none. Maps of cells, which are drawn without dots, show
  // the nearest frame there: `frame.at` is the scale that a frame was smoothed at.
  he.frameFor = function (view, index) {
    const density = view.density;
    if (!density || !density.frames.length) return null;
    view.made ||= new Map();
    if (!view.made.has(index)) view.made.set(index, found(view, density, index));
    return view.made.get(index);
  };

  function found(view, density, index) {
    const scales = he.data.scales.values, log = Math.log(scales[index]);
    const frames = density.frames.map((frame) => opened(frame, density)), far = (frame) => Math.log(frame.at) - log;
    const own = frames.find((frame) => Math.abs(far(frame)) < SAME);
    if (own) return own;
    const finer = frames.filter((frame) => far(frame) < 0).pop(), coarser = frames.find((frame) => far(frame) > 0);
    if (finer && coarser && far(coarser) - far(finer) < FAR) {
      const mixed = between(finer, coarser, -far(finer) / (far(coarser) - far(finer)), density.layout);
      if (mixed) return { ...mixed, at: scales[index], scale: index };
    }
    if (view.dots === false || finer && coarser) return !finer || coarser && far(coarser) < -far(finer) ? coarser : finer;
    return null;
  }

  function opened(frame, density) {
    frame.bytes ||= he.bytes(frame.values);
    frame.rows ??= density.rows; // each frame may have a grid of its own
    frame.columns ??= density.columns;
    frame.at ??= he.data.scales.values[frame.scale];
    return frame;
  }

  // Logarithms of the density between two frames, on the grid of the finer one. The logarithm of the scale decides.
  function between(finer, coarser, part, layout) {
    if (JSON.stringify(finer.patch || null) !== JSON.stringify(coarser.patch || null)) return null;
    const { rows, columns } = finer, count = finer.bytes.length, logs = new Float32Array(count);
    const value = (frame, byte) => frame.least + (byte / 255) * (frame.most - frame.least);
    const same = layout === "nodes" || (rows === coarser.rows && columns === coarser.columns);
    let least = Infinity, most = -Infinity;
    for (let i = 0; i < count; i++) {
      const byte = same ? coarser.bytes[i] : sampled(coarser, (Math.floor(i / columns) + 0.5) / rows, ((i % columns) + 0.5) / columns, layout !== "square" && !finer.patch);
      logs[i] = (1 - part) * value(finer, finer.bytes[i]) + part * value(coarser, byte);
      if (logs[i] < least) least = logs[i];
      if (logs[i] > most) most = logs[i];
    }
    const across = most - least || 1;
    return { ...finer, bytes: Uint8Array.from(logs, (log) => Math.round((255 * (log - least)) / across)), least, most };
  }

  // A byte of a grid between its cells; *down* and *across* are shares of its height and width.
  function sampled({ bytes, rows, columns }, down, across, around) {
    const y = Math.max(0, Math.min(rows - 1, down * rows - 0.5)), top = Math.min(Math.floor(y), Math.max(0, rows - 2)), b = rows > 1 ? y - top : 0;
    const x = around ? across * columns - 0.5 + columns : Math.max(0, Math.min(columns - 1, across * columns - 0.5));
    const from = Math.floor(x), a = x - from, left = around ? from % columns : Math.min(from, columns - 1);
    const right = around ? (left + 1) % columns : Math.min(left + 1, columns - 1), under = Math.min(top + 1, rows - 1);
    return (1 - b) * ((1 - a) * bytes[top * columns + left] + a * bytes[top * columns + right]) + b * ((1 - a) * bytes[under * columns + left] + a * bytes[under * columns + right]);
  }

  he.sampled = sampled;

  // log10 of the density: at most two decades, and at least a factor of two, so that noise is not blown up. Where it is
  // a multiple of the uniform density, the range reaches above that.
  he.densityRange = function (index) {
    const views = he.data.measures.map((measure) => measure.view).filter(Boolean);
    const frames = views.map((view) => he.frameFor(view, index)).filter(Boolean);
    if (!frames.length) return null;
    const relative = views.some((view) => view.density && view.density.relative !== false);
    const high = Math.max(...frames.map((frame) => frame.most), relative ? 0.15 : -Infinity);
    const low = Math.max(Math.min(...frames.map((frame) => frame.least)), high - 2);
    return high - low < 0.3 ? { low: high - 0.3, high } : { low, high };
  };

  let ramp = null;
  he.on("theme", () => (ramp = null));
  he.ramp = function () {
    if (ramp) return ramp;
    const stops = [he.rgb("low"), he.rgb("mid"), he.rgb("high")];
    ramp = new Uint32Array(256);
    for (let i = 0; i < 256; i++) {
      const place = (i / 255) * 2, k = Math.min(1, Math.floor(place)), part = place - k;
      ramp[i] = he.pack(stops[k].map((value, c) => value + part * (stops[k + 1][c] - value)));
    }
    return ramp;
  };
  he.pack = ([red, green, blue]) => ((255 << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;

  // From a byte of a frame to a place on the ramp: place = slope * byte + shift.
  he.toRamp = function (frame, range) {
    const across = (range.high - range.low) || 1;
    return { slope: (frame.most - frame.least) / across, shift: (255 * (frame.least - range.low)) / across };
  };

  // ---- A raster of W x H pixels: what lies behind, and how much of each pixel is covered by atoms

  function stamps(largest, smallest, ratio) {
    return Array.from({ length: CLASSES }, (_, size) => {
      const radius = Math.max(smallest, (largest * size) / (CLASSES - 1)) * ratio, reach = Math.ceil(radius);
      const dx = [], dy = [], cover = [];
      for (let y = -reach; y <= reach; y++) {
        for (let x = -reach; x <= reach; x++) {
          const share = Math.max(0, Math.min(1, radius + 0.5 - Math.hypot(x, y)));
          if (share > 0.05) { dx.push(x); dy.push(y); cover.push(Math.round(UNIT * share)); }
        }
      }
      return { reach, dx: Int16Array.from(dx), dy: Int16Array.from(dy), cover: Uint8Array.from(cover) };
    });
  }

  he.raster = function (context, width, height, cloud, ratio) {
    const image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer), cover = new Uint32Array(width * height), behind = new Uint32Array(width * height);
    const shapes = stamps(cloud.largest, cloud.smallest, ratio);
    for (const one of shapes) one.offset = Int32Array.from(one.dx, (x, k) => x + width * one.dy[k]);
    const table = new Uint16Array(STEPS); // of 256
    for (let k = 0; k < STEPS; k++) table[k] = Math.round(256 * (1 - (1 - cloud.opacity) ** (k / UNIT)));

    function stamp(x, y, size, strength) {
      const one = shapes[size], { reach, cover: amount } = one;
      if (x < -reach || y < -reach || x >= width + reach || y >= height + reach) return;
      if (x >= reach && y >= reach && x < width - reach && y < height - reach) {
        const at = x + width * y, { offset } = one;
        for (let k = 0; k < offset.length; k++) cover[at + offset[k]] += (amount[k] * strength) | 0;
        return;
      }
      for (let k = 0; k < amount.length; k++) {
        const px = x + one.dx[k], py = y + one.dy[k];
        if (px >= 0 && py >= 0 && px < width && py < height) cover[px + width * py] += (amount[k] * strength) | 0;
      }
    }

    // Ink over what lies behind: out = (ink a + behind (256 - a)) / 256, for red and blue together and for green.
    function show(target) {
      const [red, green, blue] = he.rgb("atom"), ink = (blue << 16) | red;
      pixels.set(behind);
      for (let i = 0; i < pixels.length; i++) {
        const amount = cover[i];
        if (amount === 0) continue;
        const a = table[amount < STEPS ? amount : STEPS - 1], back = behind[i], rest = 256 - a;
        if (back === 0) {
          pixels[i] = (Math.min(a, 255) << 24) | (green << 8) | ink;
          continue;
        }
        const ends = ((ink * a + (back & 0xff00ff) * rest) >>> 8) & 0xff00ff, middle = ((green * a + ((back >> 8) & 255) * rest) >>> 8) << 8;
        pixels[i] = 0xff000000 | ends | middle;
      }
      (target || context).putImageData(image, 0, 0);
    }
    return { width, height, pixels, cover, behind, stamp, show, image };
  };

  // ---- Directions: the three axes of the screen, seen from longitude yaw and latitude pitch (radians)

  he.screenAxes = function (yaw, pitch, mirror) {
    const c = Math.cos(yaw), s = Math.sin(yaw), cp = Math.cos(pitch), sp = Math.sin(pitch), m = mirror ? -1 : 1;
    return { right: [-s * m, c * m, 0], up: [-sp * c, -sp * s, cp], toward: [cp * c, cp * s, sp] };
  };
  he.dot = (a, x, y, z) => a[0] * x + a[1] * y + a[2] * z;

  he.text = function (context, text, x, y, ratio, { align = "center", size = 11, colour = "soft", halo = "paper" } = {}) {
    context.font = `${size * ratio}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.lineJoin = "round";
    if (halo) {
      context.lineWidth = 3 * ratio;
      context.strokeStyle = he.colour(halo);
      context.globalAlpha = 0.75;
      context.strokeText(text, x, y);
      context.globalAlpha = 1;
    }
    context.fillStyle = he.colour(colour);
    context.fillText(text, x, y);
  };

  // The scale as a length in the picture, in radians where its coordinates are angles; null where there is none.
  he.footprint = function (view) {
    if (view.footprint === null) return null;
    return he.data.scales.values[he.state.index] * (he.data.scales.unit === "deg" ? Math.PI / 180 : 1) * (view.footprint ?? 1);
  };

  // The ruler: a ring of the radius of the scale, with the scale written on it.
  he.ring = function (context, x, y, radius, ratio) {
    context.lineWidth = 3.5 * ratio;
    context.strokeStyle = he.colour("paper");
    context.globalAlpha = 0.7;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
    context.globalAlpha = 1;
    context.lineWidth = 2 * ratio;
    context.strokeStyle = he.colour("accent");
    context.stroke();
    const label = { x, y: y - radius - 10 * ratio };
    he.text(context, he.scaleText(he.scaleNow()), label.x, label.y, ratio, { size: 12, colour: "accent" });
    return label;
  };
})(heatess);
