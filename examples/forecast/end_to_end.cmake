# Run by ctest. The shipped model has the MSE stated in the README. Training writes the same model for any number of threads.
# Fine-tuning works, also with the quantile losses of a band. Gaps are accepted, the forecast's timestamps follow the input's in
# the same notation, and invalid input is refused.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)

file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})

expect_run(0 "7 rows before +MSE 0.175.*364 rows before +MSE 0.088.*TinyTimeMixer +MSE 0.04[0-4].*2015-01-01 to 2015-01-28"
  --out ${FOLDER}/shipped)
file(STRINGS ${FOLDER}/shipped/forecast.csv lines)
list(LENGTH lines count)
if(NOT count EQUAL 29 OR NOT lines MATCHES "^date,births;2015-01-01,[0-9.]+;.*;2015-01-28,[0-9.]+$" OR NOT EXISTS ${FOLDER}/shipped/forecast.svg)
  message(FATAL_ERROR "forecast.csv or forecast.svg is wrong: ${lines}")
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

# The series `wind` has gaps, and the times are plain numbers.
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
expect_run(0 "2 of 301 rows, 0 to 300, 1 apart.*gaps +28, the first in \"wind\" in line 2.*301 to 307" ${FOLDER}/gaps.csv
  --model ${FOLDER}/one/model.safetensors --season 24 --out ${FOLDER}/gaps)
expect_run(0 "naive: as 7 rows before +MSE.*naive: as 364 rows before +no values to compare" ${FOLDER}/gaps.csv
  --model ${FOLDER}/one/model.safetensors --out ${FOLDER}/gaps)

# A series without values where the model needs them is refused. Without values in the last 20 %, there are no errors to print.
function(expect_of_gaps code pattern rows first last)  # the rows from `first` to `last` are gaps
  set(csv "hour,load\n")
  foreach(i RANGE 1 ${rows})
    math(EXPR load "(${i} * 37) % 24")
    if(i GREATER_EQUAL first AND i LESS_EQUAL last)
      set(load "")
    endif()
    string(APPEND csv "${i},${load}\n")
  endforeach()
  file(WRITE ${FOLDER}/empty.csv "${csv}")
  expect_run(${code} "${pattern}" ${FOLDER}/empty.csv --model ${FOLDER}/one/model.safetensors --season 24 --out ${FOLDER}/gaps)
endfunction()
expect_of_gaps(1 "the column \"load\" has no values in the last 28 rows, which the model sees. Leave out" 100 72 100)
expect_of_gaps(1 "the column \"load\" has no values in the 70 rows .70 %. that give its mean and deviation." 100 1 71)
expect_of_gaps(0 "naive: as 24 rows before +no values.*TinyTimeMixer +no values to compare\n" 35 29 35)

# `load` equals `wind`, and `wind` continues for 7 more rows.
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
expect_run(1 "--known names 0 columns, but the model needs the future of 1 series." ${FOLDER}/known.csv
  --model ${FOLDER}/known/model.safetensors)
expect_run(1 "no column is called \"winds\"; the nearest is \"wind\"." ${FOLDER}/known.csv --known winds)
expect_run(1 "the column \"load\" of --known has a gap in line 403. Fill it" ${FOLDER}/known.csv
  --model ${FOLDER}/known/model.safetensors --known load --out ${FOLDER}/known)
string(REGEX REPLACE "405,.*" "" short "${csv}")
file(WRITE ${FOLDER}/short.csv "${short}")
expect_run(1 "the column \"wind\" has values in 4 future rows, but the model needs 7. Add rows" ${FOLDER}/short.csv
  --model ${FOLDER}/known/model.safetensors --known wind --out ${FOLDER}/known)

expect_run(1 "--frequency: this model takes no frequency token." --frequency 7)
expect_run(1 "--quantile requires --loss quantile, but the loss is huber." ${DATA} --model ${FOLDER}/one/model.safetensors
  --fine-tune --loss huber --quantile 0.9 --out ${FOLDER}/tuned)
# Fine-tuning for the 90th percentile keeps the epoch with the smallest quantile loss.
expect_run(0 "loss +quantile.*before +validation MSE [0-9.]+   loss [0-9.]+.*epoch   1 .*MSE [0-9.]+   loss [0-9.]+  best" ${DATA}
  --model ${FOLDER}/one/model.safetensors --fine-tune --epochs 1 --loss quantile --quantile 0.9 --share 0.1 --out ${FOLDER}/tuned)

