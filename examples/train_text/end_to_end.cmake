# ctest runs this: small trainings start, stop, go on bit for bit, and leave a model that generate_text opens.

set(work ${FOLDER}/end_to_end)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/texts)
foreach(i RANGE 60)
  math(EXPR square "${i} * ${i}")
  file(APPEND ${work}/texts/squares "The square of ${i} is ${square}.\n")
  file(APPEND ${work}/texts/doubles "Twice ${i} is the sum of ${i} and ${i}.\n")
endforeach()
file(WRITE ${work}/texts/short "short")

# Runs train_text, which must exit with code `expected` and say something that matches `pattern`; what it says is ${said}.
function(train expected pattern)
  execute_process(COMMAND ${TRAIN} ${ARGN} WORKING_DIRECTORY ${work}
                  RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code STREQUAL expected OR NOT out MATCHES "${pattern}")
    message(FATAL_ERROR "train_text ${ARGN}\nexit code ${code}, expected ${expected}; it should say ${pattern}:\n${out}")
  endif()
  set(said "${out}" PARENT_SCOPE)
endfunction()

function(expect_equal_files a b)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${work}/${a} ${work}/${b} RESULT_VARIABLE different)
  if(different)
    message(FATAL_ERROR "${a} and ${b} differ")
  endif()
endfunction()

set(small texts --channels 16 --depth 2 --length 32 --batch 4 --sample 20 --seed 7)
set(sizes gmlp 11000 amlp 18000 flash 17000)
while(sizes)
  list(POP_FRONT sizes model parameters)
  set(new ${small} --model ${model} --parameters ${parameters})

  # N steps at once are the same bits as a part of them, saved, and the rest, also with another number of threads.
  train(0 "held out +[0-9.]+ bits/byte" ${new} --steps 24 --out ${model}.safetensors)
  train(130 "stopped +after step 11; go on with --resume part.training.safetensors" ${new} --steps 24 --stop-after 11
        --out part.safetensors)
  train(0 "24 of 24 .* saved +part.safetensors" texts --resume part.training.safetensors --threads ${THREADS})
  expect_equal_files(${model}.training.safetensors part.training.safetensors)
  expect_equal_files(${model}.safetensors part.safetensors)

  # It has learned something: a byte that anything may be costs 8 bits.
  if(NOT said MATCHES "held out +[0-6][.]")
    message(FATAL_ERROR "${model} has learned nothing:\n${said}")
  endif()

  # generate_text streams from it.
  execute_process(COMMAND ${GENERATE} ${work}/${model}.safetensors --prompt "Twice 7 is" --tokens 40
                  RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE said)
  if(NOT code EQUAL 0 OR NOT text MATCHES "^Twice 7 is" OR NOT said MATCHES "40 tokens, ")
    message(FATAL_ERROR "generate_text ${model}.safetensors: exit code ${code}\n${text}\n${said}")
  endif()
  file(GLOB done ${work}/*.safetensors)
  if(NOT model STREQUAL "flash")
    file(REMOVE ${done})
  endif()
endwhile()

# A training goes on for longer than it was meant to, or for a time.
train(0 "30 of 30" texts --resume part.training.safetensors --steps 30)
train(0 "step 30.*0:00 left" texts --resume part.training.safetensors --minutes 0.01 --sample 0)

# Without texts: the project's own.
train(130 "texts +[1-9][0-9]+ files.*stopped +after step 1" --channels 16 --parameters 20000 --stop-after 1
      --out own.safetensors)

# What cannot be done is refused, and changes nothing.
train(1 "flash.training.safetensors: there is a training already" ${new} --out flash.safetensors)
train(1 "the texts are not those that the training began with" texts/squares --resume part.training.safetensors)
train(1 "flash.safetensors: .*expected \"gated.Training" texts --resume flash.safetensors --out other.safetensors)
train(1 "there is no such file or folder" nothing)
train(1 "there is no text to learn from" texts/short)
train(1 "expected at least [0-9]+, which the narrowest model" ${small} --parameters 100)
train(2 "--depth describes a new training" texts --resume part.training.safetensors --depth 3)
train(2 "--steps excludes --minutes|--minutes excludes --steps" texts --steps 3 --minutes 3)

# Ctrl-C: the step is finished, the file is whole, and the training that goes on is the same as one that never stopped.
if(UNIX)
  execute_process(WORKING_DIRECTORY ${work} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said
    COMMAND sh -c "
      \"$0\" \"$@\" --steps 1000000 --out stopped.safetensors > stopped.log 2>&1 &
      for i in $(seq 100); do grep -q step stopped.log && break; sleep 0.1; done
      kill -INT $!
      wait $!
      code=$?
      cat stopped.log
      exit $code" ${TRAIN} ${new})
  if(NOT code EQUAL 130 OR NOT said MATCHES "stopped +after step ([0-9]+)")
    message(FATAL_ERROR "stopped by SIGINT: exit code ${code}, expected 130:\n${said}")
  endif()
  math(EXPR last "${CMAKE_MATCH_1} + 3")
  train(130 "after step ${last}" texts --resume stopped.training.safetensors --stop-after ${last})
  train(130 "after step ${last}" ${new} --steps 1000000 --stop-after ${last} --out whole.safetensors)
  expect_equal_files(stopped.training.safetensors whole.training.safetensors)
endif()
file(REMOVE_RECURSE ${work})
