# cmake -DPROGRAM=… -DDIGITS=… -P one_unit.cmake: main.c classifies a digit of examples/classify_digits.
include(${CMAKE_CURRENT_LIST_DIR}/../../examples/common/expect_run.cmake)
expect_run(0 "43082 parameters; row 4 shows a 4, and its label is 4" ${DIGITS}/digits_gmlp.safetensors ${DIGITS}/digits.csv)
