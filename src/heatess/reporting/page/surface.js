// A surface of triangles, shaded by its slope and coloured by the density at its nodes, with a depth buffer.
(function (he) {
  "use strict";

  he.painters.surface = function (measure) {
    const view = measure.view, cloud = he.cloud(view), faces = he.uint32(view.faces), { points, count, classes, sizes } = cloud;
    const placed = new Float32Array(count * 3); // x, y in pixels; depth
    const tones = new Float32Array(count);
    let raster = null, depth = null;

    function project(centre, radius, { right, up, toward }) {
      const scale = radius / view.extent;
      for (let k = 0; k < count * 3; k += 3) {
        const x = points[k], y = points[k + 1], z = points[k + 2];
        placed[k] = centre.x + scale * (right[0] * x + right[1] * y + right[2] * z);
        placed[k + 1] = centre.y - scale * (up[0] * x + up[1] * y + up[2] * z);
        placed[k + 2] = scale * (toward[0] * x + toward[1] * y + toward[2] * z);
      }
    }

    function colours() {
      const frame = he.frameFor(view, he.state.index), range = he.densityRange(he.state.index);
      if (!frame) return tones.fill(0);
      const { slope, shift } = he.toRamp(frame, range);
      for (let i = 0; i < count; i++) tones[i] = Math.max(0, Math.min(255, slope * frame.bytes[i] + shift));
    }

    // One triangle: pixels whose three barycentric weights are not negative and that lie in front.
    function triangle(a, b, c, ramp) {
      const { width, height, behind } = raster;
      const ax = placed[3 * a], ay = placed[3 * a + 1], az = placed[3 * a + 2], bx = placed[3 * b], by = placed[3 * b + 1], bz = placed[3 * b + 2];
      const cx = placed[3 * c], cy = placed[3 * c + 1], cz = placed[3 * c + 2];
      const area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay);
      if (area === 0) return;
      const nx = (by - ay) * (cz - az) - (bz - az) * (cy - ay), ny = (bz - az) * (cx - ax) - (bx - ax) * (cz - az);
      const light = 0.5 + 0.5 * Math.min(1, (Math.abs(area) + 0.35 * Math.sign(area) * (-nx - ny)) / (Math.hypot(nx, ny, area) * 1.1));
      const x0 = Math.max(0, Math.floor(Math.min(ax, bx, cx))), x1 = Math.min(width - 1, Math.ceil(Math.max(ax, bx, cx)));
      const y0 = Math.max(0, Math.floor(Math.min(ay, by, cy))), y1 = Math.min(height - 1, Math.ceil(Math.max(ay, by, cy)));
      for (let y = y0; y <= y1; y++) {
        for (let x = x0; x <= x1; x++) {
          const v = ((x - ax) * (cy - ay) - (cx - ax) * (y - ay)) / area, w = ((bx - ax) * (y - ay) - (x - ax) * (by - ay)) / area, u = 1 - v - w;
          if (u < -1e-4 || v < -1e-4 || w < -1e-4) continue;
          const z = u * az + v * bz + w * cz, at = x + width * y;
          if (z <= depth[at]) continue;
          depth[at] = z;
          const colour = ramp[(u * tones[a] + v * tones[b] + w * tones[c]) | 0];
          behind[at] = ((255 << 24) | (((colour >> 16) & 255) * light << 16) | (((colour >> 8) & 255) * light << 8) | ((colour & 255) * light)) >>> 0;
        }
      }
    }

    return {
      turns: true, ruler: he.data.scales.unit === "" ? "ring" : null,
      spot(i) {
        const x = Math.round(placed[3 * i]), y = Math.round(placed[3 * i + 1]);
        return !sizes[i] || depth[x + raster.width * y] > placed[3 * i + 2] + 4 ? null : [x, y];
      },
      draw(context, width, height, ratio) {
        if (!raster || raster.width !== width || raster.height !== height) {
          raster = he.raster(context, width, height, cloud, ratio);
          depth = new Float32Array(width * height);
        }
        const centre = { x: width / 2, y: height / 2 }, radius = Math.min(width, height) * 0.46 * he.state.zoom;
        project(centre, radius, he.screenAxes(he.state.yaw, he.state.pitch, false));
        colours();
        depth.fill(-Infinity);
        raster.behind.fill(0);
        raster.cover.fill(0);
        const ramp = he.ramp();
        for (let k = 0; k + 2 < faces.length; k += 3) triangle(faces[k], faces[k + 1], faces[k + 2], ramp);
        const slack = radius * 0.02;
        for (let i = 0; i < count; i++) {
          if (!sizes[i]) continue;
          const x = Math.round(placed[3 * i]), y = Math.round(placed[3 * i + 1]);
          if (x < 0 || y < 0 || x >= width || y >= height || placed[3 * i + 2] < depth[x + width * y] - slack) continue;
          raster.stamp(x, y, classes[i], 1);
        }
        raster.show();
        if (he.data.scales.unit === "") {
          const size = (he.data.scales.values[he.state.index] * radius) / view.extent;
          if (size < radius) he.ring(context, centre.x, centre.y, size, ratio);
        }
      },
    };
  };
})(heatess);
