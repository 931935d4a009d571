#ifndef GATED_C_GATED_H
#define GATED_C_GATED_H

/** @file
 * The C interface: runs any model that load_model() knows, from C99, C++ and every language that calls C.
 *
 *     gated_source source = {.size = sizeof source, .path = "digits.safetensors"};
 *     gated_model* model;
 *     if (gated_open(&source, &model) != GATED_OK) {
 *       fputs(gated_last_error(), stderr);
 *     }
 *     gated_input input = {.size = sizeof input, .values = pixels, .rows = 1};
 *     gated_output output = {.size = sizeof output, .values = scores, .capacity = 10};
 *     gated_run(model, &input, &output);
 *     gated_close(model);
 *
 * Link the shared library of CMake's target gated::c, or compile it into a C++ program: include gated/c/implementation.hpp in one
 * of its units.
 *
 * Functions that can fail return a status. After an error, gated_last_error() is a sentence that says what was expected and
 * what was given. The model, the state and the output's values are unchanged, with one exception: after GATED_MEMORY_ERROR,
 * free the state and ignore the values. No function writes to a stream, ends the program or throws.
 *
 * Structs start with their own size, so later versions can append members. Set `size`, and zero what you do not use: absent
 * members have the value 0 or NULL.
 *
 * Matrices are row-major. A row is a token, an image, a series or a wave, as the model's forward() takes it in C++.
 *
 * `gated_model*` and `gated_state*` are handles, not addresses. A handle that is NULL, was freed or is of the other kind gives
 * GATED_HANDLE_ERROR.
 *
 * Threads may share a model. A state serves one thread at a time.
 */

#include <stddef.h>
#include <stdint.h>

#if !defined(GATED_API)
#if defined(_WIN32) && defined(GATED_EXPORTS) /* the DLL itself is being compiled */
#define GATED_API __declspec(dllexport)
#elif defined(_WIN32)
#define GATED_API
#else
#define GATED_API __attribute__((visibility("default")))
#endif
#endif

