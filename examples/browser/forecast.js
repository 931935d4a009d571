// Forecast: a CSV, the forecast of its next rows from any day on, and the naive forecast.

import { guard, start } from "./engine.js";

const most = 20e6;       // bytes of a file
const history = 84;      // rows that are drawn before the forecast
const width = 960;
const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 6 });

/** Round values between `low` and `high`. */
function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, i) => (first + i) * step);
}

function element(name, attributes, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

/** Draws `lines` of [class, first row, values]; `cut` is the row from which the forecast begins. */
function draw(svg, lines, cut, times, name) {
  const box = svg.getBoundingClientRect(), w = box.width || width, h = box.height || 360;
  const left = 62, right = 12, top = 26, bottom = 30;
  const all = lines.flatMap(([, , values]) => [...values]).filter(Number.isFinite);
  const low = Math.min(...all), high = Math.max(...all), space = .06 * (high - low || 1);
  const first = Math.min(...lines.map(([, row]) => row)), last = Math.max(...lines.map(([, row, values]) => row + values.length - 1));
  const x = (row) => left + (w - left - right) * (row - first) / (last - first);
  const y = (value) => h - bottom - (h - top - bottom) * (value - low + space) / (high - low + 2 * space);
  svg.setAttribute("viewBox", `0 0 ${w} ${h}`);
  const parts = [element("text", { x: 0, y: 12 }, name)];
  for (const value of ticks(low, high)) {
    parts.push(element("line", { class: "grid", x1: left, x2: w - right, y1: y(value), y2: y(value) }),
               element("text", { x: left - 10, y: y(value) + 4, "text-anchor": "end" }, number.format(value)));
  }
  const labels = Math.max(2, Math.floor((w - left) / 150));
  for (let i = 0; i < labels; ++i) {
    const row = Math.round(first + (last - first) * (i + .5) / labels);
    parts.push(element("text", { x: x(row), y: h - 6, "text-anchor": "middle" }, times[row]),
               element("line", { class: "grid", x1: x(row), x2: x(row), y1: h - bottom, y2: h - bottom + 6 }));
  }
  parts.push(element("line", { class: "cut", x1: x(cut), x2: x(cut), y1: top - 8, y2: h - bottom }),
             element("text", { x: x(cut) + 6, y: top - 8 }, "forecast"));
  for (const [kind, row, values] of lines) {
    let path = "", drawing = false;
    for (const [i, value] of values.entries()) {
      if (Number.isFinite(value)) path += `${drawing ? "L" : "M"}${x(row + i).toFixed(1)} ${y(value).toFixed(1)}`;
      drawing = Number.isFinite(value);
    }
    parts.push(element("path", { class: kind, d: path }));
  }
  svg.replaceChildren(...parts);
}

/** The mean of |a - b| where both are known, or NaN. */
function mean_error(a, b) {
  const errors = [...a].map((value, i) => Math.abs(value - b[i])).filter(Number.isFinite);
  return errors.reduce((sum, error) => sum + error, 0) / errors.length;
}

export async function open(panel) {
  const find = (name) => panel.querySelector(name);
  const engine = start("forecast", "births.safetensors");
  const slider = find("input[type=range]"), choice = find("select");
  let names = [], times = [], values = [], horizon = 0, shown = null;

  async function forecast() {
    const row = Number(slider.value);
    const { numbers, milliseconds } = await engine.call("predict", null, choice.selectedIndex, row);
    const model = numbers.subarray(0, horizon), naive = numbers.subarray(horizon), came = values.subarray(row, row + horizon);
    const first = Math.max(0, row - history);
    shown = () => draw(find("svg"), [["past", first, values.subarray(first, row + horizon)], ["naive", row, naive], ["model", row, model]],
                       row, times, names[choice.selectedIndex]);
    shown();
    find(".slide output").textContent = times[row];
    slider.setAttribute("aria-valuetext", times[row]);
    const errors = [model, naive].map((line) => mean_error(line, came));
    find(".errors").textContent = Number.isNaN(errors[0])
      ? `${horizon} rows that have not come yet, in ${milliseconds.toFixed(1)} ms.`
      : `Off by ${number.format(Math.round(errors[0] * 10) / 10)} on average, the naive forecast by ${number.format(Math.round(errors[1] * 10) / 10)}; in ${milliseconds.toFixed(1)} ms.`;
    find(".numbers tbody").replaceChildren(...Array.from(model, (value, i) => {
      const line = document.createElement("tr");
      const cells = [times[row + i], ...[value, naive[i], came[i] ?? NaN].map((v) => (Number.isFinite(v) ? Number(v.toPrecision(6)) : ""))];
      line.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
      return line;
    }));
  }

  const select = async () => {
    values = (await engine.call("values", null, choice.selectedIndex)).numbers;
    await forecast();
  };

  const read = (name, bytes) => guard(panel, async () => {
    const label = new TextEncoder().encode(name), input = new Uint8Array(label.length + bytes.byteLength);
    input.set(label);
    input.set(new Uint8Array(bytes), label.length);
    const table = await engine.call("read", input, label.length);
    const [, past, context, ahead] = table.numbers;
    horizon = ahead;
    names = table.text.trimEnd().split("\n");
    times = (await engine.call("times")).text.trimEnd().split("\n");
    choice.replaceChildren(...names.map((text) => new Option(text)));
    choice.parentElement.hidden = names.length < 2;
    Object.assign(slider, { min: context, max: past, value: Math.max(context, past - horizon) });
    find(".source").textContent = `${name}: ${past.toLocaleString("en")} rows, ${times[0]} to ${times[past - 1]}`;
    await select();
    find(".status").textContent = (await engine.call("remarks")).text.replace(/ {2,}/g, " ").trim();
  });

  const take = (file) => guard(panel, async () => {
    if (!file) return;
    if (file.size > most) {
      throw new Error(`${file.name} has ${Math.round(file.size / 1e6)} MB; this page reads files of up to ${most / 1e6} MB. Cut off older rows, or use the program forecast.`);
    }
    await read(file.name, await file.arrayBuffer());
  });

  const example = () => guard(panel, async () => {
    await read("us_births_daily.csv", await (await fetch("us_births_daily.csv")).arrayBuffer());
  });

  let busy = false, stale = false;
  slider.addEventListener("input", () => guard(panel, async () => {
    stale = true;
    if (busy) return;
    busy = true;
    try {
      while (stale) {
        stale = false;
        await forecast();
      }
    } finally {
      busy = false;
    }
  }));
  choice.addEventListener("change", () => guard(panel, select));
  find("input[type=file]").addEventListener("change", async ({ target }) => {
    await take(target.files[0]);
    target.value = "";
  });
  find(".example").addEventListener("click", example);
  const drop = find(".drop");
  panel.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  panel.addEventListener("dragleave", () => drop.classList.remove("over"));
  panel.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
  new ResizeObserver(() => shown?.()).observe(find(".chart"));
  await example();
}
