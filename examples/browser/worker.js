// Runs a WebAssembly module, whose functions take bytes and integers and return numbers and text.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let wasm = null;
let opening = null;

/** System calls (files, clocks, environment) are not available: each returns ENOSYS. */
const absent = new Proxy({}, { get: () => () => 52 });

async function fetched(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${path}: the server answered ${response.status}. Run sh examples/browser/build.sh again.`);
  return response;
}

async function open({ module, model }) {
  const bytes = model && fetched(model).then((response) => response.arrayBuffer());
  const imports = { env: absent, wasi_snapshot_preview1: absent };
  wasm = (await WebAssembly.instantiateStreaming(fetched(`${module}.wasm`), imports)).instance.exports;
  wasm._initialize();
  return model ? call({ name: "open", input: await bytes, integers: [] }) : null;
}

/** The bytes of a string, a buffer or a view of a buffer. */
function bytesOf(input) {
  if (typeof input === "string") return encoder.encode(input);
  return ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
}

function call({ name, input, integers }) {
  if (input != null) {
    const bytes = bytesOf(input);
    const place = wasm.input_room(bytes.length);
    new Uint8Array(wasm.memory.buffer, place, bytes.length).set(bytes);
  }
  const start = performance.now();
  const failed = wasm[name](...integers);
  const milliseconds = performance.now() - start;
  const text = decoder.decode(new Uint8Array(wasm.memory.buffer, wasm.text(), wasm.text_size()));
  if (failed) throw new Error(text);
  return { numbers: new Float32Array(wasm.memory.buffer, wasm.numbers(), wasm.number_count()).slice(), text, milliseconds };
}

onmessage = async ({ data }) => {
  try {
    if (data.module) opening = open(data); else await opening;
    postMessage({ id: data.id, answer: data.module ? await opening : call(data) });
  } catch (error) {
    postMessage({ id: data.id, error: error.message });
  }
};
