# Run by ctest: formats lose little accuracy, requantizing an int8 model changes nothing, and invalid input is refused.

include(${EXAMPLES}/common/expect_run.cmake)
set(file ${FOLDER}/small.safetensors)

# The scanned digits: the number of correct answers is the same in every format.
expect_run(0 "images    359, held out.*float32[^\n]*98.33 %.*bf16[^\n]*98.33 %.*int8 [^\n]*98.33 %.*int8-rows[^\n]*98.33 %"
  ${EXAMPLES}/classify_digits/digits_gmlp.safetensors --images ${EXAMPLES}/classify_digits/digits.csv)

# A language model in int8: quantizing it again loses nothing.
expect_run(0 "trunk.blocks.0.projection.hidden.weight.*int8 products[^\n]*e-0[34] .*int8-rows products[^\n]*e-0[34] .*saved .*small.safetensors" ${EXAMPLES}/generate_text/bible.int8.safetensors
  --texts ${EXAMPLES}/generate_text/README.md --tensors --format int8 --out ${file})
if(NOT said MATCHES "int8 [^\n]*0.00e\\+00 +0.00e\\+00 +100.00 %")
  message(FATAL_ERROR "rounding an int8 model to int8 changes it:\n${said}")
endif()
file(SIZE ${EXAMPLES}/generate_text/bible.int8.safetensors before)
file(SIZE ${file} after)
math(EXPR most "${before} + 512")  # the new file adds a checksum and settings
if(after LESS before OR after GREATER most)
  message(FATAL_ERROR "${after} bytes, expected ${before} to ${most}")
endif()
file(REMOVE ${file})

file(WRITE ${FOLDER}/short.txt "0123456789")  # one byte is held out, with none before it to predict it from
expect_run(1 "the held-out text is too short to measure. Give longer files." ${EXAMPLES}/generate_text/bible.int8.safetensors
  --texts ${FOLDER}/short.txt)
file(REMOVE ${FOLDER}/short.txt)

# A forecaster.
expect_run(0 "series +[0-9]+ forecasts.*float32[^\n]* 0.00e\\+00 .*int8-rows products[^\n]*e-0[23] "
  ${EXAMPLES}/forecast/births_ttm.safetensors --series ${EXAMPLES}/forecast/us_births_daily.csv)
expect_no_file(${EXAMPLES}/forecast/births_ttm.safetensors --series FILE)

# expect_refused_series(<message> <last rows>)
function(expect_refused_series message)
  file(WRITE ${FOLDER}/series.csv "day,births\n2014-01-01,5\n2014-01-02,6\n2014-01-03,6\n${ARGN}")
  expect_run(1 "${message}" ${EXAMPLES}/forecast/births_ttm.safetensors --series ${FOLDER}/series.csv)
  file(REMOVE ${FOLDER}/series.csv)
endfunction()
expect_refused_series("series.csv, column 1, .day.: line 5, .2014-01-01., is before line 4" "2014-01-01,7\n")
expect_refused_series("series.csv, column 1, .day.: line 5 repeats the time of line 4" "2014-01-03,7\n")
expect_refused_series("the column .births. of --series has a gap at 2014-01-04. Fill it" "2014-01-05,7\n")
expect_refused_series("the column .births. of --series has a gap in line 5. Fill it" "2014-01-04,\n")

expect_no_file(FILE)
expect_no_file(${EXAMPLES}/classify_digits/digits_gmlp.safetensors --images FILE)
expect_no_file(${EXAMPLES}/classify_digits/mnist_gmlp.safetensors --mnist FILE)
expect_no_file(${EXAMPLES}/generate_text/bible.int8.safetensors --texts FILE)
expect_run(2 "quantized_weights: --images, --mnist, --series: the model is a language model. Give --texts."
  ${EXAMPLES}/generate_text/bible.int8.safetensors --images ${EXAMPLES}/classify_digits/digits.csv)
expect_run(2 "--texts, --series: the model is an image classifier. Give --images or --mnist."
  ${EXAMPLES}/classify_digits/digits_gmlp.safetensors --texts ${EXAMPLES}/README.md)
expect_run(2 "--out" ${EXAMPLES}/classify_digits/digits_gmlp.safetensors --format int8)
