// Runs a WebAssembly module in a worker, and calls it from the page.

/** Starts a module with its model file, if any. `call(name, input, ...integers)` resolves to {numbers, text, milliseconds}. */
export function start(module, model) {
  const worker = new Worker("worker.js", { type: "module", name: module });
  const waiting = new Map();
  let last = 0;
  let failure = null;
  worker.onmessage = ({ data }) => {
    if (!waiting.has(data.id)) return;
    const { resolve, reject } = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) reject(new Error(data.error)); else resolve(data.answer);
  };
  worker.onerror = (event) => {
    failure = new Error(event.message || "The module could not be loaded. Reload the page.");
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  };
  const send = (message) => new Promise((resolve, reject) => {
    if (failure) throw failure;
    waiting.set(++last, { resolve, reject });
    worker.postMessage({ id: last, ...message });
  });
  const opened = send({ module, model });
  return { opened, call: (name, input, ...integers) => send({ name, input, integers }) };
}

/** Runs a task, and shows its error message if it fails. */
export async function guard(panel, task) {
  const status = panel.querySelector(".status");
  status.classList.remove("bad");
  status.textContent = "";
  try {
    return await task();
  } catch (error) {
    status.classList.add("bad");
    status.textContent = error.message;
  }
}

/** Runs `task` once at a time: calls during a run cause one more run after it. */
export function coalesced(task) {
  let busy = false, stale = false;
  return async () => {
    stale = true;
    if (busy) return;
    busy = true;
    try {
      while (stale) {
        stale = false;
        await task();
      }
    } finally {
      busy = false;
    }
  };
}
