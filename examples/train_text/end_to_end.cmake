# Run by ctest: small training runs start, stop, resume bit for bit, and write a model that generate_text opens.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)
set(PROGRAM ${TRAIN})
set(work ${FOLDER}/end_to_end)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/texts)
foreach(i RANGE 60)
  math(EXPR square "${i} * ${i}")
  file(APPEND ${work}/texts/squares "The square of ${i} is ${square}.\n")
  file(APPEND ${work}/texts/doubles "Twice ${i} is the sum of ${i} and ${i}.\n")
endforeach()
file(WRITE ${work}/texts/short "short")

# Runs train_text. It must exit with code `expected`, and its output must match `pattern`. Sets ${said} to the output.
function(train expected pattern)
  execute_process(COMMAND ${TRAIN} ${ARGN} WORKING_DIRECTORY ${work}
                  RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code STREQUAL expected OR NOT out MATCHES "${pattern}")
    message(FATAL_ERROR "train_text ${ARGN}\nexit code ${code}, expected ${expected}; expected output ${pattern}:\n${out}")
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
set(sizes gmlp 11000 amlp 18000 gau 17000 transformer 11000 flash 17000)
while(sizes)
  list(POP_FRONT sizes model parameters)
  set(new ${small} --model ${model} --parameters ${parameters})

  # A run that is stopped, saved and resumed with a different number of threads is bit-equal to an uninterrupted run.
  train(0 "held out +[0-9.]+ bits/byte" ${new} --steps 24 --out ${model}.safetensors --metrics whole.csv)
  train(130 "stopped +after step 11; continue with the same texts and --resume part.training.safetensors" ${new} --steps 24
        --stop-after 11 --out part.safetensors --metrics part.csv)
  file(APPEND ${work}/part.csv "12,9.5,1,0.001\n")  # as if the run had been killed after a step that was not saved
  train(0 "24 of 24 .* saved +part.safetensors" texts --resume part.training.safetensors --threads ${THREADS}
        --metrics part.csv)
  expect_equal_files(${model}.training.safetensors part.training.safetensors)
  expect_equal_files(${model}.safetensors part.safetensors)
  expect_equal_files(whole.csv part.csv)

  # The model has learned something if a held-out byte costs less than 7 bits. A random byte costs 8 bits.
  if(NOT said MATCHES "held out +[0-6][.]")
    message(FATAL_ERROR "${model} has learned nothing:\n${said}")
  endif()

  # generate_text streams from the model.
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

# Masked training also resumes bit for bit. generate_text refuses the masked model, which is not causal.
foreach(model IN ITEMS gmlp gau transformer flash)
  set(masked ${small} --mixer ${model} --parameters 17000 --mlm)
  train(0 "held out +[0-6][.][0-9]+ bits/masked byte" ${masked} --steps 24 --out masked.safetensors)
  train(130 "stopped +after step 11" ${masked} --steps 24 --stop-after 11 --out half.safetensors)
  train(0 "24 of 24 .* bits/masked byte" texts --resume half.training.safetensors --threads ${THREADS})
  expect_equal_files(masked.training.safetensors half.training.safetensors)
  execute_process(COMMAND ${GENERATE} ${work}/masked.safetensors RESULT_VARIABLE code ERROR_VARIABLE said)
  if(NOT code EQUAL 1 OR NOT said MATCHES "masked.safetensors: the model is not causal")
    message(FATAL_ERROR "generate_text with a masked model: exit code ${code}\n${said}")
  endif()
  file(REMOVE ${work}/masked.safetensors ${work}/masked.training.safetensors ${work}/half.safetensors
              ${work}/half.training.safetensors)
endforeach()

# The options of gMLP change the model, and the model's file records them.
function(expect_setting setting)
  train(0 "2 of 2" ${small} --parameters 17000 --steps 2 --out form.safetensors ${ARGN})
  file(STRINGS ${work}/form.safetensors found REGEX "${setting}" LIMIT_COUNT 1)
  if(NOT found)
    message(FATAL_ERROR "train_text ${ARGN}: the model's file lacks ${setting}")
  endif()
  file(REMOVE ${work}/form.safetensors ${work}/form.training.safetensors)
