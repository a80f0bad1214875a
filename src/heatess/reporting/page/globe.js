// Spheres and solid clouds that turn: a globe, a half globe of axes, the ball of rotations, a cloud in space.
(function (he) {
  "use strict";

  const DEGREE = Math.PI / 180;
  he.painters = {};

  let coast = null;
  // Coastlines as unit vectors, one Float32Array a line.
  function coastlines() {
    if (coast) return coast;
    const stored = he.readJson("heatess-coast");
    coast = ((stored && stored.lines) || []).map((steps) => {
      const line = new Float32Array((steps.length / 2) * 3);
      let lon = 0, lat = 0;
      for (let i = 0; i < steps.length; i += 2) {
        lon += steps[i];
        lat += steps[i + 1];
        unit(lon * stored.unit * DEGREE, lat * stored.unit * DEGREE, line, (i / 2) * 3);
      }
      return line;
    });
    return coast;
  }

  function unit(lon, lat, out, at) {
    out[at] = Math.cos(lat) * Math.cos(lon);
    out[at + 1] = Math.cos(lat) * Math.sin(lon);
    out[at + 2] = Math.sin(lat);
  }

  let net = null;
  function graticule() {
    if (net) return net;
    const line = (place) => {
      const points = new Float32Array(61 * 3);
      for (let k = 0; k <= 60; k++) unit(...place(k / 60), points, 3 * k);
      return points;
    };
    net = [];
    for (let lon = 0; lon < 360; lon += 30) net.push(line((part) => [lon * DEGREE, (part - 0.5) * 160 * DEGREE]));
    for (let lat = -60; lat <= 60; lat += 30) net.push(line((part) => [part * 2 * Math.PI, lat * DEGREE]));
    return net;
  }

  he.nearest = 40; // greatest zoom

  // Where to look first.
  he.firstLook = function (view) {
    const cloud = he.cloud(view);
    if (cloud.dims !== 3) return { yaw: 0, pitch: 0 };
    if (view.kind !== "globe" && view.kind !== "hemisphere") return { yaw: 35 * DEGREE, pitch: 20 * DEGREE };
    const look = (x, y, z, steepest = 1) => ({ yaw: Math.atan2(y, x), pitch: Math.max(-steepest, Math.min(steepest, Math.atan2(z, Math.hypot(x, y)))) });
    // A narrow cloud is seen from near; a wide one from where most of it is.
    if (view.centre && view.spread < 60) {
      const width = Math.max(view.spread, (1.6 * (he.footprint(view) || 0)) / DEGREE, 1e-3), zoom = Math.max(1, Math.min(he.nearest, 28 / width));
      return { ...look(...view.centre, zoom > 1 ? Math.PI / 2 : 1), zoom };
    }
    const frame = view.density ? he.frameFor(view, view.density.frames[Math.floor(view.density.frames.length / 2)].scale) : null;
    if (frame && frame.most - frame.least > 0.05) {
      const at = frame.bytes.indexOf(frame.bytes.reduce((a, b) => Math.max(a, b), 0)), { rows, columns } = frame;
      const place = [0, 0, 0];
      unit((((at % columns) + 0.5) / columns - 0.5) * 2 * Math.PI, (0.5 - (Math.floor(at / columns) + 0.5) / rows) * Math.PI, place, 0);
      return look(...place);
    }
    let x = 0, y = 0, z = 0, total = 1e-9;
    for (let i = 0; i < cloud.count; i++) {
      const w = cloud.sizes[i];
      x += w * cloud.points[3 * i]; y += w * cloud.points[3 * i + 1]; z += w * cloud.points[3 * i + 2]; total += w;
    }
    return view.kind === "globe" && Math.hypot(x, y, z) > 0.1 * total ? look(x, y, z) : { yaw: 0, pitch: 20 * DEGREE };
  };

  // ---- The globe, and the half globe on which an axis x, -x is one atom on the near side

  he.painters.globe = function (measure) {
    const view = measure.view, cloud = he.cloud(view), axes = view.kind === "hemisphere", mirror = view.graticule === "sky";
    let raster = null, shown = "";

    function background(centre, radius, frame, range, screen, step) {
      const key = [raster.width, raster.height, radius, he.state.yaw, he.state.pitch, frame && `${frame.scale} ${frame.at}`, range && range.low, range && range.high, he.colour("paper"), step].join();
      if (key === shown) return;
      shown = key;
      const { behind, width, height } = raster;
      const ground = he.pack(he.rgb("ground"));
      const sample = frame ? sampler(frame, range) : null;
      const { right, up, toward } = screen;
      behind.fill(0);
      for (let y0 = 0; y0 < height; y0 += step) {
        const v = -(y0 + step / 2 - centre.y) / radius;
        for (let x0 = 0; x0 < width; x0 += step) {
          const u = (x0 + step / 2 - centre.x) / radius, rest = 1 - u * u - v * v;
          if (rest < -0.004) continue;
          const w = Math.sqrt(Math.max(rest, 0));
          const colour = sample
            ? sample(u * right[0] + v * up[0] + w * toward[0], u * right[1] + v * up[1] + w * toward[1], u * right[2] + v * up[2] + w * toward[2])
            : ground;
          const xEnd = Math.min(width, x0 + step), yEnd = Math.min(height, y0 + step);
          for (let y = y0; y < yEnd; y++) for (let x = x0; x < xEnd; x++) behind[x + width * y] = colour;
        }
      }
    }

    function atoms(centre, radius, { right, up, toward }) {
      const { points, classes, count } = cloud, { stamp, cover } = raster;
      cover.fill(0);
      if (view.dots === false && view.density) return;
      const [r0, r1, r2] = right, [u0, u1, u2] = up, [t0, t1, t2] = toward;
      for (let i = 0, k = 0; i < count; i++, k += 3) {
        const x = points[k], y = points[k + 1], z = points[k + 2];
        const near = t0 * x + t1 * y + t2 * z;
        let reach = radius;
        if (near < 0) {
          if (!axes) continue;
          reach = -radius;
        }
        stamp((centre.x + reach * (r0 * x + r1 * y + r2 * z) + 0.5) | 0, (centre.y - reach * (u0 * x + u1 * y + u2 * z) + 0.5) | 0, classes[i], 1);
      }
    }

    function lines(context, list, centre, radius, { right, up, toward }, ratio, colour, opacity, width) {
      context.beginPath();
      for (const line of list) {
        let open = false;
        for (let k = 0; k < line.length; k += 3) {
          const x = line[k], y = line[k + 1], z = line[k + 2];
          if (he.dot(toward, x, y, z) <= 0) { open = false; continue; }
          const px = centre.x + radius * he.dot(right, x, y, z), py = centre.y - radius * he.dot(up, x, y, z);
          if (open) context.lineTo(px, py); else context.moveTo(px, py);
          open = true;
        }
      }
      context.lineWidth = width * ratio;
      context.strokeStyle = he.colour(colour);
      context.globalAlpha = opacity;
      context.stroke();
      context.globalAlpha = 1;
    }

    function labels(context, centre, radius, screen, ratio, taken) {
      const put = (lon, lat, text) => {
        const at = [0, 0, 0];
        unit(lon * DEGREE, lat * DEGREE, at, 0);
        if (he.dot(screen.toward, ...at) < 0.35) return;
        const x = centre.x + radius * he.dot(screen.right, ...at), y = centre.y - radius * he.dot(screen.up, ...at);
        if (taken && Math.abs(x - taken.x) < 36 * ratio && Math.abs(y - taken.y) < 16 * ratio) return;
        he.text(context, text, x, y, ratio, { size: 10 });
      };
      const here = 30 * Math.round(he.state.yaw / DEGREE / 30);
      const east = (lon) => (lon === 0 ? "0°" : lon === 180 ? "180°" : lon < 180 ? `${lon}°E` : `${360 - lon}°W`);
      for (let lon = 0; lon < 360; lon += 30) put(lon, 0, view.graticule !== "sky" ? east(lon) : view.frame === "icrs" ? `${lon / 15}h` : `${lon}°`);
      for (const lat of [-60, -30, 30, 60]) put(here, lat, view.graticule === "sky" ? `${lat > 0 ? "+" : "−"}${Math.abs(lat)}°` : `${Math.abs(lat)}°${lat > 0 ? "N" : "S"}`);
    }

    let last = null;
    return {
      turns: true, mirror, ruler: he.footprint(view) === null ? null : "ring",
      // Where an atom is on the canvas; null on the far side.
      spot(i) {
        const { points } = cloud, at = [points[3 * i], points[3 * i + 1], points[3 * i + 2]], near = he.dot(last.screen.toward, ...at), reach = near < 0 ? -last.radius : last.radius;
        if (near < 0 && !axes) return null;
        return [last.centre.x + reach * he.dot(last.screen.right, ...at), last.centre.y - reach * he.dot(last.screen.up, ...at)];
      },
      draw(context, width, height, ratio, moving) {
        if (!raster || raster.width !== width || raster.height !== height) {
          raster = he.raster(context, width, height, cloud, ratio);
          shown = "";
        }
        const centre = { x: width / 2, y: height / 2 }, radius = Math.min(width, height) * 0.475 * he.state.zoom;
        const screen = he.screenAxes(he.state.yaw, he.state.pitch, mirror);
        last = { centre, radius, screen };
        const frame = he.frameFor(view, he.state.index), range = he.densityRange(he.state.index);
        background(centre, radius, frame, range, screen, Math.max(1, Math.round((moving ? 4 : 1) * ratio)));
        atoms(centre, radius, screen);
        raster.show();
        if (view.coast) lines(context, coastlines(), centre, radius, screen, ratio, "ink", 0.55, 0.9);
        if (view.graticule) lines(context, graticule(), centre, radius, screen, ratio, "ink", 0.16, 0.8);
        context.beginPath();
        context.arc(centre.x, centre.y, radius, 0, 2 * Math.PI);
        context.lineWidth = 1.5 * ratio;
        context.strokeStyle = he.colour("soft");
        context.stroke();
        const angle = he.footprint(view) ?? 0;
        const label = !angle ? { x: -99, y: -99 } : angle < Math.PI / 2 ? he.ring(context, centre.x, centre.y, radius * Math.sin(angle), ratio) : null;
        if (view.graticule === "earth" || view.graticule === "sky") labels(context, centre, radius, screen, ratio, label);
        if (!label) he.text(context, `${he.scaleText(he.scaleNow())}: wider than what is seen`, centre.x, height - 10 * ratio, ratio, { size: 12, colour: "accent" });
      },
    };
  };
  he.painters.hemisphere = he.painters.globe;

  // Bilinear between the cells of a grid in longitude and latitude; the first row is at the north.
  function sampler(frame, range) {
    if (frame.patch) return patchSampler(frame, range);
    const { bytes, rows, columns } = frame, { slope, shift } = he.toRamp(frame, range), ramp = he.ramp();
    const perRow = rows / Math.PI, perColumn = columns / (2 * Math.PI);
    return function (x, y, z) {
      const across = (Math.atan2(y, x) + Math.PI) * perColumn - 0.5 + columns, down = Math.acos(z > 1 ? 1 : z < -1 ? -1 : z) * perRow - 0.5;
      const j = Math.floor(across), a = across - j, left = j % columns, right = left + 1 === columns ? 0 : left + 1;
      const i = Math.floor(down), b = down - i, top = i < 0 ? 0 : i, under = i + 1 < rows ? i + 1 : rows - 1;
      const value = (1 - b) * ((1 - a) * bytes[top * columns + left] + a * bytes[top * columns + right]) +
        b * ((1 - a) * bytes[under * columns + left] + a * bytes[under * columns + right]);
      const place = (slope * value + shift + 0.5) | 0;
      return ramp[place < 0 ? 0 : place > 255 ? 255 : place];
    };
  }

  he.sampler = sampler;
  he.coastlines = coastlines;
  he.graticule = graticule;

  // The same on a patch of the sphere, seen from above its centre: fine scales of a small cloud. Outside there is next to nothing.
  function patchSampler(frame, range) {
    const { bytes, rows, columns, patch } = frame, { slope, shift } = he.toRamp(frame, range), ramp = he.ramp();
    const shade = (value) => ramp[Math.max(0, Math.min(255, (slope * value + shift + 0.5) | 0))], outside = shade(0);
    return function (x, y, z) {
      const across = ((he.dot(patch.right, x, y, z) / patch.half + 1) / 2) * columns - 0.5, down = ((1 - he.dot(patch.up, x, y, z) / patch.half) / 2) * rows - 0.5;
      if (he.dot(patch.centre, x, y, z) <= 0 || across < -0.5 || down < -0.5 || across > columns - 0.5 || down > rows - 0.5) return outside;
      const left = Math.max(0, Math.min(columns - 2, Math.floor(across))), top = Math.max(0, Math.min(rows - 2, Math.floor(down)));
      const a = Math.max(0, Math.min(1, across - left)), b = Math.max(0, Math.min(1, down - top)), at = top * columns + left;
      return shade((1 - b) * ((1 - a) * bytes[at] + a * bytes[at + 1]) + b * ((1 - a) * bytes[at + columns] + a * bytes[at + columns + 1]));
    };
  }

  // ---- Clouds that one looks through: nearer atoms stand out

  he.painters.ball = function (measure) {
    const view = measure.view, cloud = he.cloud(view), ball = view.kind === "ball" || view.footprint === null; // Poincare's model is a ball too
    let raster = null;

    function frameLines(context, centre, radius, { right, up }, ratio) {
      const at = (x, y, z) => [centre.x + radius * he.dot(right, x, y, z), centre.y - radius * he.dot(up, x, y, z)];
      context.lineWidth = ratio;
      context.strokeStyle = he.colour("soft");
      context.globalAlpha = 0.55;
      context.beginPath();
      if (ball) {
        context.arc(centre.x, centre.y, radius, 0, 2 * Math.PI);
        for (const turn of [(c, s) => [c, s, 0], (c, s) => [c, 0, s], (c, s) => [0, c, s]]) {
          for (let k = 0; k <= 72; k++) {
            const [x, y] = at(...turn(Math.cos(k * 5 * DEGREE), Math.sin(k * 5 * DEGREE)));
            if (k) context.lineTo(x, y); else context.moveTo(x, y);
          }
        }
      } else {
        for (let axis = 0; axis < 3; axis++) {
          for (const [a, b] of [[-1, -1], [-1, 1], [1, -1], [1, 1]]) {
            const from = [a, b], to = [a, b];
            from.splice(axis, 0, -1); to.splice(axis, 0, 1);
            context.moveTo(...at(...from)); context.lineTo(...at(...to));
          }
        }
      }
      context.stroke();
      context.globalAlpha = 1;
      (view.axes || []).slice(0, 3).forEach((name, axis) => {
        const tip = [0, 0, 0], reach = ball ? 1.0 : 1.12;
        tip[axis] = reach;
        he.text(context, name, ...at(...tip), ratio, { size: 12, colour: "ink" });
      });
    }

    let last = null;
    return {
      turns: true, ruler: he.footprint(view) === null ? null : "ring",
      spot(i) {
        const at = [cloud.points[3 * i], cloud.points[3 * i + 1], cloud.points[3 * i + 2]];
        return [last.centre.x + last.scale * he.dot(last.screen.right, ...at), last.centre.y - last.scale * he.dot(last.screen.up, ...at)];
      },
      draw(context, width, height, ratio) {
        if (!raster || raster.width !== width || raster.height !== height) raster = he.raster(context, width, height, cloud, ratio);
        const centre = { x: width / 2, y: height / 2 }, radius = Math.min(width, height) * (ball ? 0.45 : 0.3) * he.state.zoom;
        const screen = he.screenAxes(he.state.yaw, he.state.pitch, false), { right, up, toward } = screen;
        const { points, classes, count } = cloud, scale = radius / view.extent;
        last = { centre, scale, screen };
        raster.cover.fill(0);
        for (let i = 0, k = 0; i < count; i++, k += 3) {
          const x = points[k], y = points[k + 1], z = points[k + 2];
          const near = (toward[0] * x + toward[1] * y + toward[2] * z) / view.extent;
          raster.stamp(Math.round(centre.x + scale * (right[0] * x + right[1] * y + right[2] * z)),
            Math.round(centre.y - scale * (up[0] * x + up[1] * y + up[2] * z)), classes[i], 0.65 + 0.35 * Math.max(-1, Math.min(1, near)));
        }
        raster.show();
        frameLines(context, centre, radius, screen, ratio);
        const size = (he.footprint(view) ?? Infinity) * scale;
        if (size < radius * (ball ? 1 : 1.5)) he.ring(context, centre.x, centre.y, size, ratio);
      },
    };
  };
  he.painters.solid = he.painters.ball;
})(heatess);
