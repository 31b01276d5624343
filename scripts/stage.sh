#!/usr/bin/env bash
# Runs one stage of a longer job and says how long it took: scripts/stage.sh NAME COMMAND...
# The times of all stages since the last --begin are kept in artifacts/stages.txt and printed by --end.
set -u
cd "$(dirname "$0")/.."
log=artifacts/stages.txt
case $1 in
--begin) mkdir -p artifacts; : > "$log" ;;
--end) echo "stages:"; cat "$log" ;;
*)
    name=$1; shift
    start=$(date +%s)
    "$@" && status=0 || status=$?
    line=$(printf '  %-10s %5d s%s' "$name" $(($(date +%s) - start)) "$([ "$status" = 0 ] || echo "  failed with $status")")
    mkdir -p artifacts; echo "$line" >> "$log"; echo "stage $line"
    exit "$status" ;;
esac
