# Run by ctest: draws the spatial weights and attention maps of an aMLP that train_text has just trained.

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
# Rows add up to one, so the largest of 32 weights is at least 1/32, and with random weights it is larger.
set(attention "attention: the largest weight of a token is 0[.](0[4-9]|[1-9])[0-9]+ on average")
if(NOT code EQUAL 0 OR NOT said MATCHES "aMLP language model, 2 blocks, 32 tokens.*\n0 .*${attention}.*\n1 .*${attention}")
  message(FATAL_ERROR "visualize_gates --attention random: exit code ${code}\n${said}")
endif()
foreach(block IN ITEMS 0 1)
  foreach(picture IN ITEMS gates_block${block} gates_block${block}_attention)
    if(NOT EXISTS ${work}/${picture}.svg)
      message(FATAL_ERROR "there is no ${picture}.svg")
    endif()
  endforeach()
endforeach()

execute_process(COMMAND ${PROGRAM} ${DIGITS} --attention random --out ${work}/gates
                RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code EQUAL 1 OR NOT said MATCHES "--attention: this model has no attention")
  message(FATAL_ERROR "visualize_gates --attention with a gMLP: exit code ${code}\n${said}")
endif()
include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)

# A checkpoint as published by timm, without a configuration: a gmlp_ti16_224 of zeros.
set(header "{\"__metadata__\":{}")
set(end 0)
function(add_tensor name shape)
  string(REPLACE "," "*" count "${shape}")
  math(EXPR next "${end} + 4 * ${count}")
  set(header "${header},\"${name}\":{\"dtype\":\"F32\",\"shape\":[${shape}],\"data_offsets\":[${end},${next}]}" PARENT_SCOPE)
  set(end ${next} PARENT_SCOPE)
endfunction()
add_tensor(stem.proj.weight 128,3,16,16)
foreach(name IN ITEMS stem.proj.bias norm.weight norm.bias)
  add_tensor(${name} 128)
endforeach()
add_tensor(head.weight 5,128)
add_tensor(head.bias 5)
foreach(block RANGE 29)
  foreach(tensor IN ITEMS norm.weight=128 norm.bias=128 mlp_channels.fc1.weight=768,128 mlp_channels.fc1.bias=768
      mlp_channels.gate.norm.weight=384 mlp_channels.gate.norm.bias=384 mlp_channels.gate.proj.weight=196,196
      mlp_channels.gate.proj.bias=196 mlp_channels.fc2.weight=128,384 mlp_channels.fc2.bias=128)
    string(REPLACE "=" ";" tensor ${tensor})
    list(GET tensor 0 name)
    list(GET tensor 1 shape)
    add_tensor(blocks.${block}.${name} ${shape})
  endforeach()
endforeach()
string(LENGTH "${header}" length)
math(EXPR rest "65536 - 1 - ${length}")
string(REPEAT " " ${rest} spaces)
file(WRITE ${work}/header "${header}}${spaces}")
execute_process(WORKING_DIRECTORY ${work} COMMAND_ERROR_IS_FATAL ANY COMMAND sh -c
  "(printf '\\000\\000\\001\\000\\000\\000\\000\\000'; cat header; head -c ${end} /dev/zero) > published.safetensors")
file(WRITE ${work}/config.json "{\"architecture\": \"gmlp_ti16_224\", \"num_classes\": 5}")
foreach(known IN ITEMS "--preset;gmlp_ti16_224.in1k" "--config;${work}/config.json")
  expect_run(0 "gMLP image classifier, 30 blocks, 14 x 14 patches, spatial weights dense.*\n29 " ${work}/published.safetensors ${known}
    --block 29 --out ${work}/published)
endforeach()
expect_run(1 "published.safetensors" ${work}/published.safetensors)  # the default preset does not fit: its model is larger
expect_run(1 "entry = gmlp_x" ${work}/published.safetensors --preset gmlp_x)
expect_no_file(FILE)
expect_no_file(${work}/published.safetensors --config FILE)
expect_run(2 "--rows: expected a whole number from 0 to [0-9]+, got -2" --rows 1,-2)
expect_run(2 "--block: expected a whole number from 0 to [0-9]+, got x" --block x)
expect_run(2 "unexpected argument second" ${DIGITS} second)
file(REMOVE_RECURSE ${work})
