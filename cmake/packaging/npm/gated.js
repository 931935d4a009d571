// gated's models in JavaScript: the C interface, compiled to WebAssembly. See gated.d.ts.

const encoder = new TextEncoder();
const decoder = new TextDecoder();

// The library makes system calls only for files and the environment. All of them return ENOSYS.
const absent = new Proxy({}, { get: () => () => 52 });
let wasm;

async function fetched(place) {
  const response = await fetch(place);
  if (!response.ok) throw new GatedError(`${place}: the server answers ${response.status}.`);
  return response.arrayBuffer();
}

async function load() {
  const place = new URL("gated.wasm", import.meta.url);
  const inNode = place.protocol === "file:";
  const bytes = inNode ? await (await import("node:fs/promises")).readFile(place) : await fetched(place);
  const { instance } = await WebAssembly.instantiate(bytes, { env: absent, wasi_snapshot_preview1: absent });
  instance.exports._initialize();
  wasm = instance.exports;
}
let loading;

/** Loads the library, once; a load that failed is tried again. */
export const ready = () => (loading ??= load().catch((error) => {
  loading = undefined;
  throw error;
}));

// --- Memory of the library. Pointers and sizes have 32 bits; a struct's first member is its size. ---

class Memory {
  #taken = [];
  take(bytes) {
    const place = bytes < 2 ** 31 ? wasm.malloc(Math.max(bytes, 8)) : 0;
    if (place === 0) throw new GatedError("Memory is exhausted.");
    this.#taken.push(place);
    return place;
  }
  put(numbers) {
    if (numbers == null) return 0;
    const place = this.take(numbers.byteLength);
    const Numbers = numbers instanceof Uint8Array ? Uint8Array : numbers.constructor;
    new Numbers(wasm.memory.buffer, place, numbers.length).set(numbers);
    return place;
  }
  text(words) { return words == null ? 0 : this.put(encoder.encode(words + "\0")); }
  struct(...members) { return this.put(Int32Array.of(4 * (members.length + 1), ...members)); }
  free() { this.#taken.forEach(wasm.free); }
}

const members = (place, count) => new Int32Array(wasm.memory.buffer, place, count);
function textAt(place) {
  if (place === 0) return null;
  const bytes = new Uint8Array(wasm.memory.buffer, place);
  return decoder.decode(bytes.slice(0, bytes.indexOf(0)));
}

/** What the library refused, in its words. */
export class GatedError extends Error {
  name = "GatedError";
}

function expect(condition, message) {
  if (!condition) throw new GatedError(message);
}

/** `numbers` as 32-bit integers; none if they are null. */
function integers(numbers, name) {
  expect(Array.prototype.every.call(numbers ?? [], (n) => Number.isInteger(n) && Math.abs(n) < 2 ** 31),
    `${name} must be integers of 32 bits.`);
  return Int32Array.from(numbers ?? []);
}

/** Calls `body` with memory that is freed afterwards. */
function using(body) {
  expect(wasm, "The library is not loaded: await ready() first.");
  const memory = new Memory();
  try {
    return body(memory, (name, ...given) => {
      if (wasm[name](...given) !== 0) throw new GatedError(textAt(wasm.gated_last_error()));
    });
  } finally {
    memory.free();
  }
}

// --- The interface ---

/** The library's version. */
export function version() { return textAt(wasm.gated_version()); }

/** Chooses fastest or portable arithmetic for all later calls. */
export function useArithmetic(arithmetic) {
  using((memory, call) => call("gated_use", 0, memory.text(arithmetic)));
}

/** Opens the model in the bytes of a safetensors file. */
export async function open(bytes, { weights, products } = {}) {
  await ready();
  const file = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  return using((memory, call) => {
    const handle = memory.take(4);
    const source = memory.struct(0, memory.put(file), file.length, memory.text(weights), memory.text(products), 1);
    call("gated_open", source, handle);
    return new Model(members(handle, 1)[0]);
  });
}

function inputOf(memory, about, x, { columns, lengths, mask, tokens, types, other, rows = 0 } = {}) {
  const ids = about !== null && about.readsTokens;
  const numbers = ids ? integers(x, "This model's token ids") : x instanceof Float32Array ? x : Float32Array.from(x);
  const width = ids ? 1 : columns ?? about?.columns ?? 0;
  expect(width > 0, "This input accepts any number of columns. Set the option columns.");
  expect(numbers.length % width === 0, `The input has ${numbers.length} values, expected a multiple of columns = ${width}.`);
  const count = numbers.length / width;
  const perRow = (values, name, array) => {
    if (values == null) return 0;
    expect(values.length === count, `${name} has ${values.length} entries, expected one for each of ${count} rows.`);
    return memory.put(array(values));
  };
  if (tokens != null) {  // one per sequence
    expect(tokens.length > 0 && count % tokens.length === 0 && (lengths?.length ?? tokens.length) === tokens.length,
      `${tokens.length} frequency tokens, expected one for each sequence.`);
    lengths ??= Array(tokens.length).fill(count / tokens.length);
  }
  const place = memory.put(numbers), frequencies = tokens == null ? 0 : memory.put(integers(tokens, "tokens"));
  return memory.struct(ids ? 0 : place, ids ? place : frequencies, count, ids ? 0 : width,
    lengths == null ? 0 : memory.put(integers(lengths, "lengths")), lengths?.length ?? 0,
    perRow(mask, "mask", (all) => Uint8Array.from(all, (one) => (one ? 1 : 0))),
    perRow(types, "types", (all) => integers(all, "types")), rows,
    other == null ? 0 : inputOf(memory, null, other.values, other));
}

/** The output of a call, which first tells its shape. */
function outputOf(memory, call, name, handle, input) {
  const output = memory.struct(0, 0, 0, 0);
  call(name, handle, input, output);
  const [, , , rows, columns] = members(output, 5);
  const values = memory.take(4 * rows * columns);
  members(output, 5).set([20, values, rows * columns]);
  call(name, handle, input, output);
  return { values: new Float32Array(wasm.memory.buffer, values, rows * columns).slice(), rows, columns };
}

function describe(handle) {
  return using((memory, call) => {
    const place = memory.struct(...Array(19).fill(0));
    call("gated_describe", handle, place);
    const [, architecture, config, tokens, vocabulary, columns, outputs, pooledOutputs, shortest, longest, multiple, streams,
      takesMask, parameters, imageWidth, imageHeight, imageChannels, labels, labelCount, signature] = members(place, 20);
    return {
      architecture: textAt(architecture), config: JSON.parse(textAt(config)), readsTokens: tokens === 1, vocabulary, columns,
      outputs, pooledOutputs, shortest, longest, multiple, streams: streams === 1, takesMask: takesMask === 1, parameters,
      imageWidth, imageHeight, imageChannels, labels: [...members(labels, labelCount)].map(textAt),
      signature: textAt(signature),
    };
  });
}

export class Model {
  #handle;
  constructor(handle) {
    this.#handle = handle;
    this.about = describe(handle);
  }
  run(x, { pooled = false, ...options } = {}) {
    return using((memory, call) =>
      outputOf(memory, call, "gated_run", this.#handle, inputOf(memory, this.about, x, { ...options, rows: pooled ? 2 : 0 })));
  }
  start(capacity = 0) {
    return using((memory, call) => {
      const handle = memory.take(4);
      call("gated_start", this.#handle, ...integers([capacity], "capacity"), handle);
      return new State(members(handle, 1)[0], this.about);
    });
  }
  prepareImage(pixels, width, height, order = "rgba") {
    const bytes = { grey: 1, grey_alpha: 2, rgb: 3, bgr: 3 }[order] ?? 4;
    expect(pixels.length === width * height * bytes,
      `The picture has ${pixels.length} bytes, expected ${width} × ${height} × ${bytes} for ${order}.`);
    return using((memory, call) => {
      const picture = memory.struct(memory.put(Uint8Array.from(pixels)), width, height, 0, memory.text(order));
      const { about } = this, count = about.imageWidth * about.imageHeight * about.imageChannels, row = memory.take(4 * count);
      call("gated_prepare_image", this.#handle, picture, memory.struct(row, count, 0, 0));
      return new Float32Array(wasm.memory.buffer, row, count).slice();
    });
  }
  close() { using((memory, call) => call("gated_close", this.#handle)); }
}

export class State {
  #handle;
  #about;
  constructor(handle, about) {
    this.#handle = handle;
    this.#about = about;
  }
  extend(x, { last = false } = {}) {
    return using((memory, call) =>
      outputOf(memory, call, "gated_extend", this.#handle, inputOf(memory, this.#about, x, { rows: last ? 1 : 0 })));
  }
  copy() {
    return using((memory, call) => {
      const handle = memory.take(4);
      call("gated_copy", this.#handle, handle);
      return new State(members(handle, 1)[0], this.#about);
    });
  }
  get position() {
    return using((memory, call) => {
      const position = memory.take(4);
      call("gated_position", this.#handle, position);
      return members(position, 1)[0];
    });
  }
  rewind(position) { using((memory, call) => call("gated_rewind", this.#handle, ...integers([position], "position"))); }
  free() { using((memory, call) => call("gated_free", this.#handle)); }
}
