#!/bin/sh
# sh examples/browser/test.sh [options of test.py]
#
# Builds the page and drives it in headless Chromium (test.py). Exits with 77, which ctest counts as skipped, if Chromium or
# Selenium is missing. `sh cmake/install_dependencies.sh browser-test` installs both.
set -eu
cd "$(dirname "$0")/../.."
. cmake/functions.sh

if ! command -v chromium > /dev/null || ! command -v chromedriver > /dev/null || ! python=$(python_with selenium); then
  echo "skipped, because Chromium, its driver or Selenium is missing: sh cmake/install_dependencies.sh browser-test"
  exit 77
fi
sh examples/browser/build.sh
exec "$python" examples/browser/test.py "$@"
