#!/usr/bin/env bash
# Runs pytest with the given arguments; what fails is run once more, alone: scripts/tests.sh PYTHON ARGUMENTS...
# Real Sparks, brokers, browsers and kills share two cores here, and may run out of their patience. A test that fails
# again fails the run; one that passes alone is named, so that it is mended, and does not.
set -u
python=$1; shift
"$python" -m pytest "$@" && exit 0
status=$?
[ "$status" = 1 ] || exit "$status"  # 1: tests failed; anything else is not about tests
again=$(mktemp)
"$python" -m pytest --last-failed --last-failed-no-failures none -rA > "$again" 2>&1 && status=0 || status=1
tail -n 200 "$again"
if [ "$status" = 0 ]; then
    echo "FLAKY: these failed among the others and passed alone:"
    sed -n 's/^PASSED /  /p' "$again"
fi
rm -f "$again"
exit "$status"
