# ctest runs this: a short training writes what classify_digits reads, the same bytes for any number of threads and when it is
# stopped and resumed in between, as the program itself says how; what cannot be done is refused.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)

function(expect_same_file name one other)
  file(SHA256 ${FOLDER}/${one}/${name} a)
  file(SHA256 ${FOLDER}/${other}/${name} b)
  if(NOT a STREQUAL b)
    message(FATAL_ERROR "${name} in ${one} and in ${other} differ")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
expect_run(0 "epoch   2 .* right +[0-9.]+ %, [0-9]+ of 359 held out" --epochs 2 --out ${FOLDER}/one)
foreach(picture IN ITEMS loss_curve spatial_weights_before spatial_weights_after)
  if(NOT EXISTS ${FOLDER}/one/${picture}.png)
    message(FATAL_ERROR "there is no ${picture}.png")
  endif()
endforeach()

expect_run(0 "" --epochs 2 --out ${FOLDER}/two --threads ${THREADS})
expect_run(130 "stopped +after epoch 1; go on with " --epochs 2 --out ${FOLDER}/parts --stop-after 1)
set(go_on --resume ${FOLDER}/parts/digits_training.safetensors --out ${FOLDER}/parts)
list(JOIN go_on " " hint)
string(FIND "${said}" "go on with ${hint}\n" at)
if(at EQUAL -1)
  message(FATAL_ERROR "the hint should be ${hint}:\n${said}")
endif()
if(EXISTS ${FOLDER}/parts/digits_gmlp.safetensors)
  message(FATAL_ERROR "a training that was stopped wrote a model")
endif()
expect_run(0 "2 epochs of.*after epoch 1.*epoch   2" ${go_on})
foreach(other IN ITEMS two parts)
  foreach(name IN ITEMS digits_gmlp.safetensors digits_training.safetensors loss_curve.png)
    expect_same_file(${name} one ${other})
  endforeach()
endforeach()

# Only --epochs changes how long a training is, also one that was finished.
expect_run(0 "2 epochs of.*after epoch 2.*right" ${go_on})
expect_run(0 "3 epochs of.*after epoch 2.*epoch   3" ${go_on} --epochs 3)

expect_run(0 "" --epochs 2 --out ${FOLDER}/other --seed 2)
file(SHA256 ${FOLDER}/one/digits_gmlp.safetensors one)
file(SHA256 ${FOLDER}/other/digits_gmlp.safetensors other)
if(one STREQUAL other)
  message(FATAL_ERROR "another seed gives the same model")
endif()

execute_process(COMMAND ${CLASSIFY} --model ${FOLDER}/one/digits_gmlp.safetensors --png ${FOLDER}/weights.png
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code STREQUAL 0 OR NOT said MATCHES "43082 parameters")
  message(FATAL_ERROR "classify_digits cannot read the model:\n${said}")
endif()

foreach(mixer IN ITEMS toeplitz projection mlp glu fourier synthesizer attention external)
  expect_run(0 "${mixer}, 4 blocks, 4[23][0-9]+ parameters.*right" --mixer ${mixer} --epochs 1 --out ${FOLDER}/mixers)
  if(NOT EXISTS ${FOLDER}/mixers/digits_${mixer}.safetensors)
    message(FATAL_ERROR "--mixer ${mixer} wrote no model")
  endif()
endforeach()
expect_run(130 "go on with [^\n]* --mixer mlp" --mixer mlp --epochs 2 --out ${FOLDER}/mixers --stop-after 1)
expect_run(0 "after epoch 1.*epoch   2" --mixer mlp --resume ${FOLDER}/mixers/digits_training.safetensors --out ${FOLDER}/mixers)
expect_run(1 "train_digits: " --mixer glu --resume ${FOLDER}/mixers/digits_training.safetensors --out ${FOLDER}/mixers)
expect_run(2 "train_digits: [^\n]*--mixer" --mixer lstm)

