# ctest runs this: the model that is shipped forecasts as well as the README says; training writes a model that forecasts and can
# be fine-tuned, the same for any number of threads; gaps are taken; what makes no sense is refused.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

expect_run(0 "7 rows before +MSE 0.175.*364 rows before +MSE 0.088.*TinyTimeMixer +MSE 0.04[0-4].*2015-01-01 to 2015-01-28"
  --out ${FOLDER}/shipped)
file(STRINGS ${FOLDER}/shipped/forecast.csv lines)
list(LENGTH lines count)
if(NOT count EQUAL 29 OR NOT lines MATCHES "^date,births;2015-01-01,[0-9.]+;.*;2015-01-28,[0-9.]+$" OR NOT EXISTS ${FOLDER}/shipped/forecast.png)
  message(FATAL_ERROR "forecast.csv or forecast.png is wrong: ${lines}")
endif()

set(small --train --context 28 --horizon 7 --patch 7 --epochs 2 --share 0.1)
expect_run(0 "sees 28 rows.*epoch   2 .*TinyTimeMixer +MSE 0" ${DATA} ${small} --out ${FOLDER}/one)
expect_run(0 "" ${DATA} ${small} --out ${FOLDER}/two --threads 2)
file(SHA256 ${FOLDER}/one/model.safetensors one)
file(SHA256 ${FOLDER}/two/model.safetensors two)
if(NOT one STREQUAL two)
  message(FATAL_ERROR "the number of threads changes the model")
endif()
expect_run(0 "before +validation MSE.*epoch   1" ${DATA} --model ${FOLDER}/one/model.safetensors --fine-tune --epochs 1
  --loss huber --share 0.1 --out ${FOLDER}/tuned)
expect_run(0 "sees 28 rows and forecasts 7" ${DATA} --model ${FOLDER}/tuned/model.safetensors --out ${FOLDER}/tuned)

# A second series with gaps, and hours without a calendar.
set(csv "hour,load,wind\n")
foreach(i RANGE 300)
  math(EXPR load "100 + (${i} * 37) % 24")
  math(EXPR gap "${i} % 11")
  set(wind "${load}.5")
  if(gap EQUAL 0)
    set(wind "")
  endif()
  string(APPEND csv "${i},${load},${wind}\n")
endforeach()
file(WRITE ${FOLDER}/gaps.csv "${csv}")
expect_run(0 "2 of 301 rows, 0 to 300, 1 apart.*gaps +28, the first in \"wind\" in line 2.*301 to 307" ${FOLDER}/gaps.csv --model ${FOLDER}/one/model.safetensors --season 24
  --out ${FOLDER}/gaps)

# A series that follows another one, whose future is known: 7 rows of it stand after the last of the others.
set(csv "hour,load,wind\n")
foreach(i RANGE 407)
  math(EXPR wind "(${i} * ${i} * 7 + ${i} * 13) % 101")
  if(i GREATER 400)
    string(APPEND csv "${i},,${wind}\n")
  else()
    string(APPEND csv "${i},${wind},${wind}\n")
  endif()
endforeach()
file(WRITE ${FOLDER}/known.csv "${csv}")
set(known ${FOLDER}/known.csv --train --context 28 --horizon 7 --patch 7 --epochs 80 --rate 1e-2 --season 24)
expect_run(0 "2 of 401 rows, 0 to 400.*24 rows before +MSE 2.*TinyTimeMixer +MSE 0.0.*forecast.csv  401 to 407" ${known} --known wind --out ${FOLDER}/known)
file(STRINGS ${FOLDER}/known/forecast.csv lines)
if(NOT lines MATCHES "^hour,load,wind;401,[-0-9.]+,;")
  message(FATAL_ERROR "forecast.csv is wrong: ${lines}")
endif()
expect_run(0 "TinyTimeMixer +MSE 0" ${FOLDER}/known.csv --model ${FOLDER}/known/model.safetensors --known wind
  --out ${FOLDER}/known)
expect_run(1 "--known names 0 columns, but the model wants to know the future of 1." ${FOLDER}/known.csv
  --model ${FOLDER}/known/model.safetensors)
expect_run(1 "no column is called \"winds\"; the nearest is \"wind\"." ${FOLDER}/known.csv --known winds)
expect_run(1 "the column \"load\" of --known has a gap in line 403. Fill it" ${FOLDER}/known.csv
  --model ${FOLDER}/known/model.safetensors --known load --out ${FOLDER}/known)
string(REGEX REPLACE "405,.*" "" short "${csv}")
file(WRITE ${FOLDER}/short.csv "${short}")
expect_run(1 "the column \"wind\" goes on for 4 rows after the past, but the model needs 7 rows of its future" ${FOLDER}/short.csv
  --model ${FOLDER}/known/model.safetensors --known wind --out ${FOLDER}/known)

expect_run(1 "--frequency: this model takes no frequency token." --frequency 7)
expect_run(1 "--quantile belongs to --loss quantile, but the loss is huber." ${DATA} --model ${FOLDER}/one/model.safetensors
  --fine-tune --loss huber --quantile 0.9 --out ${FOLDER}/tuned)
# The 90th percentile lies above the mean, and the epoch that is kept is the best by its own loss.
expect_run(0 "loss +quantile.*before +validation MSE [0-9.]+   loss [0-9.]+.*epoch   1 .*MSE [0-9.]+   loss [0-9.]+  best" ${DATA}
  --model ${FOLDER}/one/model.safetensors --fine-tune --epochs 1 --loss quantile --quantile 0.9 --share 0.1 --out ${FOLDER}/tuned)

file(WRITE ${FOLDER}/word.csv "day,births\n1,5\n2,many\n")
expect_run(1 "word.csv: line 3, column 2: \"many\" is not a number." ${FOLDER}/word.csv)
file(WRITE ${FOLDER}/ragged.csv "day,births\n1,5\n2\n")
expect_run(1 "ragged.csv: line 3 has 1 columns, the header has 2." ${FOLDER}/ragged.csv)
expect_run(1 "the series have 301 rows, but the model sees 364 and forecasts 28" ${FOLDER}/gaps.csv)
expect_run(2 "neither --fine-tune nor --model goes with it" --train --fine-tune)
expect_run(2 "--loss is an option of a training; add --train or --fine-tune." --loss huber)
expect_run(2 "--horizon is an option of --train" --fine-tune --horizon 7)
expect_run(2 "unknown option --epoch; the nearest is --epochs" --epoch 3)
file(REMOVE_RECURSE ${FOLDER})
