# Run by ctest: a saved model writes the same bytes as the one in memory, and invalid input is refused.

# Runs PROGRAM. The exit code must be `expected`, and stderr must match `pattern`. Sets ${text} to its stdout.
function(generate expected pattern)
  execute_process(COMMAND ${PROGRAM} ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
  if(NOT code STREQUAL expected OR NOT err MATCHES "${pattern}")
    message(FATAL_ERROR "generate_text ${ARGN}\nexit code ${code}, expected ${expected}; stderr should match ${pattern}:\n${err}")
  endif()
  set(text "${out}" PARENT_SCOPE)
endfunction()

set(summary "64 tokens, [0-9.]+ ms/token, [0-9]+ tokens/s; prefill [0-9.]+ ms .prompt of 1.; state [1-9][0-9]+ bytes\n$")
foreach(kind IN ITEMS flash gmlp toeplitz)
  set(file ${FOLDER}/${kind}.safetensors)
  generate(0 "random weights.*saved as.*${summary}" --random ${kind} --tokens 64 --seed 7 --save ${file})
  set(in_memory "${text}")
  generate(0 "^${summary}" ${file} --tokens 64 --seed 7)
  string(LENGTH "${text}" length)
  if(length LESS 64 OR NOT text STREQUAL in_memory)
    message(FATAL_ERROR "${kind}: the model in the file writes\n${text}\nbut the model in memory writes\n${in_memory}")
  endif()
  generate(0 "" ${file} --tokens 64 --seed 8)
  if(text STREQUAL in_memory)
    message(FATAL_ERROR "${kind}: another seed writes the same bytes")
  endif()
endforeach()

# The default checkpoint writes ASCII, and words of its training text.
generate(0 "^400 tokens" --tokens 400)
if(NOT text MATCHES "^[ -~\n]+$" OR NOT text MATCHES " (the|of|and|unto) ")
  message(FATAL_ERROR "the default model writes\n${text}")
endif()

# When the text outgrows the 512 tokens of the gMLP, the model rereads the last 256; FLASH has no limit.
generate(0 "exceeded the model's length .512 tokens. 1 time; only the last 256.*520 tokens" ${FOLDER}/gmlp.safetensors --tokens 520)
generate(0 "^520 tokens" ${FOLDER}/flash.safetensors --tokens 520)
# The gMLP with Toeplitz weights supports 65,537 tokens, but its state has room only for the length of the text.
generate(0 "^1500 tokens.*state [0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9] bytes" ${FOLDER}/toeplitz.safetensors --tokens 1500)

# In the printed prompt, é is unchanged, and ESC and a byte that is not UTF-8 are escaped.
string(ASCII 195 169 e_acute)
string(ASCII 27 escape)
string(ASCII 255 no_utf8)
generate(0 "prompt of 7" ${FOLDER}/flash.safetensors --tokens 1 --temperature 0 --prompt "a${e_acute}${escape}[0${no_utf8}")
string(FIND "${text}" "a${e_acute}\\x1b[0\\xff" at)
if(NOT at EQUAL 0)
  message(FATAL_ERROR "the prompt is shown as ${text}")
endif()

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)
expect_no_file(FILE)
file(WRITE ${FOLDER}/broken.safetensors "no model")
generate(1 "^generate_text: [^\n]*broken.safetensors[^\n]*\n$" ${FOLDER}/broken.safetensors)
generate(2 "^generate_text: --top-p: expected a number from 0 to 1, got 2" ${FOLDER}/flash.safetensors --top-p 2)
file(REMOVE ${FOLDER}/flash.safetensors ${FOLDER}/gmlp.safetensors ${FOLDER}/toeplitz.safetensors ${FOLDER}/broken.safetensors)
