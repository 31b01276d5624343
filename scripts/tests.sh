#!/usr/bin/env bash
# Runs pytest with the given arguments; what fails is run once more, alone: scripts/tests.sh PYTHON ARGUMENTS...
# Real Sparks, brokers, browsers and kills share two cores here, and may run out of their patience. A test that fails
# again fails the run; one that passes alone is named, so that it is mended, and does not.
set -u
python=$1; shift
log=$(mktemp); trap 'rm -f "$log"' EXIT
rm -f .pytest_cache/v/cache/lastfailed  # it keeps what failed earlier and is not there any more
"$python" -m pytest "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" = 1 ] || exit "$status"  # 1: tests failed; anything else is not about tests
# pytest's own record of them, without the groups that pytest-xdist adds to names.
mapfile -t failed < <("$python" -c '
import json, re
for name in json.load(open(".pytest_cache/v/cache/lastfailed")): print(re.sub(r"@[\w./-]+$", "", name))')
summary=$(grep -E '^=+ .* in [0-9.]+s' "$log" | tail -n 1)
counted=$(grep -oE '[0-9]+ (failed|error)' <<< "$summary" | awk '{sum += $1} END {print sum + 0}')
if [ "${#failed[@]}" = 0 ] || [ "${#failed[@]}" -gt 20 ] || [ "${#failed[@]}" -lt "$counted" ]; then
    exit 1  # too many to be an accident, or not all of them are known
fi
echo "once more, alone: ${failed[*]}"
if "$python" -m pytest "${failed[@]}"; then
    printf 'FLAKY, failed among the others and passed alone: %s\n' "${failed[@]}"
    exit 0
fi
exit 1
