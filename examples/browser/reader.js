// The module for digits, shared by the tabs "Draw" and "Teach".

import { start } from "./engine.js";

export const reader = start("digits", "mnist.safetensors");
