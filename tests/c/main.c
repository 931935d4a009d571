#include <gated/c/gated.h>
#include <stdio.h>

static int fail(void) {
  fprintf(stderr, "%s\n", gated_last_error());
  return 1;
}

int main(int count, char** files) {
  float pixels[64], scores[10];
  const gated_source source = {.size = sizeof source, .path = files[1]}; /* made by examples/train_digits */
  const gated_input input = {.size = sizeof input, .values = pixels, .rows = 1};
  gated_output output = {.size = sizeof output, .values = scores, .capacity = 10};
  gated_description about = {.size = sizeof about};
  gated_model* model;
  int i, label = -1, digit = 0;
  FILE* digits = fopen(files[count - 1], "r"); /* rows of 64 pixels, 0 to 16, and a label */

  if (digits == NULL || fscanf(digits, "%*[^\n] %*[^\n] %*[^\n] %*[^\n]") == EOF) {
    return 1;
  }
  for (i = 0; i < 64 && fscanf(digits, "%f,", &pixels[i]) == 1; ++i) {
    pixels[i] = pixels[i] / 8 - 1; /* as in training */
  }
  if (fscanf(digits, "%d", &label) != 1 || fclose(digits) != 0) {
    return 1;
  }

  if (gated_open(&source, &model) != GATED_OK || gated_describe(model, &about) != GATED_OK ||
      gated_run(model, &input, &output) != GATED_OK) {
    return fail();
  }
  for (i = 0; i < 10; ++i) {
    digit = scores[i] > scores[digit] ? i : digit;
  }
  printf("%ld parameters; row 4 shows a %d, and its label is %d\n", (long)about.parameters, digit, label);
  return gated_close(model) == GATED_OK ? 0 : fail();
}
