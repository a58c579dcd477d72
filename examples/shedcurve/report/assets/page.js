"use strict";
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const arms = report.arms;
  const loads = [...new Set(arms.flatMap((a) => a.points.map((p) => p.x)))].sort((a, b) => a - b);
  if (loads.length === 0) return;

  // Loads are placed by their logarithm, as they are spaced. uPlot's own
  // logarithmic axis would widen the range to whole powers of ten.
  const places = loads.map(Math.log);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const round = (v) => v >= 100 ? Math.round(v) : Number(v.toPrecision(3));
  const text = (unit) => (v) => v == null ? "–" : round(v).toLocaleString("en") + unit;
  const armName = (a) => ({ off: "without Spillway", on: "with Spillway" })[a.name] ?? a.name;
  const armColor = (a, i) => ({ off: "--off", on: "--on", target: "--on" })[a.name] ?? "--c" + i % 6;
  const ratio = (part, whole) => whole > 0 ? part / whole : null;

  // line reads one figure at every load; null where there is none.
  function line(arm, label, color, of, more) {
    const at = new Map(arm.points.map((p) => [p.x, p]));
    const get = (x) => at.has(x) ? of(at.get(x)) ?? null : null;
    return { label, color, values: loads.map(get), invalid: loads.map((x) => at.has(x) && !at.get(x).valid), ...more };
  }
  const perArm = (of) => arms.map((a, i) => line(a, armName(a), armColor(a, i), of));
  const steady = (label, of) => ({ label, color: "--ideal", values: loads.map(of), dash: [6, 4], bare: true });
  const keys = (arm, field) => [...new Set(arm.points.flatMap((p) => Object.keys(p[field])))].sort();

  function charts() {
    const list = [{
      title: "Goodput", unit: "multiples of capacity", format: text("×"), wide: true,
      lines: [steady("ideal", (x) => Math.min(x, 1)), ...perArm((p) => ratio(p.goodput_rps, report.capacity_rps))],
    }, {
      title: "Latency of admitted requests", unit: "ms, logarithmic", format: text(" ms"), log: true, wide: true,
      lines: [
        ...arms.flatMap((a, i) => [
          line(a, "p99 " + armName(a), armColor(a, i), (p) => p.admitted_p99_ms),
          line(a, "p50 " + armName(a), armColor(a, i), (p) => p.admitted_p50_ms, { dash: [2, 3] }),
        ]),
        ...(report.deadline_ms > 0 ? [steady("deadline", () => report.deadline_ms)] : []),
      ],
    }];
    for (const arm of arms) {
      list.push({
        title: "Success by tier, " + armName(arm), format: text("%"), top: 100,
        lines: keys(arm, "tiers").map((t, i) => line(arm, t, "--c" + i % 6,
          (p) => t in p.tiers ? ratio(100 * p.tiers[t].good, p.tiers[t].offered) : null)),
      });
    }
    for (const arm of arms) {
      list.push({
        title: "Shed by reason, " + armName(arm), unit: "share of all", format: text("%"),
        lines: keys(arm, "reasons").map((r, i) => line(arm, r, "--c" + i % 6,
          (p) => ratio(100 * (p.reasons[r] ?? 0), p.offered))),
      });
    }
    list.push(
      { title: "Peak goroutines", unit: "logarithmic", format: text(""), log: true, lines: perArm((p) => p.goroutines_peak) },
      { title: "Peak heap", unit: "MB", format: text(" MB"), lines: perArm((p) => p.heap_peak_bytes == null ? null : p.heap_peak_bytes / 1e6) },
      { title: "CPU", unit: "cores", format: text(""), lines: perArm((p) => p.cpu_s == null ? null : ratio(p.cpu_s, p.duration_s)) },
    );
    return list.filter((c) => c.lines.some((l) => !l.bare && l.values.some((v) => v != null)));
  }

  // Ticks at 1, 2 and 5 of each power of ten, or at the powers alone when
  // those would be a crowd.
  function logTicks(min, max) {
    const ticks = (steps) => {
      const all = [];
      for (let e = Math.floor(Math.log10(min)); e <= Math.log10(max); e++) all.push(...steps.map((s) => s * 10 ** e));
      return all.filter((v) => v >= min && v <= max);
    };
    const fine = ticks([1, 2, 5]);
    return fine.length <= 7 ? fine : ticks([1]);
  }

  // Label the loads that have room, and 1, the capacity, before its neighbours.
  function loadTicks(u) {
    const perUnit = (u.width - 80) / (places.at(-1) - places[0] || 1);
    const near = (a, b) => Math.abs(a - b) * perUnit < 34;
    let before = -Infinity;
    return places.filter((p) => {
      if (near(p, before) || (p !== 0 && places.includes(0) && near(p, 0))) return false;
      before = p;
      return true;
    });
  }

  function ringInvalid(u, lines) {
    const { ctx } = u, dpr = devicePixelRatio;
    ctx.setLineDash([]); // the last series may have left its own
    lines.forEach((l, i) => {
      if (!u.series[i + 1].show) return;
      (l.invalid ?? []).forEach((bad, j) => {
        if (!bad || u.data[i + 1][j] == null) return;
        ctx.beginPath();
        ctx.arc(u.valToPos(places[j], "x", true), u.valToPos(u.data[i + 1][j], "y", true), 4 * dpr, 0, 2 * Math.PI);
        ctx.fillStyle = css("--card");
        ctx.strokeStyle = css(l.color);
        ctx.lineWidth = 2 * dpr;
        ctx.fill();
        ctx.stroke();
      });
    });
  }

  function draw(chart) {
    const figure = document.createElement("figure");
    if (chart.wide) figure.className = "wide";
    const caption = document.createElement("figcaption");
    const unit = document.createElement("span");
    unit.textContent = chart.unit ? " – " + chart.unit : "";
    caption.append(chart.title, unit);
    figure.append(caption);
    document.getElementById("charts").append(figure);

    const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const plain = (v) => chart.format(v).replace(" ms", "").replace(" MB", "");
    const width = () => figure.clientWidth - 24;
    const u = new uPlot({
      width: width(), height: chart.wide ? 280 : 220,
      scales: {
        x: { time: false, range: () => [places[0] - 0.08, places.at(-1) + 0.08] },
        y: chart.log
          ? { distr: 3, range: (_, min, max) => min == null ? [1, 10] : [min / 1.4, max * 1.4] }
          : { range: (_, min, max) => [0, Math.max(max ?? 0, chart.top ?? 0, 0.01) * 1.06] },
      },
      axes: [
        { ...axis, splits: loadTicks, values: (_, v) => v.map((p) => loads[places.indexOf(p)] + "×"), size: 32 },
        { ...axis, size: 54, values: (_, v) => v.map(plain), ...(chart.log ? { splits: (_, i, min, max) => logTicks(min, max), filter: (_, v) => v } : {}) },
      ],
      series: [
        { label: "load", value: (_, v) => v == null ? "–" : loads[places.indexOf(v)] + "×" },
        ...chart.lines.map((l) => ({
          label: l.label, stroke: css(l.color), width: l.bare ? 1.5 : 2, dash: l.dash, spanGaps: false,
          points: { show: !l.bare, size: 7, fill: css(l.color) },
          value: (_, v) => chart.format(v),
        })),
      ],
      cursor: { drag: { x: false, y: false }, sync: { key: "load", setSeries: false } },
      hooks: { draw: [(u) => ringInvalid(u, chart.lines)] },
    }, [places, ...chart.lines.map((l) => l.values.map((v) => chart.log && !(v > 0) ? null : v))], figure);
    return { figure, resize: () => u.setSize({ width: width(), height: u.height }), destroy: () => u.destroy() };
  }

  let shown = [];
  function show() {
    shown.forEach((c) => c.destroy());
    document.getElementById("charts").replaceChildren();
    shown = charts().map(draw);
  }
  show();
  addEventListener("resize", () => shown.forEach((c) => c.resize()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show); // colours are painted in
})();
