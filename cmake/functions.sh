# Read by demo.sh and test.sh, by .ci/run, and by bench/run.sh and bench/tables/run.sh, in the root of the checkout.

# The number of compilers to run at once: one per processor, but no more than there are gigabytes of memory.
jobs() {
  count=$(nproc 2> /dev/null || sysctl -n hw.ncpu 2> /dev/null || echo 2)
  memory=$(awk '/^MemAvailable/ { print int($2 / 1000000) }' /proc/meminfo 2> /dev/null || true)
  if [ -n "$memory" ] && [ "$memory" -lt "$count" ]; then
    count=$((memory > 1 ? memory : 1))
  fi
  echo "$count"
}

# configure <build folder> <arguments of cmake>: quiet, unless it fails or has something to say about gated.
configure() {
  folder=$1
  shift
  # CMake refuses a build folder that was made elsewhere, in a checkout that has been moved or copied since.
  if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$(pwd -P)" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
  fi
  # The generator is chosen once: CMake does not change it afterwards.
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

# configure_bench: build/bench, for what is measured. A newer compiler's warnings keep nobody from measuring.
configure_bench() {
  configure build/bench -S . -B build/bench -DCMAKE_BUILD_TYPE=Release -DGATED_WERROR=OFF -DGATED_BUILD_TESTS=OFF \
    -DGATED_BUILD_EXAMPLES=OFF
}

# python_with <modules>: prints the name of a Python that has them. PYTHON, if that is given, and no other; or else python3, or
# the system's own, which may have them where another stands first in the path.
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

# legs_by_age <legs.txt> <legs_passed.txt>: the names of the legs, first those that never passed, then from the oldest on.
legs_by_age() {
  awk -F ' *[|] *' '/^#/ { next } FNR == NR { passed[$1] = $3; next } { print ($1 in passed ? passed[$1] : "-"), FNR, $1 }' \
    "$2" "$1" | LC_ALL=C sort -k 1,1 -k 2,2n | cut -d ' ' -f 3
}

# note_leg <legs_passed.txt> <leg> <commit> <processor minutes> <entries>: it has passed, now.
note_leg() {
  others=$(grep -v "^$2 " "$1")
  printf '%s\n%-9s | %-15s | %s | %3s | %3s\n' "$others" "$2" "$3" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$4" "$5" > "$1"
}
