// A drawing area, used with a pointer or with the keyboard.

/** Each digit as strokes of points in a square of side 1. */
const digits = [
  [[[.5, .1], [.33, .2], [.26, .5], [.34, .8], [.5, .9], [.66, .8], [.74, .5], [.66, .2], [.5, .1]]],
  [[[.42, .24], [.55, .1], [.53, .5], [.52, .9]]],
  [[[.27, .3], [.34, .14], [.54, .09], [.7, .22], [.66, .42], [.46, .64], [.26, .87], [.26, .87], [.5, .86], [.77, .87]]],
  [[[.28, .18], [.5, .09], [.69, .2], [.64, .4], [.42, .47], [.42, .47], [.68, .54], [.73, .73], [.54, .91], [.27, .83]]],
  [[[.4, .1], [.33, .35], [.25, .57], [.25, .57], [.5, .56], [.78, .55]], [[.63, .32], [.61, .6], [.6, .92]]],
  [[[.72, .12], [.36, .13], [.36, .13], [.32, .46], [.32, .46], [.54, .4], [.72, .54], [.7, .77], [.5, .91], [.27, .82]]],
  [[[.64, .1], [.42, .28], [.3, .58], [.36, .84], [.55, .91], [.7, .77], [.65, .59], [.48, .54], [.31, .68]]],
  [[[.25, .14], [.5, .14], [.76, .14], [.76, .14], [.58, .5], [.45, .9]]],
  [[[.68, .22], [.5, .09], [.33, .22], [.4, .42], [.6, .57], [.7, .76], [.5, .91], [.31, .76], [.41, .57], [.6, .42], [.68, .22]]],
  [[[.68, .3], [.52, .1], [.34, .22], [.37, .43], [.55, .46], [.68, .3], [.67, .3], [.66, .6], [.56, .91]]],
];

/** Cuts the corners of a stroke (Chaikin); corners given twice stay sharp. */
function smooth(points, times = 3) {
  if (times === 0) return points;
  const cut = [points[0]];
  for (let i = 0; i + 1 < points.length; ++i) {
    const [[x, y], [u, v]] = [points[i], points[i + 1]];
    cut.push([.75 * x + .25 * u, .75 * y + .25 * v], [.25 * x + .75 * u, .25 * y + .75 * v]);
  }
  cut.push(points.at(-1));
  return smooth(cut, times - 1);
}

/** A digit's strokes; `slant`, `wide` and `tall` vary the handwriting; `mirror` swaps left and right. */
export function written(digit, { slant = 0, wide = 1, tall = 1, mirror = false } = {}) {
  const place = ([x, y]) => [.5 + (mirror ? -1 : 1) * (wide * (x - .5) - slant * (y - .5)), .5 + tall * (y - .5)];
  return digits[digit].map((stroke) => smooth(stroke).map(place));
}

/** The points as a flat array for a module; a pair of NaN ends each stroke. */
export const flat = (strokes) => Float32Array.from(strokes.flatMap((stroke) => [...stroke.flat(), NaN, NaN]));

/** Turns a canvas into a drawing area. `changed()` is called after each change. */
export class Pad {
  strokes = [];
  #pen = { x: .5, y: .2, down: false, shown: false };

  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    canvas.addEventListener("pointerdown", (event) => this.#begin(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("keydown", (event) => this.#key(event));
    canvas.addEventListener("blur", () => { this.#pen.shown = false; this.draw(); });
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
  }

  set(strokes) {
    this.strokes = strokes;
    this.#pen.down = false;
    this.draw();
    this.changed();
  }

  #place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
  }

  #begin(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.strokes.push([this.#place(event)]);
    this.draw();
    this.changed();
  }

  #move(event) {
    if (!this.canvas.hasPointerCapture(event.pointerId) || this.strokes.length === 0) return;
    for (const step of event.getCoalescedEvents?.() ?? [event]) this.strokes.at(-1).push(this.#place(step));
    this.draw();
    this.changed();
  }

  #key(event) {
    const pen = this.#pen;
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (way) {
      pen.x = Math.min(.95, Math.max(.05, pen.x + way[0] / 24));
      pen.y = Math.min(.95, Math.max(.05, pen.y + way[1] / 24));
      if (pen.down) this.strokes.at(-1).push([pen.x, pen.y]);
    } else if (event.key === " ") {
      pen.down = !pen.down;
      if (pen.down) this.strokes.push([[pen.x, pen.y]]);
    } else if (/^[0-9]$/.test(event.key)) {
      return this.set(written(Number(event.key)));
    } else if (event.key === "Delete" || event.key === "Backspace") {
      return this.set([]);
    } else {
      return;
    }
    event.preventDefault();
    pen.shown = true;
    this.draw();
    this.changed();
  }

  draw() {
    const { canvas } = this;
    const size = Math.round(canvas.clientWidth * devicePixelRatio);
    if (size === 0) return;
    if (canvas.width !== size) canvas.width = canvas.height = size;
    const style = getComputedStyle(canvas);
    const context = canvas.getContext("2d");
    context.setTransform(size, 0, 0, size, 0, 0);
    context.clearRect(0, 0, 1, 1);
    Object.assign(context, { strokeStyle: style.color, fillStyle: style.color, lineWidth: .062, lineCap: "round", lineJoin: "round" });
    for (const stroke of this.strokes) {
      context.beginPath();
      context.moveTo(...stroke[0]);
      for (const point of stroke.length > 1 ? stroke : [stroke[0]]) context.lineTo(...point);
      context.stroke();
    }
    if (this.#pen.shown) {
      context.beginPath();
      context.arc(this.#pen.x, this.#pen.y, .04, 0, 7);
      context.lineWidth = .008;
      context.strokeStyle = style.getPropertyValue(this.#pen.down ? "--accent" : "--soft");
      context.stroke();
    }
  }
}