# The model file records the training loss, which is the default for further training. Two quantile models make a band.
set(one --model ${FOLDER}/one/model.safetensors)
expect_run(0 "loss +quantile" ${DATA} --model ${FOLDER}/tuned/model.safetensors --fine-tune --epochs 1 --share 0.1
  --out ${FOLDER}/again)
expect_run(0 "" ${DATA} ${one} --fine-tune --epochs 1 --loss quantile --quantile 0.1 --share 0.1 --out ${FOLDER}/low)
# Alone, a quantile model names its quantile.
expect_run(0 "TinyTimeMixer, quantile 0.1 +MSE [^\n]*\n  below quantile 0.1 +[0-9.]+ % of the values\n" ${DATA}
  --model ${FOLDER}/low/model.safetensors --out ${FOLDER}/alone)
file(STRINGS ${FOLDER}/alone/forecast.csv lines)
file(READ ${FOLDER}/alone/forecast.svg drawn)
if(NOT lines MATCHES "^date,births 0.1;2015-01-01,[0-9.]+;" OR NOT drawn MATCHES ">quantile 0.1<")
  message(FATAL_ERROR "forecast.csv or forecast.svg does not name the quantile: ${lines}")
endif()
set(band --band ${FOLDER}/tuned/model.safetensors --band ${FOLDER}/low/model.safetensors)
expect_run(0 "between quantiles 0.1 and 0.9 +[1-9][0-9].[0-9] %" ${DATA} ${one} ${band} --out ${FOLDER}/band)
file(STRINGS ${FOLDER}/band/forecast.csv lines)
if(NOT lines MATCHES "^date,births,births 0.1,births 0.9;2015-01-01,([0-9.]+),([0-9.]+),([0-9.]+);")
  message(FATAL_ERROR "forecast.csv is wrong: ${lines}")
endif()
if(NOT CMAKE_MATCH_2 LESS CMAKE_MATCH_3)
  message(FATAL_ERROR "the quantile 0.1 is not below 0.9: ${lines}")
endif()
file(READ ${FOLDER}/gaps/forecast.svg without)
file(READ ${FOLDER}/band/forecast.svg with)
if(without MATCHES "class=.band" OR NOT with MATCHES "class=.band c2.*>0.1 to 0.9<" OR NOT with MATCHES ">[0-9]+ Dec<.*>2014<")
  message(FATAL_ERROR "forecast.svg has no band or no dates: ${with}")
endif()
expect_run(1 "--band: .*one/model.safetensors was trained with loss squared, expected quantile." ${DATA} ${one} --band
  ${FOLDER}/one/model.safetensors --band ${FOLDER}/low/model.safetensors --out ${FOLDER}/band)
expect_run(1 "--band: both models are for the quantile 0.1." ${DATA} ${one} --band ${FOLDER}/low/model.safetensors --band
  ${FOLDER}/low/model.safetensors --out ${FOLDER}/band)
expect_run(1 "--band: .*sees 28 rows and forecasts 7; expected 364 and 28, and the same series as the main model." ${band})
expect_run(2 "--band: expected two models, got 1. Give it twice" --band ${FOLDER}/low/model.safetensors)

# The README's hourly example.
find_program(SH sh)
if(SH)
  execute_process(COMMAND ${SH} ${CMAKE_CURRENT_LIST_DIR}/hourly_load.sh OUTPUT_FILE ${FOLDER}/hourly.csv COMMAND_ERROR_IS_FATAL ANY)
  expect_run(0 "2 of 12000 rows, 2023-01-01T00:00Z to 2024-05-14T23:00Z, 1 hour apart.*2024-05-15T00:00Z to 2024-05-15T06:00Z"
    ${FOLDER}/hourly.csv ${one} --season 24 --out ${FOLDER}/hourly)
endif()

