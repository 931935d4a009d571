/** What the library refused, in its words. */
export class GatedError extends Error {}

/** Loads the library, once. open() waits for it. */
export function ready(): Promise<void>;

/** The library's version, once it is loaded. */
export function version(): string;

/** Chooses the arithmetic of all later calls, once the library is loaded: the fastest, or one with the same bits on every
 * machine. */
export function useArithmetic(arithmetic: "fastest" | "portable"): void;

export type WeightFormat = "float32" | "bf16" | "int8" | "int8-rows";

/** Opens the model in the bytes of a safetensors file that gated or convert.py wrote.
 *
 * For products in int8, set `weights` too: "int8-rows" is the fastest, "int8" the more accurate. Without it, products of a file
 * in float encode every weight anew in each call. Products in bf16 need AVX512-BF16, which WebAssembly lacks.
 */
export function open(
  bytes: Uint8Array | ArrayBuffer,
  options?: { weights?: WeightFormat; products?: "float32" | "int8" },
): Promise<Model>;

/** Rows × columns numbers, row by row. */
export interface Output {
  values: Float32Array;
  rows: number;
  columns: number;
}

/** The architecture, inputs and outputs of a model: gated_description in c/gated.h. */
export interface Description {
  architecture: string;
  config: object;
  readsTokens: boolean;
  vocabulary: number;
  /** Columns of the input; -1 if any number is accepted. */
  columns: number;
  outputs: number;
  pooledOutputs: number;
  shortest: number;
  /** -1 for no limit. */
  longest: number;
  multiple: number;
  streams: boolean;
  takesMask: boolean;
  parameters: number;
  imageWidth: number;
  imageHeight: number;
  imageChannels: number;
  labels: string[];
  signature: string | null;
}

/** A second input: keys of a GatedCrossAttention, known futures of a TinyTimeMixer. */
export interface OtherInput {
  values: ArrayLike<number>;
  columns: number;
  lengths?: ArrayLike<number>;
  mask?: ArrayLike<number>;
  other?: OtherInput;
}

export interface RunOptions {
  /** Columns of a row of `x`, if the model accepts any number. */
  columns?: number;
  /** Rows of each sequence. */
  lengths?: ArrayLike<number>;
  /** 0 or 1 per row: 0 hides it. */
  mask?: ArrayLike<number>;
  /** The frequency tokens of a TinyTimeMixer, one per sequence. */
  tokens?: ArrayLike<number>;
  /** A segment id per token. */
  types?: ArrayLike<number>;
  /** A vector per sequence, of a text model. */
  pooled?: boolean;
  other?: OtherInput;
}

export class Model {
  private constructor();
  readonly about: Description;
  /** The model's output for rows of values, or for token ids. */
  run(x: ArrayLike<number>, options?: RunOptions): Output;
  /** Starts a sequence of up to `capacity` rows; 0 for as many as the model supports. */
  start(capacity?: number): State;
  /** An input row of an image classifier: resized, cropped and scaled as timm does. */
  prepareImage(
    pixels: ArrayLike<number>,
    width: number,
    height: number,
    order?: "grey" | "grey_alpha" | "rgb" | "rgba" | "bgr" | "bgra",
  ): Float32Array;
  /** Frees the model. Its states keep what they need. */
  close(): void;
}

/** A sequence that streams through a causal model. */
export class State {
  private constructor();
  /** Rows seen. */
  readonly position: number;
  /** The outputs of the next rows or tokens; of the last token only with `last`. */
  extend(x: ArrayLike<number>, options?: { last?: boolean }): Output;
  /** A branch that continues from here. */
  copy(): State;
  /** Forgets the rows from `position` on. */
  rewind(position: number): void;
  free(): void;
}
