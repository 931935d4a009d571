// node rnnoise.mjs IN.wav OUT.wav: denoises a mono recording at 48 kHz, in 16-bit samples, with RNNoise. For `denoise --compare`:
//
//     npm install --prefix build/rnnoise @jitsi/rnnoise-wasm@0.2.1
//     denoise --test build/speech/test --compare "node examples/denoise/rnnoise.mjs"

import { readFileSync, writeFileSync } from 'node:fs';

const [, , input, output] = process.argv;
const script = new URL('../../build/rnnoise/node_modules/@jitsi/rnnoise-wasm/dist/rnnoise-sync.js', import.meta.url);
const asModule = `data:text/javascript;base64,${readFileSync(script).toString('base64')}`;  // the package does not mark it as one
const rnnoise = (await import(asModule)).default();

const header = 44, frame = 480, delay = 960;  // RNNoise is two frames late
const wav = readFileSync(input);
const samples = (wav.length - header) / 2;
const state = rnnoise._rnnoise_create(0);
const memory = rnnoise._malloc(4 * frame), numbers = memory / 4;
const clean = Buffer.from(wav);
for (let first = 0; first < samples + delay; first += frame) {
  for (let i = 0; i < frame; ++i) {
    rnnoise.HEAPF32[numbers + i] = first + i < samples ? wav.readInt16LE(header + 2 * (first + i)) : 0;
  }
  rnnoise._rnnoise_process_frame(state, memory, memory);
  for (let i = 0; i < frame; ++i) {
    const to = first + i - delay;
    if (to >= 0 && to < samples) {
      const rounded = Math.round(rnnoise.HEAPF32[numbers + i]);
      clean.writeInt16LE(Math.min(Math.max(rounded, -32768), 32767), header + 2 * to);
    }
  }
}
writeFileSync(output, clean);