# expect_times(<name> <rows> <step> <next> <last> <separator> <header and rows>) writes the file and expects a forecast of
# 7 rows, with times in the file's notation.
function(expect_times name rows step next last separator text)
  file(WRITE ${FOLDER}/${name}.csv "${text}")
  expect_run(0 "1 of ${rows} rows, [^,]*, ${step} apart.*forecast.csv  ${next} to ${last}" ${FOLDER}/${name}.csv ${one} --season 12
    --out ${FOLDER}/times)
  file(READ ${FOLDER}/times/forecast.csv forecast)
  if(NOT forecast MATCHES "^time${separator}load\n\"?${next}\"?${separator}[-0-9.,]+\n.*\n\"?${last}\"?${separator}[-0-9.,]+\n$")
    message(FATAL_ERROR "${name}: forecast.csv is wrong: ${forecast}")
  endif()
  set(forecast "${forecast}" PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()
set(months "time,load\n")
set(american "time\tload\r\n")
set(epochs "time,load\n")
set(german "time;load\n")
foreach(i RANGE 41)
  math(EXPR load "(${i} * 37) % 24")
  math(EXPR year "2010 + ${i} / 12")
  math(EXPR month "101 + ${i} % 12")
  string(SUBSTRING ${month} 1 2 month)
  string(APPEND months "${year}-${month},${load}\n")
  math(EXPR day "${i} % 31 + 1")
  math(EXPR month "12 - 11 * (${i} / 31)")
  math(EXPR year "2013 + ${i} / 31")
  string(APPEND american "${month}/${day}/${year}\t${load}\r\n")
  math(EXPR epoch "1419980400000 + 900000 * ${i}")
  string(APPEND epochs "${epoch},${load}\n")
  math(EXPR hour "100 + ${i} % 24")
  math(EXPR day "125 + ${i} / 24")
  string(SUBSTRING ${day} 1 2 day)
  string(SUBSTRING ${hour} 1 2 hour)
  if(i EQUAL 20)
    set(load N/A)
  else()
    set(load "${load},25")
  endif()
  if(NOT i EQUAL 30)
    string(APPEND german "\"${day}.02.2016 ${hour}:00\";${load}\n")
  endif()
endforeach()
expect_times(months 42 "1 month" 2013-07 2014-01 "," "${months}")
expect_times(american 42 "1 day" 1/12/2014 1/18/2014 "\t" "${american}")
expect_times(epochs 42 "15 minutes" 1420018200000 1420023600000 "," "${epochs}")
expect_times(german 42 "1 hour" "26.02.2016 18:00" "27.02.2016 00:00" "[;]" "${german}")
if(NOT said MATCHES "gaps +1, the first in \"load\" in line 22.*missing +1 row, at 26.02.2016 06:00" OR forecast MATCHES "[.][0-9]*\n")
  message(FATAL_ERROR "${said}${forecast}")
endif()

# expect_refusal(<message> <text of the file>)
function(expect_refusal said text)
  file(WRITE ${FOLDER}/bad.csv "${text}")
  expect_run(1 "bad.csv${said}" ${FOLDER}/bad.csv)
endfunction()
expect_refusal(": line 3, column 2: \"many\" is not a number." "day,births\n1,5\n2,many\n")
expect_refusal(": line 3 has 1 columns, the header has 2." "day,births\n1,5\n2\n")
expect_refusal(": line 1 has numbers, expected names. Put a line before it" "2014-01-01,5\n2014-01-02,6\n2014-01-03,6\n")
expect_refusal(": line 1: columns 2 and 3 are both called \"load\". Rename one of them." "day,load,load\n1,5,6\n2,5,6\n")
expect_refusal(", column 1, \"day\": line 4 repeats the time of line 3, \"2014-01-02\". Keep one of them"
  "day,load\n2014-01-01,5\n2014-01-02,6\n2014-01-02,6\n2014-01-03,6\n")
expect_refusal(", column 1, \"day\": line 4, \"2014-01-01\", is before line 3, \"2014-01-03\". Sort the rows"
  "day,load\n2014-01-02,5\n2014-01-03,6\n2014-01-01,6\n2014-01-04,6\n")
expect_refusal(", column 1, \"time\": line 5, \"2014-01-01T02:37Z\", is 37 minutes after line 4, but most rows are 1 hour apart"
  "time,load\n2014-01-01T00:00Z,5\n2014-01-01T01:00Z,6\n2014-01-01T02:00Z,6\n2014-01-01T02:37Z,6\n")
expect_refusal(": line 2, column 2: \"1,234\" is ambiguous. Write 1234 or 1,2340." "time,load\n1,\"1,234\"\n2,\"2,345\"\n")
expect_run(1 "the series have 301 rows, but the model sees 364 and forecasts 28" ${FOLDER}/gaps.csv)
expect_run(2 "--train starts a new model. Leave out --fine-tune and --model." --train --fine-tune)
expect_run(2 "--loss is for training. Add --train or --fine-tune." --loss huber)
expect_run(2 "--horizon is an option of --train" --fine-tune --horizon 7)
expect_run(2 "unknown option --epoch; the nearest is --epochs" --epoch 3)
file(REMOVE_RECURSE ${FOLDER})
