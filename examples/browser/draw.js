// The tab "Draw": shows what the model recognizes in a drawing, and what its gates do.

import { coalesced, guard } from "./engine.js";
import { Pad, flat, written } from "./pad.js";
import { reader } from "./reader.js";

const pixels = 28, patches = 14;

/** Paints values as shades of two colours: `positive` above 0, `negative` below. */
function paint(canvas, values, side, positive, negative = positive) {
  const style = getComputedStyle(canvas);
  const rgb = (name) => style.getPropertyValue(name).trim().slice(1).replace(/^(.)(.)(.)$/, "$1$1$2$2$3$3").match(/../g).map((hex) => parseInt(hex, 16));
  const colours = [rgb(positive), rgb(negative)];
  const most = [...values].map(Math.abs).sort((a, b) => a - b)[Math.floor(values.length * .99)] || 1;
  const image = new ImageData(side, side);
  for (const [i, value] of values.entries()) {
    const alpha = 255 * Math.min(1, Math.abs(value) / most);
    image.data.set([...colours[value < 0 ? 1 : 0], alpha], 4 * i);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

/** A square of `patches` × `patches` values, enlarged, with one of them marked. */
function paintPatches(canvas, values, marked) {
  const small = document.createElement("canvas");
  small.width = small.height = patches;
  small.className = "pixels";
  canvas.after(small);
  paint(small, values, patches, "--accent", "--other");
  small.remove();
  const side = canvas.width = canvas.height = 8 * patches * Math.ceil(devicePixelRatio);
  const context = canvas.getContext("2d"), step = side / patches;
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, side, side);
  context.strokeStyle = getComputedStyle(canvas).color;
  context.lineWidth = step / 5;
  context.strokeRect((marked % patches) * step, Math.floor(marked / patches) * step, step, step);
}

function buildBars(list) {
  list.replaceChildren(...Array.from({ length: 10 }, (_, digit) => {
    const row = document.createElement("li");
    row.append(Object.assign(document.createElement("b"), { textContent: digit }), document.createElement("i"), document.createElement("span"));
    return row;
  }));
}

function buildBlocks(place) {
  place.replaceChildren(...[1, 2, 3, 4].map((block) => {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = `Block ${block}`;
    const maps = [`How the gates of block ${block} differ from an empty page`, `The filter of the gate in block ${block} that differs most`].map((label) => {
      const canvas = Object.assign(document.createElement("canvas"), { className: "pixels" });
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", label);
      return canvas;
    });
    figure.append(caption, ...maps);
    return figure;
  }));
}

function show(panel, { numbers, milliseconds }, empty) {
  const probabilities = numbers.subarray(0, 10);
  const best = probabilities.indexOf(Math.max(...probabilities));
  panel.querySelector(".answer output").textContent = empty ? "–" : best;
  panel.querySelector(".sure").textContent = empty ? "Draw something" : `${(100 * probabilities[best]).toFixed(1)}% sure, in ${milliseconds.toFixed(1)} ms`;
  for (const [digit, row] of [...panel.querySelectorAll(".bars li")].entries()) {
    const share = empty ? 0 : probabilities[digit];
    row.classList.toggle("best", !empty && digit === best);
    row.children[1].style.transform = `scaleX(${share})`;
    row.children[2].textContent = `${(100 * share).toFixed(1)}%`;
  }
  paint(panel.querySelector(".seen canvas"), numbers.subarray(10), pixels, "--ink");
}

function showGates(panel, { numbers }) {
  let at = 0;
  const take = (count) => numbers.subarray(at, at += count);
  for (const figure of panel.querySelectorAll(".blocks figure")) {
    const gate = take(patches ** 2), [patch] = take(1), filter = take(patches ** 2);
    paintPatches(figure.children[1], gate, patch);
    paintPatches(figure.children[2], filter, patch);
  }
}

export async function open(panel) {
  buildBars(panel.querySelector(".bars"));
  buildBlocks(panel.querySelector(".blocks"));
  const readLatest = coalesced(async () => {
    show(panel, await reader.call("classify", flat(pad.strokes)), pad.strokes.length === 0);
    panel.dataset.firstAnswer ??= performance.now();
    showGates(panel, await reader.call("gates"));
    panel.dataset.readings = Number(panel.dataset.readings ?? 0) + 1;
  });
  const read = () => guard(panel, readLatest);
  const pad = new Pad(panel.querySelector(".pad"), read);
  panel.querySelector(".clear").addEventListener("click", () => pad.set([]));
  panel.querySelector(".undo").addEventListener("click", () => pad.set(pad.strokes.slice(0, -1)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", read);
  document.addEventListener("taught", read);
  await guard(panel, () => reader.opened);
  pad.set(written(3, { slant: .12 }));
  for (let i = 0; i < 20; ++i) await reader.call("classify", flat(pad.strokes));  // warm-up: the browser optimizes code that runs often
  read();
}