endfunction()
set(quote "[\\\\]?\"")
foreach(gate IN ITEMS split multiplicative additive linear identity)
  expect_setting("gate${quote}: ?${quote}${gate}" --gate ${gate})
endforeach()
expect_setting("spatial${quote}: ?${quote}toeplitz")
foreach(spatial IN ITEMS dense scaled_toeplitz)
  expect_setting("spatial${quote}: ?${quote}${spatial}" --spatial ${spatial})
endforeach()
expect_setting("heads${quote}: ?3[,}]" --heads 3)
expect_setting("heads${quote}: ?2[,}]" --heads 2 --model transformer)
expect_setting("attention_width${quote}: ?8[,}]" --attention 8)
expect_setting("attention_width${quote}: ?64[,}]" --model amlp)

# A finished run can be extended, by steps or by time.
train(0 "30 of 30" texts --resume part.training.safetensors --steps 30)
train(0 "step 30.*0:00 left" texts --resume part.training.safetensors --minutes 0.01 --sample 0)

# Without texts on the command line, the project's own texts are used.
train(130 "texts +[1-9][0-9]+ files.*stopped +after step 1" --channels 16 --parameters 20000 --stop-after 1
      --out own.safetensors)

# Invalid input is refused, and changes nothing.
train(1 "flash.training.safetensors: there is a training run already" ${new} --out flash.safetensors)
train(1 "the texts differ from those that the run began with" texts/squares --resume part.training.safetensors)
train(1 "flash.safetensors: .*expected the architecture \"gated.Training" texts --resume flash.safetensors
      --out other.safetensors)
train(1 "nothing: no such file or folder" nothing)
train(1 "^train_text: nowhere/out.safetensors: there is no folder nowhere. Create it first.\n$" ${new} --out nowhere/out.safetensors)
train(1 "^train_text: texts: is a directory, expected a file.\n$" ${new} --out texts)
train(1 "there is no text to learn from" texts/short)
expect_no_file(FILE --out ${work}/other.safetensors)
expect_no_file(${work}/texts --resume FILE --out ${work}/other.safetensors)
train(1 "expected at least [0-9]+, the size of the narrowest model" ${small} --parameters 100)
train(1 "heads = 3 does not divide channels = 16" ${small} --model transformer --heads 3)
train(2 "--gate is an option of gmlp and amlp; leave it out with --model flash" ${small} --model flash --gate linear)
train(2 "--attention is an option of gmlp and amlp" ${small} --model transformer --attention 8)
train(2 "--model gau has one head" ${small} --model gau --heads 2)
train(2 "--gate identity mixes no tokens" ${small} --gate identity --spatial dense)
train(2 "scaled_toeplitz sees earlier bytes only" ${small} --mlm --spatial scaled_toeplitz)
train(2 "--gate: sideways not in .split,multiplicative" ${small} --gate sideways)
train(2 "--mlm is for new training runs only" texts --resume part.training.safetensors --mlm)
train(2 "--depth is for new training runs only" texts --resume part.training.safetensors --depth 3)
train(2 "--steps excludes --minutes|--minutes excludes --steps" texts --steps 3 --minutes 3)

if(UNIX)
  # UTF-16 is refused with and without a byte order mark, UTF-32 with one, as a file and in a folder.
  set(UTF-16 "\\377\\376T\\000w\\000i\\000" "\\376\\377\\000T\\000w\\000i" "T\\000w\\000i\\000c\\000" "\\000T\\000w\\000i")
  set(UTF-32 "\\377\\376\\000\\000T\\000\\000\\000" "\\000\\000\\376\\377\\000\\000\\000T")
  foreach(encoding IN ITEMS UTF-16 UTF-32)
    foreach(bytes IN LISTS ${encoding})
      execute_process(COMMAND sh -c "mkdir -p wide && printf '${bytes}' > wide/text" WORKING_DIRECTORY ${work}
        COMMAND_ERROR_IS_FATAL ANY)
      foreach(path IN ITEMS wide wide/text)
        train(1 "^train_text: wide/text: the text is in ${encoding}. Save it as UTF-8: iconv -f ${encoding} -t UTF-8.\n$" texts ${path})
      endforeach()
    endforeach()
  endforeach()

  # Ctrl-C: the step is finished, the file is complete, and the resumed run equals one that never stopped.
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
