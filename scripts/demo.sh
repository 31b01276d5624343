#!/usr/bin/env bash
# A first look at tamis. Run by `make demo`, which puts the command on PATH.
set -eu
cd "$(dirname "$0")/../examples"

tamis match --event-type camera.json --subscriptions cameras.jsonl --events events.jsonl
