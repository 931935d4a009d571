# ctest runs this: a classifier learns the classes of a folder of pictures, and what cannot be done is refused.

# Runs PROGRAM, which must exit with code `expected` and say something that matches `pattern`.
function(tune expected pattern)
  execute_process(COMMAND ${PROGRAM} ${ARGN} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code STREQUAL expected OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "fine_tune ${ARGN}\nexit code ${code}, expected ${expected}; this should match ${pattern}:\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER}/stripes)
tune(0 "" --example stripes)
tune(0 "100 % of the held-out pictures right\ntuned.safetensors: 2 classes, from lying to standing\n$" ${MODEL} stripes
     tuned.safetensors --epochs 100 --rate 0.02 --whole)
tune(0 "2 classes" tuned.safetensors stripes again.safetensors --epochs 1 --threads 1)
tune(1 "missing.safetensors: cannot open" missing.safetensors stripes out.safetensors)
tune(1 "expected a folder for each of 2 classes" ${MODEL} stripes/lying out.safetensors)
tune(2 "expected a model, a folder of pictures and an output" ${MODEL} stripes)
tune(2 "unknown option --epoch; the nearest is --epochs" ${MODEL} stripes out.safetensors --epoch 3)
