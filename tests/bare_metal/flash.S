@ Files in flash. FOLDER is examples/classify_digits.

        .section .rodata
#include "file.inc"

        file    model_begin, model_end, FOLDER/digits_gmlp.safetensors
        file    expected_begin, expected_end, FOLDER/digits_expected.safetensors
        file    digits_begin, digits_end, FOLDER/digits.csv
