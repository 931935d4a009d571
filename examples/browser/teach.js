// Teach: fine-tunes the model on the user's drawings.

import { guard } from "./engine.js";
import { Pad, flat, written } from "./pad.js";
import { reader } from "./reader.js";

const each = 5;  // drawings per digit; the last one is held out
const use = { learn: 0, measure: 1, rehearse: 2 };

/** Handwriting that varies a little each time. */
const hand = (mirror) => ({ mirror, slant: .3 * (Math.random() - .5), wide: .8 + .3 * Math.random(), tall: .85 + .2 * Math.random() });

/** The drawings of each digit, and the digit to draw next. */
class Drawings {
  lists = Array.from({ length: 10 }, () => []);
  wanted = 0;

  complete(digit = this.wanted) { return this.lists[digit].length >= each; }

  add(strokes) {
    this.lists[this.wanted].push(strokes);
    if (!this.complete()) return;
    const next = [...this.lists.keys()].map((i) => (this.wanted + i) % 10).find((digit) => !this.complete(digit));
    this.wanted = next ?? this.wanted;
  }

  mirror() {
    for (const [digit, list] of this.lists.entries()) {
      list.splice(0, each, ...Array.from({ length: each }, () => written(digit, hand(true))));
    }
  }

  clear() {
    for (const list of this.lists) list.length = 0;
    this.wanted = 0;
  }
}

/** Fine-tunes the model on the drawings. Returns the numbers of end_lesson(), and the seconds. */
async function teach(lists, progress) {
  await reader.call("forget");
  for (const [digit, list] of lists.entries()) {
    for (const [i, strokes] of list.entries()) await reader.call("keep", flat(strokes), digit, i + 1 < each ? use.learn : use.measure);
    for (let i = 0; i < 4; ++i) await reader.call("keep", flat(written(digit, hand(false))), digit, use.rehearse);
  }
  progress.hidden = false;
  const start = performance.now();
  for (let done = 0, steps = 1; done < steps;) {
    [done, steps] = (await reader.call("teach")).numbers;
    progress.value = done / steps;
  }
  const { numbers } = await reader.call("end_lesson");
  progress.hidden = true;
  return { numbers, seconds: (performance.now() - start) / 1000 };
}

function resultRow(name, [right, of, rightAfter, ofAfter]) {
  const line = document.createElement("tr");
  line.append(...[name, `${right} of ${of}`, `${rightAfter} of ${ofAfter}`].map((text) =>
    Object.assign(document.createElement("td"), { textContent: text })));
  return line;
}

function showResult(panel, { numbers, seconds }) {
  panel.querySelector(".result tbody").replaceChildren(resultRow("your held-out drawings", numbers),
                                                       resultRow("the page's own digits", numbers.subarray(4)));
  panel.querySelector(".result").hidden = false;
  panel.querySelector(".status").textContent = `Trained in ${seconds.toFixed(1)} s. The Draw tab now uses this model.`;
}

/** A button per digit; `choose(digit)` is called when one is pressed. */
function buildCounts(place, choose) {
  place.replaceChildren(...Array.from({ length: 10 }, (_, digit) => {
    const button = document.createElement("button");
    button.append(String(digit), document.createElement("small"));
    button.addEventListener("click", () => choose(digit));
    return button;
  }));
}

/** Shows the digit to draw next and the drawings of each digit, and enables the buttons. */
function show(panel, drawings, isEmpty) {
  const find = (name) => panel.querySelector(name);
  const { lists, wanted } = drawings;
  find(".wanted").textContent = lists.every((_, digit) => drawings.complete(digit)) ? "All digits are drawn" : `Draw ${wanted === 8 ? "an" : "a"} ${wanted}`;
  for (const [digit, button] of [...find(".counts").children].entries()) {
    const count = lists[digit].length;
    button.setAttribute("aria-pressed", String(digit === wanted));
    button.setAttribute("aria-label", `${digit}: ${count} of ${each} drawn`);
    button.lastChild.textContent = "●".repeat(count) + "○".repeat(each - count);
  }
  find(".learn").disabled = !lists.some((_, digit) => drawings.complete(digit));
  find(".keep").disabled = isEmpty || drawings.complete();
}

export async function open(panel) {
  const find = (name) => panel.querySelector(name);
  const drawings = new Drawings();
  let teaching = false;  // true during a lesson: the Teach and Forget buttons then do nothing
  const pad = new Pad(find(".pad"), () => update());
  const update = () => show(panel, drawings, pad.strokes.length === 0);
  const keep = () => {
    if (find(".keep").disabled) return;
    drawings.add(pad.strokes);
    pad.set([]);
    pad.canvas.focus();
  };

  buildCounts(find(".counts"), (digit) => { drawings.wanted = digit; update(); pad.canvas.focus(); });
  pad.canvas.addEventListener("keydown", (event) => { if (event.key === "Enter") keep(); });
  find(".keep").addEventListener("click", keep);
  find(".clear").addEventListener("click", () => pad.set([]));
  find(".mirror").addEventListener("click", () => { drawings.mirror(); update(); });
  find(".forget").addEventListener("click", () => teaching || guard(panel, async () => {
    drawings.clear();
    find(".result").hidden = true;
    await reader.call("forget");
    pad.set([]);
    document.dispatchEvent(new Event("taught"));
  }));
  find(".learn").addEventListener("click", async () => {
    if (teaching) return;
    teaching = true;
    find(".learn").disabled = true;
    await guard(panel, async () => {
      showResult(panel, await teach(drawings.lists, find("progress")));
      document.dispatchEvent(new Event("taught"));
    });
    teaching = false;
    update();
  });
  update();
  await guard(panel, () => reader.opened);
}
