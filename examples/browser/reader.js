// The digits' module, which the tabs "Draw" and "Teach" share.

import { start } from "./engine.js";

export const reader = start("digits", "mnist.safetensors");
