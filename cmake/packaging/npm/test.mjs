// node test.mjs <package> <examples> <expected.json>: checks that the package's results are bit-equal to the native library's.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [, , folder, examples, numbers] = process.argv;
const gated = await import(pathToFileURL(resolve(folder, "gated.js")));
const expected = JSON.parse(await readFile(numbers, "utf8"));
const read = (path) => readFile(resolve(examples, path));
const table = async (path) => (await read(path)).toString().trim().split("\n").map((line) => line.split(","));

assert.throws(() => gated.useArithmetic("portable"), /await ready\(\) first/);
await gated.ready();
gated.useArithmetic("portable");

const classifier = await gated.open(await read("classify_digits/digits_gmlp.safetensors"));
const digits = (await table("classify_digits/digits.csv")).filter((row, i) => i % 5 === 4).map((row) => row.map(Number));
const scores = classifier.run(digits.flatMap((row) => row.slice(0, 64).map((pixel) => pixel / 8 - 1)));
const best = (row) => row.indexOf(Math.max(...row));
const right = digits.filter((row, i) => best(scores.values.subarray(10 * i, 10 * i + 10)) === row[64]).length;
assert.deepEqual([...scores.values.subarray(0, 10)], expected.scores);
assert.equal(right, expected.right);
assert.equal(classifier.about.parameters, 43082);
assert.equal(classifier.about.config.classes, 10);

const forecaster = await gated.open(await read("forecast/births_ttm.safetensors"));
const births = (await table("forecast/us_births_daily.csv")).slice(1).map((row) => Number(row[1]));
assert.deepEqual([...forecaster.run(births.slice(-forecaster.about.columns)).values], expected.forecast);

const writer = await gated.open(await read("generate_text/bible.int8.safetensors"));
const text = [...Buffer.from("And Noah opened the gate")];
const state = writer.start();
let logits = state.extend(text, { last: true });
const branch = state.copy();
for (let i = 0; i < 60; ++i) {
  text.push(best(logits.values));
  logits = state.extend(text.slice(-1));
}
assert.equal(Buffer.from(text).toString(), expected.text);
assert.deepEqual([...logits.values], expected.logits);
assert.equal(state.position, 84);
assert.equal(branch.position, 24);

// Errors have the library's messages, and the library keeps working.
const refused = (call, words) => assert.throws(call, (error) => error instanceof gated.GatedError && error.message.includes(words));
refused(() => state.rewind(3), "sums over the tokens");
refused(() => writer.run([1, 300]), "300");
refused(() => classifier.run([1, 2, 3]), "multiple of columns = 64");
refused(() => writer.run("text"), "integers");
refused(() => writer.run([2 ** 32 + 5]), "integers of 32 bits");
refused(() => state.rewind(2 ** 32), "position must be integers");
refused(() => writer.run([1, 2], { lengths: [0.5, 1.5] }), "lengths must be integers");
refused(() => classifier.run(new Float32Array(64), { tokens: [1, 2] }), "2 frequency tokens");
refused(() => classifier.run(new Float32Array(64), { tokens: [1] }), "input->tokens is set");
refused(() => writer.run([1, 2], { mask: [1] }), "mask has 1 entries, expected one for each of 2 rows");
refused(() => classifier.prepareImage(new Uint8Array(5), 2, 2, "grey"), "5 bytes, expected 2 × 2 × 1");
refused(() => classifier.start(), "An image is not a sequence");
assert.equal(classifier.prepareImage(new Uint8Array(64), 8, 8, "grey").length, 64);
await assert.rejects(gated.open(new Uint8Array(9)), gated.GatedError);
await assert.rejects(gated.open(await read("forecast/births_ttm.safetensors"), { weights: "int4" }), /int4/);
branch.free();
refused(() => branch.extend([1]), "freed already");
state.free();
writer.close();
refused(() => writer.run([1]), "freed already");
const pair = [1, 2].map(() => [...classifier.run(new Float32Array(64)).values]);
assert.deepEqual(pair[0], pair[1]);
console.log(`gated ${gated.version()}: ${right} digits, 28 days and 60 bytes of text are the native library's, bit for bit`);
