# cmake -DCOMPILERS=… -DFLAGS=… -DWORK_DIR=… -DIS_ELF_OF_X86=… -P refusals.cmake
#
# Expects that the first compiler error names the unsupported feature, that the warning about missing optimization appears
# once, and that the linker refuses units with incompatible flags.

cmake_minimum_required(VERSION 3.21)

# Compiles `program` with the remaining arguments as flags. Sets `status` to the exit status, `said` to the compiler's output.
macro(compile program)
  file(WRITE "${WORK_DIR}/refused.cpp" "${program}\n")
  execute_process(COMMAND ${compiler} -fsyntax-only ${FLAGS} ${ARGN} "${WORK_DIR}/refused.cpp" RESULT_VARIABLE status
                  OUTPUT_VARIABLE said ERROR_VARIABLE said)
endmacro()

# Expects that `program`, compiled with the remaining arguments as flags, is refused with `words` in the first error. Unless
# `lines` is 0, the compiler must print at most `lines` lines.
function(expect_refusal words lines program)
  compile("${program}" ${ARGN})
  string(REGEX MATCH "[^\n]*error: [^\n]*" first "${said}")
  if(status EQUAL 0)
    message(SEND_ERROR "${compiler} ${ARGN} accepts\n${program}")
  elseif(NOT first MATCHES "${words}")
    message(SEND_ERROR "${compiler} ${ARGN}\n${program}\nexpected '${words}' in the first error, got\n${first}")
  endif()
  string(REGEX REPLACE "[^\n]" "" newlines "${said}")
  string(LENGTH "${newlines}" count)
  if(lines GREATER 0 AND count GREATER lines)
    message(SEND_ERROR "${compiler} ${ARGN}\n${program}\nexpected at most ${lines} lines, got ${count}:\n${said}")
  endif()
endfunction()

# Expects that `program` compiles and causes `times` warnings about missing optimization.
function(expect_warnings times program)
  compile("${program}" ${ARGN})
  string(REGEX MATCHALL "(warning|note): [^\n]*gated is compiled without optimization" warnings "${said}")
  list(LENGTH warnings count)
  if(NOT status EQUAL 0 OR NOT count EQUAL times)
    message(SEND_ERROR "${compiler} ${ARGN}\n${program}\nexpected ${times} warnings, got\n${said}")
  endif()
endfunction()

# Expects that two units with these flags link. If `refused`, expects a link error instead, about a symbol named after the
# setting that differs.
function(expect_link refused flags_of_one flags_of_other)
  file(WRITE "${WORK_DIR}/one.cpp" "#include <gated/core/matrix.hpp>\nint other();\nint main() { return other(); }\n")
  file(WRITE "${WORK_DIR}/other.cpp" "#include <gated/core/matrix.hpp>\nint other() { return 0; }\n")
  foreach(unit IN ITEMS one other)
    execute_process(COMMAND ${compiler} ${FLAGS} -std=c++20 -O1 ${flags_of_${unit}} -c "${WORK_DIR}/${unit}.cpp"
                            -o "${WORK_DIR}/${unit}.o" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND ${compiler} "${WORK_DIR}/one.o" "${WORK_DIR}/other.o" -o "${WORK_DIR}/linked" RESULT_VARIABLE status
                  OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(refused AND (status EQUAL 0 OR NOT said MATCHES "gated_needs_one_EIGEN_MAX_ALIGN_BYTES_in_all_units"))
    message(SEND_ERROR "${compiler}: '${flags_of_one}' and '${flags_of_other}': expected a link error, got\n${said}")
  elseif(NOT refused AND NOT status EQUAL 0)
    message(SEND_ERROR "${compiler}: '${flags_of_one}' and '${flags_of_other}': expected to link, got\n${said}")
  endif()
endfunction()

foreach(compiler IN LISTS COMPILERS)
  if(IS_ELF_OF_X86)
    expect_link(FALSE -march=x86-64 -march=x86-64)
    expect_link(TRUE -march=x86-64 -march=haswell)
    expect_link(FALSE "-march=x86-64;-DEIGEN_MAX_ALIGN_BYTES=64" "-march=haswell;-DEIGEN_MAX_ALIGN_BYTES=64")
  endif()
  foreach(header IN ITEMS gated.hpp train.hpp core/words.hpp)
    expect_refusal("gated needs C\\+\\+20" 20 "#include <gated/${header}>" -O1 -std=c++17)
  endforeach()
  expect_refusal("gated computes only in float and double" 0
                 "#include <gated/gated.hpp>\nconstexpr auto size = sizeof(gated::Gmlp<int>);" -O1 -std=c++20)
  expect_refusal("gated computes only in float and double" 0
                 "#include <gated/core/workspace.hpp>\ngated::Workspace<long double> workspace;" -O1 -std=c++20)
  expect_refusal("must be compiled without -ffast-math" 0 "#include <gated/core/matrix.hpp>" -O1 -std=c++20 -ffast-math)

  # A layer of one's own, inside of another, with a member that gated would ignore.
  foreach(mistake "initialise: write|void initialise(gated::Random&) {}"
                  "reset_parameters: write|void reset_parameters() {}"
                  "initialize: declare it as|void initialize(gated::Random&, int) {}"
                  "initialize: declare it as|void initialize(gated::Random) {}"
                  "prepare: declare it as|void prepare() const {}")
    string(REPLACE "|" ";" mistake "${mistake}")
    list(GET mistake 0 words)
    list(GET mistake 1 member)
    set(own "#include <gated/layers/linear.hpp>\nusing namespace gated;
struct Own : Layer<Own, float> {
  static constexpr const char* name = \"Own\";
  static constexpr auto fields() { return Fields(); }
  Contract contract() const { return {.in = 2, .out = 2}; }
  auto apply(auto&, auto x) const { return x; }
  ${member}
};
struct Around : Layer<Around, float> {
  Own own;
  static constexpr const char* name = \"Around\";
  static constexpr auto fields() { return Fields(field(\"own\", &Around::own)); }
  Contract contract() const { return own.contract(); }
  auto apply(auto& run, auto x) const { return run(own, x); }
};
")
    expect_refusal("${words}" 40 "${own}Matrix<float> y(const Around& f) { return f.forward(Matrix<float>(1, 2)); }" -O1 -std=c++20
                   -DGATED_ONLY_BASELINE)
  endforeach()

  # An epilogue in a run has no parts for matrices in memory.
  expect_refusal("OnlyForMatricesInMemory" 20 "#include <gated/layers/linear.hpp>
gated::RunMatrix<float> y(gated::Batch<float>& run, const gated::Linear<float>& f, const gated::RunMatrix<float>& x) {
  return run(f, x, gated::Epilogue<gated::Batch<float>>{.factor = 0.5F});
}" -O1 -std=c++20 -DGATED_ONLY_BASELINE)

  set(two_headers "#include <gated/core/matrix.hpp>\n#include <gated/core/words.hpp>")
  expect_warnings(0 "${two_headers}" -O1 -std=c++20 -ffast-math -fno-fast-math)
  expect_warnings(1 "${two_headers}" -O0 -std=c++20 -Werror)  # the warning must not become an error
  expect_warnings(0 "${two_headers}" -O0 -std=c++20 -DGATED_ALLOW_UNOPTIMIZED)
endforeach()
