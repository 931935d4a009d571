# ctest runs this: the pictures of an aMLP that train_text has just made, with what its attention looks at.

set(work ${FOLDER}/end_to_end)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
execute_process(COMMAND ${TRAIN} ${TEXT} --model amlp --parameters 18000 --channels 16 --depth 2 --length 32 --steps 1
                        --sample 0 --out ${work}/amlp.safetensors
                RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 0)
  message(FATAL_ERROR "train_text: exit code ${code}\n${said}")
endif()

execute_process(COMMAND ${PROGRAM} ${work}/amlp.safetensors --attention random --out ${work}/gates
                RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
# Rows add up to one, so the largest weight of 32 is at least 1/32, and above that in a model with random weights.
set(attention "attention: the largest weight of a token is 0[.](0[4-9]|[1-9])[0-9]+ on average")
if(NOT code EQUAL 0 OR NOT said MATCHES "aMLP language model, 2 blocks, 32 tokens.*\n0 .*${attention}.*\n1 .*${attention}")
  message(FATAL_ERROR "visualize_gates --attention random: exit code ${code}\n${said}")
endif()
foreach(block IN ITEMS 0 1)
  foreach(picture IN ITEMS gates_block${block} gates_block${block}_attention)
    if(NOT EXISTS ${work}/${picture}.png)
      message(FATAL_ERROR "there is no ${picture}.png")
    endif()
  endforeach()
endforeach()

execute_process(COMMAND ${PROGRAM} ${DIGITS} --attention random --out ${work}/gates
                RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 1 OR NOT said MATCHES "--attention: this model has no attention")
  message(FATAL_ERROR "visualize_gates of a gMLP with --attention: exit code ${code}\n${said}")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)
expect_run(2 "--rows: expected a whole number from 0 to [0-9]+, got -2" --rows 1,-2)
expect_run(2 "--block: expected a whole number from 0 to [0-9]+, got x" --block x)
expect_run(2 "one too many: second" ${DIGITS} second)
file(REMOVE_RECURSE ${work})
