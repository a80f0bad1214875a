// Flat pictures: the circle, the wrapped square of a torus, a scatter in the plane, and a graph.
(function (he) {
  "use strict";

  const DEGREE = Math.PI / 180;

  // Density of a grid as a small canvas, to be drawn enlarged and smooth; the first row is at the top.
  function picture(frame, range) {
    const { rows, columns } = frame, canvas = document.createElement("canvas");
    canvas.width = columns;
    canvas.height = rows;
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
    const pixels = new Uint32Array(image.data.buffer), ramp = he.ramp(), { slope, shift } = he.toRamp(frame, range);
    for (let i = 0; i < pixels.length; i++) pixels[i] = ramp[Math.max(0, Math.min(255, Math.round(slope * frame.bytes[i] + shift)))];
    context.putImageData(image, 0, 0);
    return canvas;
  }

  // ---- The square of a torus, whose opposite sides are one line, and the plane

  he.painters.square = function (measure) {
    const view = measure.view, cloud = he.cloud(view), wrapped = view.kind === "square";
    let raster = null;
    const degrees = wrapped && Math.abs(view.extent - Math.PI) < 0.01;
    const name = (value) => (degrees ? `${Math.round(value / DEGREE)}°`.replace("-", "−") : he.number(value));

    const middle = (axis) => (view.middle || [])[axis] || 0;
    const half = (axis) => (view.box || [])[axis] || view.extent; // a torus may be longer one way

    function ticks(axis) {
      if (degrees) return [-180, -90, 0, 90, 180].map((value) => value * DEGREE);
      if (wrapped) return [-1, -0.5, 0, 0.5, 1].map((value) => value * half(axis));
      return he.linearTicks(middle(axis) - view.extent, middle(axis) + view.extent, 6).map((value) => value - middle(axis));
    }

    function axes(context, box, at, ratio) {
      context.lineWidth = ratio;
      context.strokeStyle = he.colour("ink");
      context.globalAlpha = 0.14;
      context.beginPath();
      for (const value of ticks(0)) {
        const [x] = at(value, 0);
        context.moveTo(x, at(0, half(1))[1]); context.lineTo(x, at(0, -half(1))[1]);
      }
      for (const value of ticks(1)) {
        const [, y] = at(0, value);
        context.moveTo(at(-half(0), 0)[0], y); context.lineTo(at(half(0), 0)[0], y);
      }
      context.stroke();
      context.globalAlpha = 1;
      context.strokeStyle = he.colour("soft");
      if (wrapped) context.setLineDash([6 * ratio, 4 * ratio]);
      const corner = at(-half(0), half(1)), opposite = at(half(0), -half(1));
      context.strokeRect(...corner, opposite[0] - corner[0], opposite[1] - corner[1]);
      context.setLineDash([]);
      const few = (axis) => ticks(axis).filter((_, k) => half(axis) > 0.5 * view.extent || k % 2 === 0);
      for (const value of few(0)) he.text(context, name(value + middle(0)), at(value, 0)[0], opposite[1] + 12 * ratio, ratio, { halo: null });
      for (const value of few(1)) he.text(context, name(value + middle(1)), corner[0] - 6 * ratio, at(0, value)[1], ratio, { align: "right", halo: null });
      const [across, upward] = view.axes || [];
      if (across) he.text(context, across, box.x + box.side / 2, opposite[1] + 30 * ratio, ratio, { size: 12, colour: "ink", halo: null });
      if (upward) {
        context.save();
        context.translate(corner[0] - 49 * ratio, box.y + box.side / 2);
        context.rotate(-Math.PI / 2);
        he.text(context, upward, 0, 0, ratio, { size: 12, colour: "ink", halo: null });
        context.restore();
      }
    }

    let place = null;
    return {
      turns: false, ruler: he.footprint(view) === null ? null : "ring",
      spot: (i) => place(cloud.points[cloud.dims * i], cloud.points[cloud.dims * i + 1]),
      draw(context, width, height, ratio) {
        const left = 58 * ratio, under = 42 * ratio, side = Math.floor(Math.min(width - left - 16 * ratio, height - under - 12 * ratio));
        const box = { x: left, y: 12 * ratio, side };
        if (!raster || raster.width !== side) raster = he.raster(context, side, side, cloud, ratio);
        const reach = side / 2, scale = reach / view.extent;
        const inner = (x, y) => [reach + scale * x, reach - scale * y];
        const at = (x, y) => [box.x + reach + scale * x, box.y + reach - scale * y];
        place = at;
        context.clearRect(0, 0, width, height);
        ground(context, box, at);
        const { points, classes, count, dims } = cloud;
        raster.cover.fill(0);
        for (let i = 0; i < count; i++) {
          const [x, y] = inner(points[dims * i], points[dims * i + 1]);
          stampAround(Math.round(x), Math.round(y), classes[i], scale);
        }
        layer(context, box, at);
        axes(context, box, at, ratio);
        const size = (he.footprint(view) ?? Infinity) * scale;
        context.save();
        context.beginPath();
        context.rect(box.x, box.y, side, side);
        context.clip();
        if (size < side) he.ring(context, ...at(0, 0), size, ratio);
        context.restore();
        if (view.footprint === null) rim(context, box, ratio); // Poincare's disc
      },
    };

    function rim(context, box, ratio) {
      context.beginPath();
      context.arc(box.x + box.side / 2, box.y + box.side / 2, box.side / 2, 0, 2 * Math.PI);
      context.lineWidth = 1.5 * ratio;
      context.strokeStyle = he.colour("ink");
      context.stroke();
    }

    function ground(context, box, at) {
      const corner = at(-half(0), half(1)), opposite = at(half(0), -half(1));
      context.fillStyle = he.colour("ground");
      context.fillRect(...corner, opposite[0] - corner[0], opposite[1] - corner[1]);
      const frame = he.frameFor(view, he.state.index), range = he.densityRange(he.state.index);
      if (!frame || view.density.layout === "nodes") return;
      context.imageSmoothingEnabled = true;
      context.imageSmoothingQuality = "high";
      const [across, up] = (view.box || [view.extent, view.extent]).map((half) => half / view.extent);
      context.drawImage(picture(frame, range), box.x + (box.side * (1 - across)) / 2, box.y + (box.side * (1 - up)) / 2, box.side * across, box.side * up);
    }

    // An atom at an edge of the square is also seen at the opposite edge.
    function stampAround(x, y, size, scale) {
      raster.stamp(x, y, size, 1);
      if (!wrapped) return;
      const reach = 8 * (window.devicePixelRatio || 1), middle = raster.width / 2;
      const other = (place, axis) => {
        const edge = scale * half(axis), from = place - middle;
        return from < reach - edge ? Math.round(2 * edge) : from > edge - reach ? -Math.round(2 * edge) : 0;
      };
      const dx = other(x, 0), dy = other(y, 1);
      if (dx) raster.stamp(x + dx, y, size, 1);
      if (dy) raster.stamp(x, y + dy, size, 1);
      if (dx && dy) raster.stamp(x + dx, y + dy, size, 1);
    }

    // Atoms over what is drawn already: through a canvas of their own, since ImageData replaces pixels.
    function layer(context, box, at) {
      const own = document.createElement("canvas");
      own.width = own.height = box.side;
      raster.behind.fill(0);
      raster.show(own.getContext("2d"));
      const corner = at(-half(0), half(1)), opposite = at(half(0), -half(1));
      context.save();
      context.beginPath();
      context.rect(...corner, opposite[0] - corner[0], opposite[1] - corner[1]);
      context.clip();
      context.drawImage(own, box.x, box.y);
      context.restore();
    }
  };
  he.painters.flat = he.painters.square;

  // ---- The circle: atoms as ticks, density as a curve around it

  he.painters.circle = function (measure) {
    const view = measure.view, cloud = he.cloud(view), bins = 720;
    const heaviest = new Uint8Array(bins), number = new Uint32Array(bins);
    for (let i = 0; i < cloud.count; i++) {
      const angle = cloud.dims === 2 ? Math.atan2(cloud.points[2 * i + 1], cloud.points[2 * i]) : (cloud.points[i] * Math.PI) / view.extent;
      const bin = Math.floor(((angle / (2 * Math.PI) + 1) % 1) * bins) % bins;
      heaviest[bin] = Math.max(heaviest[bin], cloud.sizes[i]);
      number[bin] += 1;
    }

    return {
      turns: false, ruler: "arc",
      draw(context, width, height, ratio) {
        const x0 = width / 2, y0 = height / 2, radius = Math.min(width, height) * 0.3;
        context.clearRect(0, 0, width, height);
        const at = (angle, r) => [x0 + r * Math.cos(angle), y0 - r * Math.sin(angle)];
        const frame = he.frameFor(view, he.state.index);
        if (frame) density(context, frame, at, radius, ratio);
        context.beginPath();
        context.arc(x0, y0, radius, 0, 2 * Math.PI);
        context.lineWidth = 1.5 * ratio;
        context.strokeStyle = he.colour("soft");
        context.stroke();
        context.strokeStyle = he.colour("atom");
        context.lineWidth = 1.4 * ratio;
        for (let bin = 0; bin < bins; bin++) {
          if (!number[bin]) continue;
          const angle = ((bin + 0.5) / bins) * 2 * Math.PI, inner = radius - (4 + 18 * Math.sqrt(heaviest[bin] / 255)) * ratio;
          context.globalAlpha = Math.min(0.95, 0.45 + 0.1 * number[bin]);
          context.beginPath();
          context.moveTo(...at(angle, radius));
          context.lineTo(...at(angle, inner));
          context.stroke();
        }
        context.globalAlpha = 1;
        for (let k = 0; k < 4; k++) he.text(context, he.data.scales.unit === "deg" ? `${90 * k}°` : ["0", "¼ turn", "½", "¾"][k], ...at((k * Math.PI) / 2, radius * 0.72), ratio);
        arc(context, x0, y0, radius, ratio, at);
      },
    };

    function density(context, frame, at, radius, ratio) {
      const values = Array.from(frame.bytes, (byte) => 10 ** (frame.least + (byte / 255) * (frame.most - frame.least)));
      const most = Math.max(...values), reach = radius * 0.5;
      context.beginPath();
      for (let k = 0; k <= values.length; k++) {
        const angle = ((k + 0.5) / values.length) * 2 * Math.PI - Math.PI;
        context.lineTo(...at(angle, radius + (reach * values[k % values.length]) / most));
      }
      context.closePath();
      context.fillStyle = he.colour("mid");
      context.fill();
      context.lineWidth = 1.5 * ratio;
      context.strokeStyle = he.colour("high");
      context.stroke();
      context.beginPath();
      context.arc(...at(0, 0), radius, 0, 2 * Math.PI);
      context.fillStyle = he.colour("paper");
      context.fill();
    }

    // The ruler on a circle is an arc of the scale to either side of its top.
    function arc(context, x0, y0, radius, ratio, at) {
      const angle = Math.min(Math.PI, he.data.scales.values[he.state.index] * (view.footprint ?? 1) * DEGREE), r = radius * 0.5;
      context.beginPath();
      context.arc(x0, y0, r, -Math.PI / 2 - angle, -Math.PI / 2 + angle);
      context.lineWidth = 2.5 * ratio;
      context.strokeStyle = he.colour("accent");
      context.stroke();
      for (const end of [Math.PI / 2 - angle, Math.PI / 2 + angle]) {
        context.beginPath();
        context.moveTo(...at(end, r - 5 * ratio));
        context.lineTo(...at(end, r + 5 * ratio));
        context.stroke();
      }
      he.text(context, `± ${he.scaleText(he.scaleNow())}`, x0, y0 - r + 16 * ratio, ratio, { size: 12, colour: "accent" });
    }
  };

  // ---- A graph: nodes in the plane, coloured by density, with their links

  he.painters.graph = function (measure) {
    const view = measure.view, cloud = he.cloud(view), links = view.edges ? he.uint32(view.edges) : view.faces ? he.uint32(view.faces) : [];
    let place = null;
    return {
      turns: false,
      spot: (i) => place(i),
      draw(context, width, height, ratio) {
        context.clearRect(0, 0, width, height);
        const scale = (Math.min(width, height) * 0.46) / view.extent, { points, dims, count, sizes } = cloud;
        const at = (i) => [width / 2 + scale * points[dims * i], height / 2 - scale * points[dims * i + 1]];
        place = at;
        context.beginPath();
        for (let k = 0; k + 1 < links.length; k += 2) {
          context.moveTo(...at(links[k]));
          context.lineTo(...at(links[k + 1]));
        }
        context.lineWidth = ratio;
        context.strokeStyle = he.colour("soft");
        context.globalAlpha = links.length > 4000 ? 0.2 : 0.5;
        context.stroke();
        context.globalAlpha = 1;
        const frame = he.frameFor(view, he.state.index), range = he.densityRange(he.state.index), ramp = he.ramp();
        const map = frame ? he.toRamp(frame, range) : null, base = Math.max(1.5, Math.min(7, 70 / Math.sqrt(count))) * ratio;
        for (let i = 0; i < count; i++) {
          const place = map ? ramp[Math.max(0, Math.min(255, Math.round(map.slope * frame.bytes[i] + map.shift)))] : he.pack(he.rgb("ground"));
          context.beginPath();
          context.arc(...at(i), base * (0.55 + 0.75 * Math.sqrt(sizes[i] / 255)), 0, 2 * Math.PI);
          context.fillStyle = `rgb(${place & 255} ${(place >> 8) & 255} ${(place >> 16) & 255})`;
          context.fill();
          context.lineWidth = (sizes[i] ? 1.4 : 0.6) * ratio;
          context.strokeStyle = he.colour(sizes[i] ? "atom" : "soft");
          context.stroke();
        }
      },
    };
  };
})(heatess);
