# Functions for the shell scripts, which source this file in the root of the checkout.

# The number of parallel compile jobs: one per processor, but at most one per two gigabytes of available memory, to which
# CMakeLists.txt lets g++ grow before it collects garbage.
jobs() {
  count=$(nproc 2> /dev/null || sysctl -n hw.ncpu 2> /dev/null || echo 2)
  memory=$(awk '/^MemAvailable/ { print int($2 / 2000000) }' /proc/meminfo 2> /dev/null || true)
  if [ -n "$memory" ] && [ "$memory" -lt "$count" ]; then
    count=$((memory > 1 ? memory : 1))
  fi
  echo "$count"
}

# configure <build folder> <arguments of cmake>: runs cmake, and prints only failures and messages about gated.
configure() {
  folder=$1
  shift
  # CMake refuses a build folder whose checkout has been moved or copied.
  if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  # CMake cannot change the generator of an existing build folder.
  if [ ! -f "$folder/CMakeCache.txt" ] && command -v ninja > /dev/null 2>&1; then
    set -- -G Ninja "$@"
  fi
  mkdir -p "$folder"
  if ! cmake "$@" > "$folder/configure.log" 2>&1; then
    cat "$folder/configure.log" >&2
    return 1
  fi
  grep -E 'gated::|left out|Warning' "$folder/configure.log" || true
}

# configure_bench: configures build/bench for measurements. Warnings are not errors here, because newer compilers add warnings.
configure_bench() {
  configure build/bench -S . -B build/bench -DCMAKE_BUILD_TYPE=Release -DGATED_WERROR=OFF -DGATED_BUILD_TESTS=OFF \
    -DGATED_BUILD_EXAMPLES=OFF
}

# python_with <modules>: prints a Python that has these modules: $PYTHON if set, else python3 from the path, else
# /usr/bin/python3.
python_with() {
  if [ -n "${PYTHON:-}" ]; then
    "$PYTHON" -c "import $1" >&2 || return 1
    echo "$PYTHON"
    return
  fi
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c "import $1" > /dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# legs_by_age <legs.txt> <legs_passed.txt> [minutes]: prints the legs that never passed, then the others, least recently passed
# first. With `minutes`, leaves out the legs that needed more processor time when they passed, and says so on stderr. A leg that
# never passed counts as 100 minutes.
legs_by_age() {
  awk -F ' *[|] *' -v limit="${3:-}" '
    /^#/ { next }
    FNR == NR { passed[$1] = $3; minutes[$1] = $4; next }
    { needed = $1 in passed ? minutes[$1] : 100 }
    limit != "" && needed + 0 > limit + 0 {
      print "leg " $1 ": left out, because it needs " needed " minutes of processor time" > "/dev/stderr"
      next
    }
    { print ($1 in passed ? passed[$1] : "-"), FNR, $1 }' \
    "$2" "$1" | LC_ALL=C sort -k 1,1 -k 2,2n | cut -d ' ' -f 3
}

# note_leg <legs_passed.txt> <leg> <commit> <processor minutes> <entries>: records a leg that has just passed.
# `entries` is the number of its ctest entries.
note_leg() {
  others=$(grep -v "^$2 " "$1")
  printf '%s\n%-13s | %-15s | %s | %3s | %3s\n' "$others" "$2" "$3" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$4" "$5" > "$1"
}
