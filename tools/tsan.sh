#!/usr/bin/env bash
# The thread pool, and trainings and predictions on several threads, under ThreadSanitizer.
# Usage: bash tools/tsan.sh      needs GCC with libtsan, setarch, and the build requirements installed
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath -m "${SVMX_TSAN_BUILD:-build/tsan}")
mkdir -p "$build"
# The pool itself, without Python.
"${CC:-cc}" -fsanitize=thread -O1 -g -DSVMX_THREADS=1 -Ilibsvmx/_core tests/core/pool_races.c -o "$build/pool_races" -lpthread
setarch -R "$build/pool_races"
# The extensions. CPython, NumPy and OpenBLAS are not instrumented: their sharing under the GIL is not seen, and
# OpenBLAS stays on one thread.
. tools/instrumented.sh
build_instrumented "$build" -Db_sanitize=thread
LD_PRELOAD="$(gcc -print-file-name=libtsan.so)" TSAN_OPTIONS=exitcode=66 OPENBLAS_NUM_THREADS=1 \
    setarch -R "$python" tools/trainings_on_threads.py
