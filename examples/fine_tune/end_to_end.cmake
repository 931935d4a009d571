# ctest runs this: a classifier learns the classes of a folder of pictures, and what cannot be done is refused.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)
set(WORK_FOLDER ${FOLDER})

file(REMOVE_RECURSE ${FOLDER}/stripes)
expect_run(0 "" --example stripes)
expect_run(0 "100 % of the held-out pictures right\ntuned.safetensors: 2 classes, from lying to standing\n$" ${MODEL} stripes
     tuned.safetensors --epochs 100 --rate 0.02 --whole)
expect_run(0 "2 classes" tuned.safetensors stripes again.safetensors --epochs 1 --threads 1)
expect_run(1 "missing.safetensors: cannot open" missing.safetensors stripes out.safetensors)
expect_run(1 "expected a folder for each of 2 classes" ${MODEL} stripes/lying out.safetensors)
expect_run(2 "expected a model, a folder of pictures and an output" ${MODEL} stripes)
expect_run(2 "unknown option --epoch; the nearest is --epochs" ${MODEL} stripes out.safetensors --epoch 3)
