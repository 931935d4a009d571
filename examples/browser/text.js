// Text: the model continues a prompt, token by token.

import { guard, start } from "./engine.js";

const most = 100_000;  // longest text in characters
const frame = 14;      // milliseconds

/** The generated text and its controls. */
class Writer {
  #engine = start("text", "bible.int8.safetensors");
  #writing = false;
  #tokens = 0;
  #milliseconds = 0;

  constructor(panel) {
    this.find = (name) => panel.querySelector(name);
    this.opened = this.#engine.opened;
  }

  /** Starts a new text from the prompt. */
  begin() {
    return this.#run(async () => {
      const prompt = this.find("textarea").value;
      this.#tokens = this.#milliseconds = 0;
      this.find(".page b").textContent = prompt;
      this.find(".page span").textContent = "";
      const percent = Math.round(100 * Number(this.find(".temperature").value));
      await this.#engine.call("begin", prompt, percent, Number(this.find(".seed").value));
      await this.#write();
    });
  }

  /** Continues the text. */
  resume() {
    return this.#run(() => this.#write());
  }

  stop() {
    this.#writing = false;
  }

  /** Runs `task`. Write is disabled before the worker answers: a second click cannot start a second loop. */
  async #run(task) {
    this.#writing = true;
    this.#updateButtons();
    try {
      await task();
    } finally {
      this.#writing = false;
      this.#updateButtons();
    }
  }

  async #write() {
    const span = this.find(".page span");
    span.normalize();
    while (this.#writing && span.textContent.length < most) {
      this.#show(await this.#nextFrame());
      await new Promise((resolve) => { setTimeout(resolve, 0); });
    }
  }

  /** Generates for one frame. Returns the new text. */
  async #nextFrame() {
    const until = performance.now() + frame;
    let text = "";
    do {
      const answer = await this.#engine.call("next");
      this.#tokens += 1;
      this.#milliseconds += answer.milliseconds;
      text += answer.text;
    } while (this.#writing && performance.now() < until);
    return text;
  }

  #show(text) {
    const page = this.find(".page");
    const follows = page.scrollTop + page.clientHeight > page.scrollHeight - 40;
    this.find(".page span").append(text);
    if (follows) page.scrollTop = page.scrollHeight;
    const rate = Math.round(1000 * this.#tokens / this.#milliseconds);
    this.find(".rate").textContent = this.#milliseconds > 0 ? rate.toLocaleString("en") : "–";
    this.find(".written").textContent = `· ${this.#tokens.toLocaleString("en")} written`;
  }

  #updateButtons() {
    this.find(".write").disabled = this.#writing;
    this.find(".stop").disabled = !this.#writing;
    this.find(".on").disabled = this.#writing || this.#tokens === 0;
  }
}

export async function open(panel) {
  const writer = new Writer(panel);
  const { find } = writer;
  find(".write").addEventListener("click", () => guard(panel, () => writer.begin()));
  find(".stop").addEventListener("click", () => writer.stop());
  find(".on").addEventListener("click", () => guard(panel, () => writer.resume()));
  find("textarea").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find(".write").click();
  });
  new MutationObserver(() => { if (panel.hidden) writer.stop(); }).observe(panel, { attributeFilter: ["hidden"] });
  await guard(panel, () => writer.opened);
}
