# Read by demo.sh and test.sh, in the root of the checkout.

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
