// Teach it: a writer's drawings, and the fine-tuning on them.

import { guard } from "./engine.js";
import { Pad, flat, written } from "./pad.js";
import { reader } from "./reader.js";

const each = 5;  // drawings of a digit; the last one measures
const use = { learn: 0, measure: 1, rehearse: 2 };

/** A hand that differs a little each time. */
const hand = (mirror) => ({ mirror, slant: .3 * (Math.random() - .5), wide: .8 + .3 * Math.random(), tall: .85 + .2 * Math.random() });

export async function open(panel) {
  const find = (name) => panel.querySelector(name);
  const drawings = Array.from({ length: 10 }, () => []);
  let wanted = 0;

  const buttons = drawings.map((_, digit) => {
    const button = document.createElement("button");
    button.append(String(digit), document.createElement("small"));
    button.addEventListener("click", () => { wanted = digit; show(); pad.canvas.focus(); });
    return button;
  });
  find(".counts").replaceChildren(...buttons);

  function show() {
    find(".wanted").textContent = drawings.every((list) => list.length >= each) ? "All digits are there" : `Draw a ${wanted}`;
    for (const [digit, button] of buttons.entries()) {
      button.setAttribute("aria-pressed", String(digit === wanted));
      button.setAttribute("aria-label", `${digit}: ${drawings[digit].length} of ${each} drawn`);
      button.lastChild.textContent = "●".repeat(drawings[digit].length) + "○".repeat(each - drawings[digit].length);
    }
    find(".learn").disabled = !drawings.some((list) => list.length === each);
    find(".keep").disabled = pad.strokes.length === 0 || drawings[wanted].length === each;
  }

  function keep() {
    if (find(".keep").disabled) return;
    drawings[wanted].push(pad.strokes);
    if (drawings[wanted].length === each) {
      const next = [...drawings.keys()].map((i) => (wanted + i) % 10).find((digit) => drawings[digit].length < each);
      wanted = next ?? wanted;
    }
    pad.set([]);
    pad.canvas.focus();
  }

  async function learn() {
    await reader.call("forget");
    for (const [digit, list] of drawings.entries()) {
      for (const [i, strokes] of list.entries()) await reader.call("keep", flat(strokes), digit, i + 1 < each ? use.learn : use.measure);
      for (let i = 0; i < 4; ++i) await reader.call("keep", flat(written(digit, hand(false))), digit, use.rehearse);
    }
    const progress = find("progress");
    progress.hidden = false;
    const start = performance.now();
    for (let done = 0, steps = 1; done < steps;) {
      [done, steps] = (await reader.call("teach")).numbers;
      progress.value = done / steps;
    }
    const { numbers } = await reader.call("end_lesson");
    progress.hidden = true;
    const row = (name, at) => {
      const line = document.createElement("tr");
      line.append(...[name, `${numbers[at]} of ${numbers[at + 1]}`, `${numbers[at + 2]} of ${numbers[at + 3]}`].map((text) =>
        Object.assign(document.createElement("td"), { textContent: text })));
      return line;
    };
    find(".result tbody").replaceChildren(row("your drawings that it did not learn from", 0), row("the page's own digits, rehearsed", 4));
    find(".result").hidden = false;
    find(".status").textContent = `Learned in ${((performance.now() - start) / 1000).toFixed(1)} s. “Draw” now reads with this model.`;
    document.dispatchEvent(new Event("taught"));
  }

  const pad = new Pad(find(".pad"), show);
  pad.canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") keep();
  });
  find(".keep").addEventListener("click", keep);
  find(".clear").addEventListener("click", () => pad.set([]));
  find(".mirror").addEventListener("click", () => {
    for (const list of drawings) list.splice(0, each, ...Array.from({ length: each }, () => written(drawings.indexOf(list), hand(true))));
    show();
  });
  find(".forget").addEventListener("click", () => guard(panel, async () => {
    for (const list of drawings) list.length = 0;
    wanted = 0;
    find(".result").hidden = true;
    await reader.call("forget");
    pad.set([]);
    document.dispatchEvent(new Event("taught"));
  }));
  find(".learn").addEventListener("click", async () => {
    find(".learn").disabled = true;
    await guard(panel, learn);
    show();
  });
  show();
  await guard(panel, () => reader.opened);
}
