#!/bin/bash -eu
# build.sh [<target>...]: builds the named fuzz targets of $SRC/gated/tests/fuzz (all by default), with seeds and dictionaries,
# into $OUT. Reads OSS-Fuzz's variables $SRC, $OUT, $CXX, $CXXFLAGS, $SANITIZER and $LIB_FUZZING_ENGINE; Eigen and stb are in $SRC.

fuzz=$SRC/gated/tests/fuzz
for target in ${*:-$(cd "$fuzz" && ls *.cpp | sed '/^replay/d; s/\.cpp$//')}; do
  flags=""
  if [ "$SANITIZER" = undefined ]; then
    # Hashes rely on unsigned wrap-around, hence -fno-sanitize=unsigned-integer-overflow.
    # The other flags below are also in the preset `fuzz` or in tests/fuzz/CMakeLists.txt.
    flags="-fsanitize-ignorelist=$SRC/gated/tests/null_in_eigen.txt -fno-sanitize=unsigned-integer-overflow"
    [ "$target" != image ] || flags="$flags -fno-sanitize=signed-integer-overflow,shift,nonnull-attribute"
  fi
  [ "$target" != c_interface ] || flags="$flags $SRC/gated/cmake/c/gated.cpp"
  # $CXXFLAGS, $flags and $LIB_FUZZING_ENGINE are unquoted, so the shell splits them.
  $CXX $CXXFLAGS -std=c++20 $flags -DGATED_ALLOW_UNOPTIMIZED -I"$SRC/gated" -I"$SRC/gated/include" -isystem "$SRC/eigen" \
    -isystem "$SRC/stb" "$fuzz/$target.cpp" $LIB_FUZZING_ENGINE -pthread -o "$OUT/gated_fuzz_$target"

  (cd "$fuzz/corpus/$target" && zip -q -r "$OUT/gated_fuzz_${target}_seed_corpus.zip" .)
  [ ! -f "$fuzz/$target.dict" ] || cp "$fuzz/$target.dict" "$OUT/gated_fuzz_$target.dict"
  printf '[libfuzzer]\nmax_len = 4096\n' > "$OUT/gated_fuzz_$target.options"
done
