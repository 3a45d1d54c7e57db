#!/usr/bin/env bash
# Wild input with AddressSanitizer, UndefinedBehaviorSanitizer and bounds checks, for HOURS of processor time.
# Usage: bash tools/fuzz.sh HOURS [pytest arguments]      needs what tools/sanitize.sh needs
# Each round has its own seeds; if it fails, its output stays in build/fuzz. To repeat a failure, take N from "seed N"
# before it: LIBSVMX_FUZZ_SEED=N LIBSVMX_FUZZ_CASES=1.
set -uo pipefail
cd "$(dirname "$0")/.."
hours=${1:?hours of processor time}
shift
mkdir -p build/fuzz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. tools/steps.sh
export LIBSVMX_FUZZ_CASES=${LIBSVMX_FUZZ_CASES:-200}
log=build/fuzz/build.log
bash tools/sanitize.sh --collect-only tests/fuzz >"$log" 2>&1 || { tail -n 5 "$log"; exit 1; } # nothing can run
limit=$(awk "BEGIN {printf \"%d\", $hours * 3600}")
rounds=0 failed=0 used=0
while [ "$used" -lt "$limit" ]; do
    LIBSVMX_FUZZ_SEED=$(($(date +%s) * 1000))
    export LIBSVMX_FUZZ_SEED
    log=build/fuzz/$LIBSVMX_FUZZ_SEED.log
    bash tools/sanitize.sh -p no:cacheprovider -n 0 tests/fuzz "$@" >"$log" 2>&1
    code=$?
    rounds=$((rounds + 1))
    cpu
    echo "$(date +%T) round $rounds, seed $LIBSVMX_FUZZ_SEED, $used s of processor time: $(tail -n 1 "$log")"
    if [ $code -eq 0 ]; then rm "$log"; else failed=$((failed + 1)); fi
done
echo "$rounds rounds of $LIBSVMX_FUZZ_CASES cases of each kind, $failed failed"
exit $((failed > 0))
