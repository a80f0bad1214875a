// The whole sphere at once, with equal areas: Mollweide's map beside the globe, for the sky and the Earth.
(function (he) {
  "use strict";

  const DEGREE = Math.PI / 180;

  // The auxiliary angle of a latitude: 2 a + sin 2 a = pi sin(latitude).
  function auxiliary(lat) {
    const wanted = Math.PI * Math.sin(lat);
    let a = lat;
    if (Math.abs(lat) > 89.9 * DEGREE) return Math.sign(lat) * (Math.PI / 2);
    for (let k = 0; k < 12; k++) {
      const step = (2 * a + Math.sin(2 * a) - wanted) / (2 + 2 * Math.cos(2 * a));
      a -= step;
      if (Math.abs(step) < 1e-7) break;
    }
    return a;
  }

  // A unit vector in the ellipse: x from -2 to 2, y from -1 to 1.
  function flat(x, y, z, middle, sign) {
    const a = auxiliary(Math.asin(Math.max(-1, Math.min(1, z))));
    let lon = Math.atan2(y, x) - middle;
    lon -= 2 * Math.PI * Math.round(lon / (2 * Math.PI));
    return [(sign * 2 * lon * Math.cos(a)) / Math.PI, Math.sin(a)];
  }
  he.mollweideOf = flat;

  he.painters.mollweide = function (measure) {
    const view = measure.view, cloud = he.cloud(view), sky = view.graticule === "sky", sign = sky ? -1 : 1;
    const middle = view.frame === "icrs" ? Math.PI : 0, places = new Float32Array(2 * cloud.count);
    for (let i = 0; i < cloud.count; i++) places.set(flat(cloud.points[3 * i], cloud.points[3 * i + 1], cloud.points[3 * i + 2], middle, sign), 2 * i);
    let raster = null, at = null;

    function ground(frame, range, x0, y0, unit) {
      const { behind, width, height } = raster, colour = he.pack(he.rgb("ground")), sample = frame ? he.sampler(frame, range) : null;
      behind.fill(0);
      for (let py = 0; py < height; py++) {
        const sine = (y0 - py - 0.5) / unit;
        if (Math.abs(sine) > 1) continue;
        const a = Math.asin(sine), cosine = Math.cos(a), lat = Math.asin((2 * a + Math.sin(2 * a)) / Math.PI), c = Math.cos(lat), z = Math.sin(lat);
        for (let px = 0; px < width; px++) {
          const lon = (sign * Math.PI * (px + 0.5 - x0)) / (2 * unit * cosine);
          if (Math.abs(lon) > Math.PI) continue;
          behind[px + width * py] = sample ? sample(c * Math.cos(lon + middle), c * Math.sin(lon + middle), z) : colour;
        }
      }
    }

    function lines(context, list, colour, opacity, ratio) {
      context.beginPath();
      for (const line of list) {
        let before = null;
        for (let k = 0; k < line.length; k += 3) {
          const place = flat(line[k], line[k + 1], line[k + 2], middle, sign), [x, y] = at(...place);
          if (before && Math.abs(before[0] - place[0]) < 0.8) context.lineTo(x, y); else context.moveTo(x, y);
          before = place;
        }
      }
      context.lineWidth = 0.8 * ratio;
      context.strokeStyle = he.colour(colour);
      context.globalAlpha = opacity;
      context.stroke();
      context.globalAlpha = 1;
    }

    function labels(context, ratio) {
      const hours = view.frame === "icrs", put = (lon, lat, text) => {
        const [x, y] = at(...flat(Math.cos(lat * DEGREE) * Math.cos(lon * DEGREE), Math.cos(lat * DEGREE) * Math.sin(lon * DEGREE), Math.sin(lat * DEGREE), middle, sign));
        he.text(context, text, x, y, ratio, { size: 10 });
      };
      for (let step = -2; step <= 2; step++) {
        const lon = (middle / DEGREE + 60 * step + 360) % 360;
        put(lon, 0, hours ? `${lon / 15}h` : sky ? `${lon}°` : lon === 0 ? "0°" : lon < 180 ? `${lon}°E` : `${360 - lon}°W`);
      }
      for (const lat of [-60, -30, 30, 60]) put(middle / DEGREE, lat, sky ? `${lat > 0 ? "+" : "−"}${Math.abs(lat)}°` : `${Math.abs(lat)}°${lat > 0 ? "N" : "S"}`);
    }

    return {
      turns: false, ruler: null, flat: true,
      spot: (i) => at(places[2 * i], places[2 * i + 1]),
      draw(context, width, height, ratio) {
        if (!raster || raster.width !== width || raster.height !== height) raster = he.raster(context, width, height, cloud, ratio);
        const x0 = width / 2, y0 = height / 2, unit = Math.min(width / 4, height / 2) - 3 * ratio;
        at = (x, y) => [x0 + unit * x, y0 - unit * y];
        ground(he.frameFor(view, he.state.index), he.densityRange(he.state.index), x0, y0, unit);
        raster.cover.fill(0);
        if (view.dots !== false || !view.density) {
          for (let i = 0; i < cloud.count; i++) raster.stamp(Math.round(x0 + unit * places[2 * i]), Math.round(y0 - unit * places[2 * i + 1]), cloud.classes[i], 1);
        }
        raster.show();
        if (view.coast) lines(context, he.coastlines(), "ink", 0.5, ratio);
        lines(context, he.graticule(), "ink", 0.16, ratio);
        context.beginPath();
        context.ellipse(x0, y0, 2 * unit, unit, 0, 0, 2 * Math.PI);
        context.lineWidth = 1.2 * ratio;
        context.strokeStyle = he.colour("soft");
        context.stroke();
        labels(context, ratio);
      },
    };
  };
})(heatess);