expect_run(1 "train_digits: [^\n]*digits_gmlp.safetensors" --resume ${FOLDER}/one/digits_gmlp.safetensors --out ${FOLDER}/one)
expect_run(2 "train_digits: --epochs: expected a whole number from 1 to 1000000, got 0"
      --epochs 0)
expect_run(2 "train_digits: --seed: expected a whole number from 0 to 18446744073709551615, got -1" --seed -1)
expect_run(2 "train_digits: unknown option --epoch; the nearest is --epochs" --epoch 3)

# Files like MNIST's: 160 images to learn from and 32 others, whose pixels are the letters of a text.
file(MAKE_DIRECTORY ${FOLDER}/idx)
function(expect_made command)
  execute_process(COMMAND sh -c "${command}" WORKING_DIRECTORY ${FOLDER}/idx COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(make_idx set count octal)
  math(EXPR bytes "${count} * 784")
  expect_made("(printf '\\000\\000\\010\\003\\000\\000\\000\\${octal}\\000\\000\\000\\034\\000\\000\\000\\034'
    head -c ${bytes} ${TEXT}) > ${set}-images-idx3-ubyte
    (printf '\\000\\000\\010\\001\\000\\000\\000\\${octal}'
    for i in $(seq ${count}); do printf \"\\\\00$((i % 8))\"; done) > ${set}-labels-idx1-ubyte")
endfunction()
make_idx(train 160 240)
make_idx(t10k 32 040)
expect_made("cp t10k-labels-idx1-ubyte whole.labels")
set(mnist --mnist ${FOLDER}/idx --out ${FOLDER}/mnist --epochs 1)
expect_run(0 "28 x 28 pixels.*160 to learn from, 32 held out.*1 epochs of 2 steps of 64 images.*of 32 held out" ${mnist})
expect_run(0 "80 to learn from, 80 held out.*of 80 held out" ${mnist} --mixer toeplitz --validate)
execute_process(COMMAND ${CLASSIFY} --model ${FOLDER}/mnist/mnist_gmlp.safetensors --mnist ${FOLDER}/idx
  RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT code STREQUAL 0 OR NOT said MATCHES "idx: 32 of 32\n.*right +[0-9.]+ %, [0-9]+ of 32")
  message(FATAL_ERROR "classify_digits cannot read the model of --mnist:\n${said}")
endif()
expect_run(1 "is a training on digits, expected mnist. Give the options that it began with" ${mnist}
  --resume ${FOLDER}/one/digits_training.safetensors)
expect_run(1 "is a training on mnist --validate, expected mnist. Give the options that it began with" ${mnist} --mixer toeplitz
  --resume ${FOLDER}/mnist/mnist_training.safetensors)
expect_run(2 "train_digits: [^\n]*--mnist" --validate)
function(expect_refused make message)
  expect_made("${make}")
  expect_run(1 "${message}" ${mnist})
endfunction()
set(images t10k-images-idx3-ubyte)
set(labels t10k-labels-idx1-ubyte)
expect_refused("mv ${images} whole; head -c 15000 whole > ${images}"
  "${images}: 14984 bytes after the header, expected 25088, the product of its dimensions")
expect_refused("head -c 10 whole > ${images}" "${images}: 10 bytes, expected a header of 16")
expect_refused("gzip -c whole > ${images}" "${images}: is compressed. Unpack it with gunzip first")
expect_refused("cp ${labels} ${images}"
  "begins with the bytes 0 0 8 1, expected 0 0 8 3: an IDX file of unsigned bytes with 3 dimensions")
expect_refused("cp whole ${images}; cp train-labels-idx1-ubyte ${labels}"
  "${labels}: 160 labels, expected one for each of 32 images")
expect_refused("(head -c 39 whole.labels; printf '\\012') > ${labels}" "label 10 of image 31, expected a class from 0 to 9")
expect_refused("rm ${labels}" "${labels}: cannot be opened. fetch_mnist.sh fetches MNIST's files")
file(REMOVE_RECURSE ${FOLDER})
