// Speed: gMLP-S/16 in this browser.

import { guard, start } from "./engine.js";

const runs = 5;

export async function open(panel) {
  const engine = start("speed");
  const button = panel.querySelector(".measure"), status = panel.querySelector(".status");

  async function measure() {
    status.textContent = "Generating 19.4 million random weights …";
    await engine.call("build");
    const medians = {};
    for (const [i, name] of ["float", "int8"].entries()) {
      status.textContent = `Measuring ${name} …`;
      await engine.call("pack", null, i);
      const times = [];
      for (let run = 0; run <= runs; ++run) times.push((await engine.call("classify")).milliseconds);
      medians[name] = times.slice(1).sort((a, b) => a - b)[Math.floor(runs / 2)];
      const longest = Math.max(...Object.values(medians));
      for (const [shown, time] of Object.entries(medians)) {
        panel.querySelector(`.${shown} i`).style.transform = `scaleX(${time / longest})`;
        panel.querySelector(`.${shown} output`).textContent = `${time.toFixed(0)} ms`;
      }
    }
    status.textContent = "";
  }

  button.addEventListener("click", async () => {
    button.disabled = true;
    await guard(panel, measure);
    button.disabled = false;
  });
  await guard(panel, () => engine.opened);
}
