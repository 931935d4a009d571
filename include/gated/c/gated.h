#ifndef GATED_C_GATED_H
#define GATED_C_GATED_H

/** @file
 * The C interface: runs the models listed in io/known_models.hpp, from C99, C++ and every language that calls C.
 *
 *     gated_source source = {.size = sizeof source, .path = "digits.safetensors"};
 *     gated_model* model;
 *     if (gated_open(&source, &model) != GATED_OK) {
 *       fputs(gated_last_error(), stderr);
 *       return 1;
 *     }
 *     gated_input input = {.size = sizeof input, .values = pixels, .rows = 1};
 *     gated_output output = {.size = sizeof output, .values = scores, .capacity = 10};
 *     gated_run(model, &input, &output);
 *     gated_close(model);
 *
 * Link the shared library of CMake's target gated::c, or compile the C interface into a C++ program: include
 * gated/c/implementation.hpp in exactly one translation unit.
 *
 * Functions that can fail return a status. After an error, gated_last_error() says what was expected and what was given. The
 * model, the state and the output's values are then unchanged, with one exception: after GATED_MEMORY_ERROR, free the state and
 * ignore the values. No function writes to a stream, ends the program or throws.
 *
 * Structs start with their own size, so later versions can append members. Set `size`, and set members that you do not use to 0
 * or NULL.
 *
 * Matrices are row-major. A row is a token, an image, a series or a waveform: what the model's forward() takes in C++.
 *
 * `gated_model*` and `gated_state*` are handles, not addresses. A call with a handle that is NULL, was freed or is of the other
 * kind returns GATED_HANDLE_ERROR; only gated_close() and gated_free() ignore NULL. Close all models and free all states before
 * unloading the library.
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
  GATED_HANDLE_ERROR = 5,   /**< a handle is NULL, freed, of the other kind, or in use by another thread */
  GATED_OTHER_ERROR = 6     /**< anything else */
} gated_status;

/** Which rows of the output a call computes. */
typedef enum gated_rows {
  GATED_ALL_ROWS = 0, /**< all rows */
  GATED_LAST_ROW = 1, /**< the last row only: for gated_extend() with a text model */
  GATED_POOLED = 2    /**< one vector per sequence, as from pooled() in C++; for gated_run() with a text model and no mask */
} gated_rows;

/** Where a model is stored, and how to open it.
 *
 * For products in int8, set `weights` too: "int8-rows" is the fastest, "int8" the more accurate. Without it, "int8" products of
 * a file in float encode every weight anew in each call, and a file in bf16 is refused.
 */
typedef struct gated_source {
  size_t size;           /**< sizeof(gated_source) */
  const char* path;      /**< the path of a safetensors file, in UTF-8; NULL if `bytes` is set */
  const void* bytes;     /**< a safetensors file in memory, not needed after the call; NULL if `path` is set */
  size_t byte_count;     /**< bytes at `bytes` */
  const char* weights;   /**< format of the weights in memory: "float32", "bf16", "int8", "int8-rows"; NULL: as in the file */
  const char* products;  /**< matmul format: NULL or "float32", "int8" (int8_products()), "bf16" (needs AVX512-BF16) */
  int threads;           /**< threads per call, including the caller's; 0 means 1 */
} gated_source;

/** The architecture, inputs and outputs of a model. Pointers are valid until the model is closed. */
typedef struct gated_description {
  size_t size;                /**< sizeof(gated_description), set by the caller */
  const char* architecture;   /**< such as "gated.ImageClassifier<gated.Stack<gated.GmlpBlock>>" */
  const char* config;         /**< the model's configuration, in JSON */
  int reads_tokens;           /**< 1 if the input is token ids, 0 if it is values */
  ptrdiff_t vocabulary;       /**< number of distinct token ids; 0 if the input is values */
  ptrdiff_t columns;          /**< columns of the input; -1 if any number is accepted, 0 for token ids */
  ptrdiff_t outputs;          /**< columns of the output; -1 if their number depends on the input */
  ptrdiff_t pooled_outputs;   /**< columns of a pooled output; 0 if the model has none */
  ptrdiff_t shortest;         /**< fewest rows of a sequence */
  ptrdiff_t longest;          /**< most rows of a sequence; -1 for no limit */
  ptrdiff_t multiple;         /**< the number of rows of a sequence must be a multiple of this */
  int streams;                /**< 1 if the model streams: gated_start() works */
  int takes_mask;             /**< 1 if a mask may hide rows */
  ptrdiff_t parameters;       /**< number of parameters */
  ptrdiff_t image_width;      /**< width of the pictures that an image classifier reads; 0 for other models */
  ptrdiff_t image_height;     /**< see image_width */
  ptrdiff_t image_channels;   /**< see image_width */
  const char* const* labels;  /**< names of the classes, or NULL */
  ptrdiff_t label_count;      /**< number of labels */
  const char* signature;      /**< the signature that the file records (io/signature.hpp), or NULL */
} gated_description;

