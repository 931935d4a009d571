# Run by ctest: a classifier learns the classes of a folder of pictures, and invalid input is refused.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)
set(WORK_FOLDER ${FOLDER})

file(REMOVE_RECURSE ${FOLDER}/stripes)
expect_run(0 "" --example stripes)
expect_run(0 "100 % of the held-out pictures right\ntuned.safetensors: 2 classes, from lying to standing\n$" ${MODEL} stripes
     tuned.safetensors --epochs 100 --rate 0.02 --whole)
expect_run(0 "2 classes" tuned.safetensors stripes again.safetensors --epochs 1 --threads 1)
expect_run(1 "missing.safetensors: cannot open" missing.safetensors stripes out.safetensors)
expect_run(1 "expected subfolders for 2 or more classes" ${MODEL} stripes/lying out.safetensors)
expect_run(1 "^fine_tune: no_birds: no such folder. Give one with a subfolder of pictures per class.\n$" ${MODEL} no_birds
     out.safetensors)
expect_run(1 "^fine_tune: [^\n]*waves.safetensors: is a file, expected a folder with a subfolder of pictures per class.\n$" ${MODEL}
     ${MODEL} out.safetensors)
file(REMOVE_RECURSE ${FOLDER}/broken)
file(MAKE_DIRECTORY ${FOLDER}/broken/empty)
file(COPY ${FOLDER}/stripes/lying DESTINATION ${FOLDER}/broken)
expect_run(1 "^fine_tune: broken/empty: has no pictures. Add some, or remove the folder.\n$" ${MODEL} broken out.safetensors)
file(COPY ${FOLDER}/stripes/standing/1.png DESTINATION ${FOLDER}/broken/empty)
expect_run(0 "2 classes, from empty to lying" ${MODEL} broken out.safetensors --epochs 1)
file(WRITE ${FOLDER}/broken/empty/notes.txt "no picture")
expect_run(1 "^fine_tune: broken/empty/notes.txt: cannot be read as a JPEG or PNG picture: [^\n]*\n$" ${MODEL} broken out.safetensors)
foreach(class IN ITEMS lying standing)
  file(COPY ${FOLDER}/stripes/${class}/1.png DESTINATION ${FOLDER}/broken/few/${class})
endforeach()
expect_run(1 "^fine_tune: broken/few: too few pictures. Give at least one class 5 pictures: every fifth is held out.\n$" ${MODEL} broken/few
     out.safetensors)
expect_run(1 "^fine_tune: no/such/out.safetensors: there is no folder no/such. Create it first.\n$" ${MODEL} stripes no/such/out.safetensors)
expect_no_file(FILE stripes out.safetensors)
expect_no_file(${MODEL} FILE out.safetensors)
expect_run(2 "expected a model, a folder of pictures and an output" ${MODEL} stripes)
expect_run(2 "unknown option --epoch; the nearest is --epochs" ${MODEL} stripes out.safetensors --epoch 3)
