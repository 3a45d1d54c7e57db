#!/usr/bin/env bash
# Build with AddressSanitizer and UndefinedBehaviorSanitizer into a folder of its own and run the tests on it.
# Usage: bash tools/sanitize.sh [pytest arguments]      needs GCC, and the build and test requirements installed
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/instrumented.sh
build_instrumented "$(realpath -m "${SVMX_SANITIZE_BUILD:-build/sanitize}")" -Db_sanitize=address,undefined -Dbounds_checks=true
# Without the tests with a memory limit: the sanitizer needs its shadow memory.
# CPython is not instrumented, so the runtime must be loaded first, and CPython's leaks are ignored.
LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 PYTHONMALLOC=malloc \
    "$python" -m pytest -s -q -k "not memory" "$@"