/** The input of gated_run() and gated_extend(). The memory belongs to the caller and is only read. */
typedef struct gated_input {
  size_t size;                     /**< sizeof(gated_input) */
  const float* values;             /**< rows × columns, for models that read values */
  const ptrdiff_t* tokens;         /**< token ids, one per row; for a TinyTimeMixer, frequency tokens, one per sequence */
  ptrdiff_t rows;                  /**< rows of `values`, or number of tokens */
  ptrdiff_t columns;               /**< columns of `values`; 0 for the model's, except in `other` and if that is -1 */
  const ptrdiff_t* lengths;        /**< rows of each sequence; NULL: one sequence, or several if the model fixes the length */
  ptrdiff_t sequences;             /**< entries of `lengths` */
  const uint8_t* mask;             /**< 0 or 1 per row; 0 hides the row; NULL hides no row */
  const ptrdiff_t* token_types;    /**< segment ids, one per token; NULL means all 0 */
  int output_rows;                 /**< which rows to compute: a value of gated_rows */
  const struct gated_input* other; /**< GatedCrossAttention: keys, with values as their `other`; TinyTimeMixer: known future */
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
  const char* order;     /**< the order of a pixel's bytes: "grey", "grey_alpha", "rgb", "rgba", "bgr", "bgra" */
} gated_picture;

/** The version of the library, such as "0.2.0". Valid forever. */
GATED_API const char* gated_version(void);

/** The message of this thread's last failed call, in UTF-8; "" before the first. Valid until this thread's next failed call. */
GATED_API const char* gated_last_error(void);

/** Opens a model. `*model` is set only if the call succeeds.
 *
 * Errors: those of load_prepared(); GATED_FILE_ERROR for an architecture that this library does not know, or labels that do
 * not fit its outputs; GATED_ARGUMENT_ERROR for products in "bf16" if the processor, kernels or arithmetic in use lack them,
 * and for products in "int8" with weights in bf16.
 * Cost: one pass over the file. Memory for the weights in the format asked for. */
GATED_API gated_status gated_open(const gated_source* source, gated_model** model);

/** Closes a model. States started from it stay usable until they are freed. NULL is ignored.
 *
 * Errors: GATED_HANDLE_ERROR if the model was closed before, or if it runs in another thread and therefore stays open. */
GATED_API gated_status gated_close(gated_model* model);

/** Describes a model. Writes no member beyond `description->size`. */
GATED_API gated_status gated_describe(const gated_model* model, gated_description* description);

/** output = model(input), bit-equal to forward() in C++.
 *
 * Several threads may run the same model at once.
 * Errors: those of forward(); GATED_SHAPE_ERROR if the output does not fit.
 * Cost: no allocation when warm if all sequences have the same length; a short lock to take the scratch memory. */
GATED_API gated_status gated_run(const gated_model* model, const gated_input* input, gated_output* output);

/** Starts a sequence of up to `capacity` rows; 0 for as many as the model supports. `*state` is set only if the call succeeds.
 *
 * Errors: GATED_ARGUMENT_ERROR if the model does not stream, or if it keeps every token and `capacity` is 0; GATED_SHAPE_ERROR
 * if `capacity` is more than the model supports. */
GATED_API gated_status gated_start(const gated_model* model, ptrdiff_t capacity, gated_state** state);

/** Adds the rows of `input` to the sequence: extend() in C++. Output bits do not depend on how the rows are split into calls.
 *
 * In `input`, leave `lengths`, `mask`, `token_types` and `other` NULL.
 * Errors: those of extend(); GATED_HANDLE_ERROR if another thread uses the state.
 * Cost: no allocation when warm; no lock if the model has one thread. */
GATED_API gated_status gated_extend(gated_state* state, const gated_input* input, gated_output* output);

/** Branches a sequence: `*copy` continues from the same rows. `*copy` is set only if the call succeeds. */
GATED_API gated_status gated_copy(const gated_state* state, gated_state** copy);

/** Forgets the rows from `position` on.
 *
 * Errors: those of State::rewind() in C++, such as GATED_ARGUMENT_ERROR if the model keeps sums over the rows. */
GATED_API gated_status gated_rewind(gated_state* state, ptrdiff_t position);

/** Sets `*position` to the number of rows that a state has seen. */
GATED_API gated_status gated_position(const gated_state* state, ptrdiff_t* position);

/** Frees a state. NULL is ignored. */
GATED_API gated_status gated_free(gated_state* state);

/** Turns a picture of any size into an input row of an image classifier: resized, cropped and scaled as timm does.
 *
 * Errors: GATED_ARGUMENT_ERROR if the model reads no pictures; those of ImageInput. */
GATED_API gated_status gated_prepare_image(const gated_model* model, const gated_picture* picture, gated_output* row);

/** Chooses the kernels ("sse2", "avx2", "avx512", "neon", "simd128", "scalar") and the arithmetic ("fastest", "portable") of
 * all later calls in all threads. NULL leaves a setting unchanged.
 *
 * Reopen models after changing the kernels: gated_open() packs weights for the kernels in use, and calls with a model packed
 * for others return GATED_ARGUMENT_ERROR.
 * Errors: GATED_ARGUMENT_ERROR for kernels that this machine or library lacks. */
GATED_API gated_status gated_use(const char* kernels, const char* arithmetic);

#if defined(__cplusplus)
}
#endif

#endif