#if defined(__cplusplus)
extern "C" {
#endif

/** An open model. */
typedef struct gated_model gated_model;
/** What a causal model remembers of one streamed sequence. */
typedef struct gated_state gated_state;

/** The result of a call. */
typedef enum gated_status {
  GATED_OK = 0,
  GATED_SHAPE_ERROR = 1,    /**< a matrix, sequence or picture has the wrong size */
  GATED_ARGUMENT_ERROR = 2, /**< an argument has an invalid value */
  GATED_FILE_ERROR = 3,     /**< a file is missing, malformed or holds no known model */
  GATED_MEMORY_ERROR = 4,   /**< memory is exhausted */
  GATED_HANDLE_ERROR = 5,   /**< a handle is NULL, was freed, or is in use by another thread */
  GATED_OTHER_ERROR = 6     /**< anything else */
} gated_status;

/** The rows of an output. */
typedef enum gated_rows {
  GATED_ALL_ROWS = 0, /**< all that the model computes */
  GATED_LAST_ROW = 1, /**< the last row only: for gated_extend() of a text model */
  GATED_POOLED = 2    /**< a vector per sequence, of a text model in gated_run(): pooled() in C++ */
} gated_rows;

/** Where a model is, and how to open it. */
typedef struct gated_source {
  size_t size;           /**< sizeof(gated_source) */
  const char* path;      /**< a safetensors file in UTF-8, or NULL for `bytes` */
  const void* bytes;     /**< such a file in memory; not needed after the call */
  size_t byte_count;     /**< bytes at `bytes` */
  const char* weights;   /**< format of the weights in memory: "float32", "bf16", "int8", "int8-rows"; NULL: as in the file */
  const char* products;  /**< "float32" or NULL; "int8": int8_products() of quantized activations; "bf16" */
  int threads;           /**< threads of each call, including the caller's; 0 for 1 */
} gated_source;

/** What a model takes and gives. Pointers are valid until the model is closed. */
typedef struct gated_description {
  size_t size;                /**< sizeof(gated_description), set by the caller */
  const char* architecture;   /**< "gated.ImageClassifier<gated.Stack<gated.GmlpBlock>>" */
  const char* config;         /**< its configuration in JSON */
  int reads_tokens;           /**< 1 if the input is token ids, 0 if it is values */
  ptrdiff_t vocabulary;       /**< number of token ids; 0 for values */
  ptrdiff_t columns;          /**< columns of the input; -1 if any number is accepted, 0 for token ids */
  ptrdiff_t outputs;          /**< columns of the output; -1 if they depend on the input's */
  ptrdiff_t pooled_outputs;   /**< columns of a pooled output; 0 if the model has none */
  ptrdiff_t shortest;         /**< fewest rows of a sequence */
  ptrdiff_t longest;          /**< most rows of a sequence; -1 for no limit */
  ptrdiff_t multiple;         /**< the number of rows of a sequence must be a multiple of this */
  int streams;                /**< 1 if gated_start() works */
  int takes_mask;             /**< 1 if a mask may hide rows */
  ptrdiff_t parameters;       /**< number of parameters */
  ptrdiff_t image_width;      /**< size of the pictures of a classifier, otherwise 0 */
  ptrdiff_t image_height;     /**< see image_width */
  ptrdiff_t image_channels;   /**< see image_width */
  const char* const* labels;  /**< names of the classes, or NULL */
  ptrdiff_t label_count;      /**< number of labels */
  const char* signature;      /**< the signature that the file records (io/signature.hpp), or NULL */
} gated_description;

/** The input of gated_run() and gated_extend(). Memory is the caller's and is only read. */
typedef struct gated_input {
  size_t size;                     /**< sizeof(gated_input) */
  const float* values;             /**< rows × columns, for models that read values */
  const ptrdiff_t* tokens;         /**< ids, one per row; for a TinyTimeMixer with resolutions, one per item */
  ptrdiff_t rows;                  /**< rows of `values`, or number of tokens */
  ptrdiff_t columns;               /**< columns of `values`; 0 for those of the description */
  const ptrdiff_t* lengths;        /**< rows of each sequence; NULL for one sequence, or for as many as the model's length gives */
  ptrdiff_t sequences;             /**< entries of `lengths` */
  const uint8_t* mask;             /**< 0 or 1 per row, 0 hides it; NULL hides none */
  const ptrdiff_t* token_types;    /**< a segment id per token; NULL for 0 */
  int output_rows;                 /**< which rows to compute: a gated_rows */
  const struct gated_input* other; /**< keys of a GatedCrossAttention (values in their `other`), known futures of a TinyTimeMixer */
} gated_input;

/** Where an output goes. */
typedef struct gated_output {
  size_t size;        /**< sizeof(gated_output) */
  float* values;      /**< receives rows × columns floats; with NULL, a call only sets `rows` and `columns` */
  ptrdiff_t capacity; /**< floats at `values` */
  ptrdiff_t rows;     /**< set by the call, even if `capacity` is too small */
  ptrdiff_t columns;  /**< set by the call */
} gated_output;

/** A picture in the caller's memory. */
typedef struct gated_picture {
  size_t size;           /**< sizeof(gated_picture) */
  const uint8_t* pixels; /**< the upper left pixel */
  ptrdiff_t width;       /**< pixels in a row */
  ptrdiff_t height;      /**< rows */
  ptrdiff_t stride;      /**< bytes from one row to the next; 0 for packed rows, negative for bottom-up pictures */
  const char* order;     /**< bytes of a pixel: "grey", "grey_alpha", "rgb", "rgba", "bgr", "bgra" */
} gated_picture;

/** The version of the library, "0.2.0": valid forever. */
GATED_API const char* gated_version(void);

/** The message of this thread's last failed call, in UTF-8; "" before the first. Valid until this thread's next failed call. */
GATED_API const char* gated_last_error(void);

/** Opens a model. `*model` is set only if the call succeeds.
 *
 * Errors: those of load_prepared(); GATED_FILE_ERROR for an architecture that this library does not know.
 * Cost: one pass over the file. Memory for the weights in the format asked for. */
GATED_API gated_status gated_open(const gated_source* source, gated_model** model);

/** Closes a model. Its states keep what they need until they are freed. NULL is ignored.
 *
 * Errors: GATED_HANDLE_ERROR if it was closed already, or runs in another thread: then it stays open. */
GATED_API gated_status gated_close(gated_model* model);

/** Describes a model. Writes no member beyond `description->size`. */
GATED_API gated_status gated_describe(const gated_model* model, gated_description* description);

/** output = model(input): the bits of forward() in C++.
 *
 * Threads may run a model at the same time.
 * Errors: those of forward(); GATED_SHAPE_ERROR if the output does not fit.
 * Cost: no allocation when warm, if all sequences have one length. A short lock around the scratch memory. */
GATED_API gated_status gated_run(const gated_model* model, const gated_input* input, gated_output* output);

/** Starts a sequence of up to `capacity` rows; 0 for as many as the model serves. `*state` is set only if the call succeeds.
 *
 * Errors: GATED_ARGUMENT_ERROR if the model does not stream, or keeps every token and `capacity` is 0. */
GATED_API gated_status gated_start(const gated_model* model, ptrdiff_t capacity, gated_state** state);

/** Adds the rows of `input` to the sequence: extend() in C++. The bits do not depend on how the rows are split into calls.
 *
 * `input` has no lengths, mask, token_types or other input.
 * Errors: those of extend(); GATED_HANDLE_ERROR if another thread uses the state.
 * Cost: no lock and no allocation when warm. */
GATED_API gated_status gated_extend(gated_state* state, const gated_input* input, gated_output* output);

/** Branches a sequence: `*copy` continues from the same rows. Set only if the call succeeds. */
GATED_API gated_status gated_copy(const gated_state* state, gated_state** copy);

/** Forgets the rows from `position` on.
 *
 * Errors: GATED_ARGUMENT_ERROR for models that keep sums over the rows: see State::rewind() in C++. */
GATED_API gated_status gated_rewind(gated_state* state, ptrdiff_t position);

/** Sets `*position` to the number of rows that a state has seen. */
GATED_API gated_status gated_position(const gated_state* state, ptrdiff_t* position);

/** Frees a state. NULL is ignored. */
GATED_API gated_status gated_free(gated_state* state);

/** Turns a picture of any size into an input row of an image classifier: resized, cropped and scaled as timm does.
 *
 * Errors: GATED_ARGUMENT_ERROR if the model reads no pictures; those of ImageInput. */
GATED_API gated_status gated_prepare_image(const gated_model* model, const gated_picture* picture, gated_output* row);

/** Chooses the kernels ("sse2", "avx2", "avx512", "neon", "simd128", "scalar") and the arithmetic ("fastest", "portable") of all
 * later calls in all threads. NULL leaves one as it is.
 *
 * Open models again after a change of kernels: quantized weights are packed for one form.
 * Errors: GATED_ARGUMENT_ERROR for kernels that this machine or library lacks. */
GATED_API gated_status gated_use(const char* kernels, const char* arithmetic);

#if defined(__cplusplus)
}
#endif

#endif
