// The tab "Forecast": forecasts a CSV from any of its rows, with the naive forecast for comparison.

import { coalesced, guard, start } from "./engine.js";

const most = 20e6;       // largest file, in bytes
const history = 84;      // rows drawn before the forecast
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

/** Draws `lines` of [class, first row, values]; `cut` is the first row of the forecast. */
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

/** The mean of |a - b| over the rows where both are known, or NaN if there are none. */
function meanError(a, b) {
  const errors = [...a].map((value, i) => Math.abs(value - b[i])).filter(Number.isFinite);
  return errors.reduce((sum, error) => sum + error, 0) / errors.length;
}

/** The mean absolute errors of both forecasts, if the actual values are known. */
function describeErrors(model, naive, actual, milliseconds) {
  const time = `Computed in ${milliseconds.toFixed(1)} ms.`;
  const [ours, theirs] = [model, naive].map((line) => number.format(Math.round(meanError(line, actual) * 10) / 10));
  return Number.isNaN(meanError(model, actual))
    ? `The next ${model.length} rows; their actual values are not known yet. ${time}`
    : `Mean absolute error: ${ours}; naive forecast: ${theirs}. ${time}`;
}

/** A table row per time, with one value from each column. */
function tableRows(times, columns) {
  const shown = (value) => (Number.isFinite(value) ? Number(value.toPrecision(6)) : "");
  return Array.from(times, (time, i) => {
    const line = document.createElement("tr");
    const cells = [time, ...columns.map((values) => shown(values[i] ?? NaN))];
    line.append(...cells.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    return line;
  });
}

/** A CSV, and the forecast of its selected series, starting at the slider's row. */
class Forecast {
  #engine = start("forecast", "births.safetensors");
  #names = [];
  #times = [];
  #values = [];  // of the selected series
  #horizon = 0;
  #drawLast = () => {};

  constructor(panel) {
    this.find = (name) => panel.querySelector(name);
    this.slider = this.find("input[type=range]");
    this.choice = this.find("select");
  }

  /** Reads a CSV and forecasts its last rows. */
  async read(name, bytes) {
    const label = new TextEncoder().encode(name), input = new Uint8Array(label.length + bytes.byteLength);
    input.set(label);
    input.set(new Uint8Array(bytes), label.length);
    const table = await this.#engine.call("read", input, label.length);
    const [, past, context, horizon] = table.numbers;
    this.#horizon = horizon;
    this.#names = table.text.trimEnd().split("\n");
    this.#times = (await this.#engine.call("times")).text.trimEnd().split("\n");
    this.choice.replaceChildren(...this.#names.map((text) => new Option(text)));
    this.choice.parentElement.hidden = this.#names.length < 2;
    Object.assign(this.slider, { min: context, max: past, value: Math.max(context, past - horizon) });
    this.find(".source").textContent = `${name}: ${past.toLocaleString("en")} rows, ${this.#times[0]} to ${this.#times[past - 1]}`;
    await this.select();
    this.find(".status").textContent = (await this.#engine.call("remarks")).text.replace(/ {2,}/g, " ").trim();
  }

  /** Forecasts the selected series. */
  async select() {
    this.#values = (await this.#engine.call("values", null, this.choice.selectedIndex)).numbers;
    await this.forecast();
  }

  /** Forecasts the selected series, starting at the slider's row. */
  async forecast() {
    const row = Number(this.slider.value), end = row + this.#horizon, first = Math.max(0, row - history);
    const { numbers, milliseconds } = await this.#engine.call("predict", null, this.choice.selectedIndex, row);
    const model = numbers.subarray(0, this.#horizon), naive = numbers.subarray(this.#horizon);
    const actual = this.#values.subarray(row, end);
    const lines = [["past", first, this.#values.subarray(first, end)], ["naive", row, naive], ["model", row, model]];
    this.#drawLast = () => draw(this.find("svg"), lines, row, this.#times, this.#names[this.choice.selectedIndex]);
    this.redraw();
    this.find(".slide output").textContent = this.#times[row];
    this.slider.setAttribute("aria-valuetext", this.#times[row]);
    this.find(".errors").textContent = describeErrors(model, naive, actual, milliseconds);
    this.find(".numbers tbody").replaceChildren(...tableRows(this.#times.slice(row, end), [model, naive, actual]));
  }

  redraw() {
    this.#drawLast();
  }
}

/** Reads a file, unless it is too large. */
async function readFile(view, file) {
  if (!file) return;
  if (file.size > most) {
    throw new Error(`${file.name}: ${Math.round(file.size / 1e6)} MB is over the limit of ${most / 1e6} MB. Remove older rows, or use the command-line program forecast.`);
  }
  await view.read(file.name, await file.arrayBuffer());
}

/** Accepts files from the button and from drops on the panel. */
function listenForFiles(panel, view) {
  const take = (file) => guard(panel, () => readFile(view, file));
  const drop = view.find(".drop");
  view.find("input[type=file]").addEventListener("change", async ({ target }) => {
    await take(target.files[0]);
    target.value = "";
  });
  panel.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  panel.addEventListener("dragleave", () => drop.classList.remove("over"));
  panel.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });
}

export async function open(panel) {
  const view = new Forecast(panel);
  const example = () => guard(panel, async () => {
    await view.read("us_births_daily.csv", await (await fetch("us_births_daily.csv")).arrayBuffer());
  });
  const forecastLatest = coalesced(() => view.forecast());
  view.slider.addEventListener("input", () => guard(panel, forecastLatest));
  view.choice.addEventListener("change", () => guard(panel, () => view.select()));
  view.find(".example").addEventListener("click", example);
  listenForFiles(panel, view);
  new ResizeObserver(() => view.redraw()).observe(view.find(".chart"));
  await example();
}
