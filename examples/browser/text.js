// Text: the model continues what one types, token by token.

import { guard, start } from "./engine.js";

export async function open(panel) {
  const find = (name) => panel.querySelector(name);
  const engine = start("text", "bible.int8.safetensors");
  const most = 100_000;  // characters on the page
  let writing = false, tokens = 0, milliseconds = 0;

  function buttons() {
    find(".write").disabled = writing;
    find(".stop").disabled = !writing;
    find(".on").disabled = writing || tokens === 0;
  }

  function show(text) {
    const span = find(".page span"), page = find(".page");
    const follows = page.scrollTop + page.clientHeight > page.scrollHeight - 40;
    span.append(text);
    if (follows) page.scrollTop = page.scrollHeight;
    find(".rate").textContent = milliseconds > 0 ? Math.round(1000 * tokens / milliseconds).toLocaleString("en") : "–";
    find(".written").textContent = `· ${tokens.toLocaleString("en")} written`;
  }

  async function write() {
    writing = true;
    buttons();
    find(".page span").normalize();
    try {
      while (writing && find(".page span").textContent.length < most) {
        const until = performance.now() + 14;  // a frame
        let text = "";
        do {
          const answer = await engine.call("next");
          tokens += 1;
          milliseconds += answer.milliseconds;
          text += answer.text;
        } while (writing && performance.now() < until);
        show(text);
        await new Promise((resolve) => { setTimeout(resolve, 0); });
      }
    } finally {
      writing = false;
      buttons();
    }
  }

  find(".write").addEventListener("click", () => guard(panel, async () => {
    const prompt = find("textarea").value;
    tokens = milliseconds = 0;
    find(".page b").textContent = prompt;
    find(".page span").textContent = "";
    const percent = Math.round(100 * Number(find(".temperature").value));
    await engine.call("begin", prompt, percent, Number(find(".seed").value));
    await write();
  }));
  find(".stop").addEventListener("click", () => { writing = false; });
  find(".on").addEventListener("click", () => guard(panel, write));
  find("textarea").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) find(".write").click();
  });
  new MutationObserver(() => { if (panel.hidden) writing = false; }).observe(panel, { attributeFilter: ["hidden"] });
  await guard(panel, () => engine.opened);
}
