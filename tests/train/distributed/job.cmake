# Runs the job JOB of PROGRAM on two processes with MPIRUN. Called by ctest.

set(ENV{OMP_WAIT_POLICY} passive)
set(ENV{ASAN_OPTIONS} detect_leaks=0)  # MPI libraries leak some memory
# Let Open MPI run with fewer cores than processes, in a container, and as root. Other implementations ignore these variables.
set(ENV{OMPI_MCA_rmaps_base_oversubscribe} 1)
set(ENV{OMPI_MCA_mpi_yield_when_idle} 1)
set(ENV{OMPI_MCA_hwloc_base_binding_policy} none)
set(ENV{OMPI_MCA_btl_vader_single_copy_mechanism} none)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)

set(file ${FOLDER}/${JOB}.safetensors)
file(REMOVE ${file})
execute_process(COMMAND ${MPIRUN} 2 ${PROGRAM} ${JOB} ${file} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)

# Expects that the job succeeds if `succeeds` is true and fails otherwise, and that its output matches `pattern`.
function(expect succeeds pattern)
  if((succeeds AND NOT code EQUAL 0) OR (NOT succeeds AND code EQUAL 0) OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "${JOB}: exit code ${code}, expected success: ${succeeds}; expected output matching ${pattern}, got:\n"
                        "${said}")
  endif()
endfunction()

if(JOB STREQUAL "exception")  # one rank throws while the other waits for its gradient
  expect(FALSE "rank 1 of 2: no data on this rank")
elseif(JOB STREQUAL "fewer_steps")  # one rank leaves while the other continues
  expect(FALSE "rank 0 of 2: .*rank 0 is at step 11 with [0-9]+ parameters, rank 1 left after step 10[.]")
elseif(JOB STREQUAL "death")  # one rank is killed while the other trains and saves every step
  expect(FALSE "signal 9")
  execute_process(COMMAND ${PROGRAM} whole ${file} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  expect(TRUE "intact after [1-9][0-9]* steps")
else()
  expect(TRUE "rank 0: passed.*rank 1: passed|rank 1: passed.*rank 0: passed")
endif()
file(GLOB left ${file}*)  # includes temporary files left by a killed rank
file(REMOVE ${file} ${left})
