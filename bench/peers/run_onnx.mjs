// Runs one workload in ONNX Runtime.
//
//     echo 7 | node run_onnx.mjs PACKAGE WORK.safetensors THREADS [FORMAT]     PACKAGE: the folder of onnxruntime-node
//
// FORMAT int8 runs <name>.int8.onnx instead of <name>.onnx. Reads and prints the same lines as run_torch.py. Times exclude the
// overhead of a call from JavaScript, measured with <name>.identity.onnx on an input of the same size.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { join, resolve } from 'node:path';

/** The header of a safetensors file, and the offset where it ends. */
function header(file) {
  const end = 8 + Number(file.readBigUInt64LE(0));
  return { entries: JSON.parse(file.toString('utf8', 8, end)), end };
}

/** The shape and values of a tensor. */
function tensor(file, name) {
  const { entries, end: start } = header(file);
  const entry = entries[name];
  const [begin, end] = entry.data_offsets.map((offset) => start + offset);
  const bytes = new Uint8Array(file.subarray(begin, end)).buffer; // an aligned copy
  const [type, List] = { F64: ['float64', Float64Array], I64: ['int64', BigInt64Array], F32: ['float32', Float32Array] }[entry.dtype];
  return { type, shape: entry.shape, values: new List(bytes) };
}

/** The largest difference, relative to the largest expected value; NaN if any value is NaN or the sizes differ. */
function relativeError(values, expected) {
  if (values.length !== expected.length) {
    return NaN;
  }
  let error = 0;
  let largest = 0;
  for (let i = 0; i < expected.length; ++i) {
    const difference = Math.abs(values[i] - expected[i]);
    error = Number.isNaN(error) || difference <= error ? error : difference;
    largest = Math.max(largest, Math.abs(expected[i]));
  }
  return error / largest;
}

/** The milliseconds of `runs` calls, after a warm-up call. */
async function time(run, runs) {
  await run();
  const times = [];
  for (let i = 0; i < runs; ++i) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times;
}

const [pack, path, threads, format] = process.argv.slice(2);
const ort = createRequire(join(resolve(pack), 'package.json'))(resolve(pack));
const version = JSON.parse(readFileSync(join(pack, 'package.json'))).version;
const options = { intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: 'all' };
const open = (ending) => ort.InferenceSession.create(path.replace('.safetensors', ending), options);
const model = format ? `.${format}.onnx` : '.onnx';
const session = await open(model);
const identity = await open('.identity.onnx');

const file = readFileSync(path);
const { opens } = JSON.parse(header(file).entries.__metadata__.config);
const input = tensor(file, 'input');
const feeds = { input: new ort.Tensor(input.type, input.values, input.shape) };
const { output } = await session.run(feeds);
const error = relativeError(output.data, tensor(file, 'output').values);
const runtime = `ONNX Runtime ${version}${format ? `, ${format}` : ''}`;
// JSON has no NaN: stringify() would write null.
console.log(JSON.stringify({ runtime, error: Number.isFinite(error) ? error : String(error) }));

/** Opens a session and computes its first result. */
async function start() {
  const fresh = await open(model);
  await fresh.run(feeds);
  await fresh.release();
}

for await (const line of createInterface({ input: process.stdin })) {
  const calls = (await time(() => identity.run(feeds), 7)).sort((a, b) => a - b);
  const times = await time(opens ? start : () => session.run(feeds), Number(line));
  console.log(JSON.stringify({ ms: times.map((ms) => ms - calls[3]), call: calls[3] }));
}
