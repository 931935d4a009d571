#!/bin/sh
# sh cmake/install_dependencies.sh [demo | browser | browser-test]
#
# Installs the dependencies of gated's tests, benchmarks and examples with apt-get. An argument selects only the dependencies of
# the demo, of examples/browser, or of the test of examples/browser. Without apt-get, prints what to install, and succeeds if a
# compiler and CMake exist. Does nothing if nothing is missing.
set -eu

packages="g++ cmake make ninja-build libeigen3-dev libcli11-dev"
case ${1:-} in
  demo) ;;
  browser) packages="emscripten libeigen3-dev" ;;
  browser-test) packages="$packages libstb-dev chromium chromium-driver python3-selenium" ;;
  *) packages="$packages libstb-dev nlohmann-json3-dev libgtest-dev libbenchmark-dev libopenmpi-dev openmpi-bin ccache doxygen git pkgconf" ;;
esac

has() { command -v "$1" > /dev/null 2>&1; }

# True if the package is installed, or if its tool is on the PATH.
present() {
  case $1 in
    g++) has c++ && return ;;
    cmake) has cmake && return ;;
    make) has make && return ;;
    ninja-build) has ninja && return ;;
    ccache) has ccache && return ;;
    doxygen) has doxygen && return ;;
    pkgconf) has pkg-config && return ;;
    emscripten) has em++ && return ;;
    chromium) has chromium && return ;;
    chromium-driver) has chromedriver && return ;;
  esac
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

if has apt-get && has dpkg-query; then
  missing=""
  for package in $packages; do
    present "$package" || missing="$missing $package"
  done
  if [ -z "$missing" ]; then
    exit 0
  fi

  echo "Installing$missing"
  if [ "$(id -u)" = 0 ]; then
    as_root=""
  elif ! has sudo; then
    as_root="none"
  elif [ -t 0 ]; then
    as_root="sudo"  # may ask for a password
  else
    as_root="sudo -n"
  fi
  # $as_root and $missing are unquoted, so the shell splits them. apt-get update can fail because of an unrelated package
  # source, so its failure is ignored.
  if [ "$as_root" != none ] \
    && { $as_root apt-get update -qq || true; } \
    && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; then
    exit 0
  fi
  echo "apt-get failed. Run as an administrator: apt-get install$missing" >&2
elif has c++ && has cmake; then
  # CMake finds the libraries or reports which one is missing.
  exit 0
else
  cat >&2 << 'TEXT'
Please install a C++20 compiler, CMake 3.21 or newer, Eigen 3.4 or newer, stb and CLI11; for the tests GoogleTest and
nlohmann/json too:
  Fedora    dnf install gcc-c++ cmake ninja-build eigen3-devel json-devel stb_image-devel stb_image_write-devel cli11-devel gtest-devel
  Arch      pacman -S gcc cmake ninja eigen nlohmann-json stb cli11 gtest
  macOS     xcode-select --install && brew install cmake ninja eigen nlohmann-json cli11 googletest
TEXT
fi

# Succeed if a compiler and CMake are installed: CMake reports missing libraries.
for tool in c++ cmake; do
  if ! has $tool; then
    echo "$tool is not installed." >&2
    exit 1
  fi
done
