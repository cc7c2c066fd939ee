// Draws the charts over time, keeps their zoom and cursor together, and makes downloads. Text goes into the page as text only.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("page-data").textContent);
  const plots = [];
  const number = (value) => (value == null ? "–" : String(Number(value.toPrecision(4))));

  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colourOf = (column) => {
    if (column.role === "area") return style("--shade");
    // What no flow has to itself is grey, and its losses are red.
    if (column.flow == null) return style(column.role === "ticks" ? "--loss" : "--soft");
    return style(`--c${column.flow % 7}`);
  };

  // Series as uPlot wants them. A value holds for the interval that ends at its time.
  function seriesOf(column) {
    const stroke = () => colourOf(column);
    const stepped = uPlot.paths.stepped({ align: -1 });
    const common = { label: column.label, stroke, points: { show: false }, value: (_, value) => number(value) };
    if (column.role === "area") return { ...common, fill: stroke, width: 0, paths: stepped };
    if (column.role === "ticks") return { ...common, scale: "count", paths: () => null };
    const dash = [undefined, [6, 3], [2, 3], [8, 3, 2, 3]][(column.flow == null ? column.dash : Math.floor(column.flow / 7)) % 4];
    return { ...common, width: column.role === "step" ? 1.25 : 1.5, dash, paths: column.role === "step" ? stepped : undefined };
  }

  // Losses are marks on the axis, below the zero of the lines: a row of them for each queue, in its colour.
  const STRIP = 42;
  const marked = (columns) => columns.map((column, index) => [column, index + 1]).filter(([column]) => column.role === "ticks");
  const rowHeight = (rows) => Math.min(7, STRIP / rows);

  function marks(columns) {
    const rows = marked(columns);
    return (plot) => {
      const { ctx, bbox, data } = plot;
      const height = rowHeight(rows.length) * devicePixelRatio;
      const shown = rows.filter(([, index]) => plot.series[index].show);
      shown.forEach(([column, index], row) => {
        const foot = bbox.top + bbox.height - row * height;
        ctx.strokeStyle = colourOf(column);
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.beginPath();
        data[index].forEach((count, at) => {
          const x = count && Math.round(plot.valToPos(data[0][at], "x", true));
          if (!count || x < bbox.left || x > bbox.left + bbox.width) return;
          ctx.moveTo(x, foot);
          ctx.lineTo(x, foot - 0.8 * height);
        });
        ctx.stroke();
      });
    };
  }

  function optionsOf(chart, width) {
    const axis = { stroke: () => style("--soft"), grid: { stroke: () => style("--rule"), width: 1 }, ticks: { stroke: () => style("--rule"), width: 1 }, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    const height = width < 560 ? 200 : 230;
    const rows = marked(chart.columns).length;
    // What the rows of marks take of the frame, as a share of what is above them.
    const strip = rows ? rows * rowHeight(rows) / (height - 60 - STRIP) : 0;
    const notBelow = (_, splits) => splits.map((split) => (rows && split < 0 ? null : split));
    return {
      width,
      height,
      cursor: { sync: { key: "time", setSeries: false }, drag: { x: true, y: false }, points: { size: 6 } },
      focus: { alpha: 0.3 },
      scales: {
        x: { time: false },
        y: { range: (_, low, high) => [Math.min(0, low ?? 0) - strip * (high > 0 ? high : 1), high > 0 ? high * 1.06 : 1] },
        count: { range: [0, 1] },
      },
      axes: [
        { ...axis, size: 34, values: (_, splits) => splits.map((split) => `${+split.toPrecision(12)} s`) },
        { ...axis, label: chart.unit, labelSize: 18, size: 52, filter: notBelow, grid: { ...axis.grid, filter: notBelow }, ticks: { ...axis.ticks, filter: notBelow } },
      ],
      series: [{ label: "time", value: (_, time) => (time == null ? "–" : `${+time.toPrecision(7)} s`) }, ...chart.columns.map(seriesOf)],
      legend: { live: true },
      hooks: {
        draw: [marks(chart.columns)],
        setScale: [(plot, key) => key === "x" && together(plot)],
        setSeries: [(plot, index, change) => change.show != null && alike(plot, index, change.show)],
      },
    };
  }

  // What one chart shows of the time, all show.
  let busy = false;
  function together(plot) {
    if (busy) return;
    busy = true;
    const { min, max } = plot.scales.x;
    for (const other of plots) {
      if (other !== plot && (other.scales.x.min !== min || other.scales.x.max !== max)) other.setScale("x", { min, max });
    }
    busy = false;
    const whole = min <= first() && max >= last();
    document.getElementById("range").textContent = whole ? "" : `${number(min)} s to ${number(max)} s`;
  }

  // A flow that is hidden in one chart is hidden in all.
  function alike(plot, index, show) {
    if (busy || index == null) return;
    busy = true;
    const label = plot.series[index].label;
    for (const other of plots) {
      other.series.forEach((series, at) => {
        if (at > 0 && series.label === label && series.show !== show) other.setSeries(at, { show });
      });
      pressed(other);
    }
    busy = false;
  }

  const first = () => page.times[0];
  const last = () => page.times[page.times.length - 1];

  function show(low, high) {
    const step = (last() - first()) / Math.max(1, page.times.length - 1);
    const width = Math.min(Math.max(high - low, 3 * step), last() - first());
    const middle = (low + high) / 2;
    const min = Math.min(Math.max(middle - width / 2, first()), last() - width);
    plots[0].setScale("x", { min, max: min + width });
  }

  function zoom(what, centre) {
    const { min, max } = plots[0].scales.x;
    const width = max - min;
    const share = centre == null ? 0.5 : (centre - min) / width;
    if (what === "in") show(min + width * share / 2, max - width * (1 - share) / 2);
    if (what === "out") show(min - width * share, max + width * (1 - share));
    if (what === "left") show(min - width / 4, max - width / 4);
    if (what === "right") show(min + width / 4, max + width / 4);
    if (what === "all") show(first(), last());
  }

  // The cursor of a chart by keyboard; the others follow.
  function move(plot, by) {
    const { min, max } = plot.scales.x;
    const from = plot.valToIdx(min), to = plot.valToIdx(max);
    const at = plot.cursor.idx == null ? Math.round((from + to) / 2) : plot.cursor.idx + by * Math.max(1, Math.round((to - from) / 200));
    const index = Math.min(Math.max(at, from), to);
    plot.setCursor({ left: plot.valToPos(page.times[index], "x"), top: 10 }, true, true);
  }

  function onKey(plot, event) {
    if (event.target.closest(".u-legend") || event.ctrlKey || event.metaKey || event.altKey) return;
    const centre = plot.cursor.idx == null ? null : page.times[plot.cursor.idx];
    const keys = {
      ArrowLeft: () => (event.shiftKey ? zoom("left") : move(plot, -1)),
      ArrowRight: () => (event.shiftKey ? zoom("right") : move(plot, 1)),
      "+": () => zoom("in", centre), "=": () => zoom("in", centre), "-": () => zoom("out", centre),
      0: () => zoom("all"), Escape: () => zoom("all"),
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }

  // A finger that moves sideways moves the cursor; scrolling stays scrolling.
  function onTouch(plot, event) {
    const box = plot.over.getBoundingClientRect();
    const touch = event.touches[0];
    plot.setCursor({ left: touch.clientX - box.left, top: touch.clientY - box.top }, true, true);
  }

  const legendOf = (plot) => [...plot.root.querySelectorAll(".u-legend .u-series")];
  function pressed(plot) {
    legendOf(plot).forEach((row, index) => index > 0 && row.querySelector("th").setAttribute("aria-pressed", String(plot.series[index].show)));
  }

  function makeLegendReachable(plot) {
    legendOf(plot).slice(1).forEach((row) => {
      const head = row.querySelector("th");
      head.tabIndex = 0;
      head.setAttribute("role", "button");
      head.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        head.click();
      });
    });
    pressed(plot);
  }

  function draw(place) {
    const chart = page.charts[place.dataset.chart];
    place.tabIndex = 0;
    place.setAttribute("role", "group");
    place.setAttribute("aria-label", `${chart.title}, over time. ${chart.text} Arrow keys move the cursor, plus and minus zoom, 0 shows everything.`);
    const plot = new uPlot(optionsOf(chart, place.clientWidth), [page.times, ...chart.columns.map((column) => column.values)], place);
    plot.chartKey = place.dataset.chart;
    plots.push(plot);
    place.onkeydown = (event) => onKey(plot, event);
    plot.over.addEventListener("touchstart", (event) => onTouch(plot, event), { passive: true });
    plot.over.addEventListener("touchmove", (event) => onTouch(plot, event), { passive: true });
    makeLegendReachable(plot);
    colourLegend(plot);
  }

  // The marks beside the names have the colours of now: light, dark or paper.
  function colourLegend(plot) {
    const { columns } = page.charts[plot.chartKey];
    legendOf(plot).slice(1).forEach((row, index) => {
      const mark = row.querySelector(".u-marker");
      mark.style.border = "0";
      mark.style.background = colourOf(columns[index]);
    });
  }

  function redraw() {
    for (const plot of plots) {
      colourLegend(plot);
      plot.redraw(false, true);
    }
  }

  function resize() {
    for (const plot of plots) {
      const width = plot.root.parentElement.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: plot.height });
    }
  }

  // Another run: its series in the same charts, at the same zoom, with the same flows hidden.
  const places = [...document.querySelectorAll(".series")];
  const runs = { ...page.others, [page.run]: Object.fromEntries(Object.entries(page.charts).filter(([, chart]) => chart.overTime)) };
  let run = page.run;
  function choose(wanted) {
    if (!(wanted in runs) || !plots.length) return;
    run = wanted;
    const { min, max } = plots[0].scales.x;
    const hidden = new Set(plots.flatMap((plot) => plot.series.filter((each) => each.show === false).map((each) => each.label)));
    plots.forEach((plot) => plot.destroy());
    plots.length = 0;
    for (const place of places) {
      const key = place.dataset.chart;
      // A run without a window has none to show.
      page.charts[key] = runs[run][key] ?? { ...page.charts[key], text: "Nothing in this run.", columns: [], numbers: [] };
      describe(key);
      draw(place);
    }
    for (const plot of plots) {
      plot.setScale("x", { min, max });
      plot.series.forEach((each, at) => at > 0 && hidden.has(each.label) && each.show && plot.setSeries(at, { show: false }));
    }
    document.getElementById("which-run").textContent = `Run ${run}`;
  }

  // The words and numbers that stand in a chart's place.
  function describe(key) {
    const figure = document.getElementById(`figure-${key}`);
    figure.querySelector(".text").textContent = page.charts[key].text;
    figure.querySelector("details tbody").replaceChildren(...page.charts[key].numbers.map((cells) => {
      const row = document.createElement("tr");
      row.append(...cells.map((text, at) => {
        const cell = document.createElement(at ? "td" : "th");
        if (!at) cell.scope = "row";
        cell.textContent = text;
        return cell;
      }));
      return row;
    }));
  }

  // Downloads.
  function save(name, blob) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const plain = (text) => text.replace(/[^A-Za-z0-9_.-]+/g, "-").replace(/^[-.]+|-+$/g, "") || "chart";
  const ofRun = (key) => (page.charts[key].overTime && page.run != null ? `-run-${run}` : "");
  const fileName = (key, ending) => `${plain(page.name)}-${key}${ofRun(key)}.${ending}`;

  // A cell that begins like a formula is told to be text, for spreadsheets.
  function cell(value) {
    if (value == null) return "";
    if (typeof value === "number") return String(value);
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  function csv(key) {
    const chart = page.charts[key];
    const columns = chart.overTime ? [{ heading: "time [s]", values: page.times }, ...chart.columns] : chart.columns;
    const length = Math.max(...columns.map((column) => column.values.length));
    const lines = [columns.map((column) => cell(column.heading)).join(",")];
    for (let row = 0; row < length; row += 1) lines.push(columns.map((column) => cell(column.values[row])).join(","));
    return new Blob([lines.join("\n"), "\n"], { type: "text/csv" });
  }

  // A picture with title and names, since outside the page nothing else says what it shows.
  async function png(key) {
    const chart = page.charts[key];
    const plot = plots.find((each) => each.chartKey === key);
    const image = plot ? plot.ctx.canvas : await drawn(document.querySelector(`#figure-${CSS.escape(key)} svg`));
    const scale = plot ? devicePixelRatio : 2;
    const shown = plot ? chart.columns.filter((_, index) => plot.series[index + 1].show) : [];
    const canvas = document.createElement("canvas");
    const head = (shown.length ? 52 : 32) * scale;
    canvas.width = image.width;
    canvas.height = image.height + head;
    const ctx = canvas.getContext("2d");
    ctx.fillStyle = style("--panel");
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(image, 0, head);
    ctx.fillStyle = style("--ink");
    ctx.font = `600 ${14 * scale}px system-ui, sans-serif`;
    ctx.fillText(`${page.name}: ${chart.title}`, 12 * scale, 20 * scale);
    ctx.font = `${12 * scale}px system-ui, sans-serif`;
    let x = 12 * scale;
    for (const column of shown) {
      ctx.fillStyle = colourOf(column);
      ctx.fillRect(x, 36 * scale, 14 * scale, 4 * scale);
      ctx.fillStyle = style("--ink");
      ctx.fillText(column.label, x + 19 * scale, 42 * scale);
      x += 34 * scale + ctx.measureText(column.label).width;
    }
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  async function drawn(svg) {
    const copy = svg.cloneNode(true);
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
    copy.setAttribute("width", 2 * width);
    copy.setAttribute("height", 2 * height);
    const rules = document.createElementNS("http://www.w3.org/2000/svg", "style");
    rules.textContent = document.getElementById("plot-style").textContent;
    copy.prepend(rules);
    const image = new Image(2 * width, 2 * height);
    image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(copy))}`;
    await image.decode();
    return image;
  }

  const makers = { csv, png };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const { download, of, text, zoom: what } = button.dataset;
    if (download) save(fileName(of, download), await makers[download](of));
    if (text) save(`${plain(page.name)}-${text}`, new Blob([button.parentElement.querySelector("pre").textContent], { type: "text/plain" }));
    if (what && plots.length) zoom(what, null);
  });

  places.forEach(draw);
  document.getElementById("run")?.addEventListener("change", (event) => choose(event.target.value));
  if (plots.length) {
    new ResizeObserver(resize).observe(document.querySelector("main"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    matchMedia("print").addEventListener("change", () => { resize(); redraw(); });
    addEventListener("beforeprint", () => { resize(); redraw(); });
  }
  // For tests and the curious.
  window.varicap = { plots, makers, zoom, fileName };
})();
