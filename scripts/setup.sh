#!/usr/bin/env bash
# Makes the virtual environment named by the first argument and installs the project into it, in place.
# PYTHON chooses the interpreter; without it, the first of a few usual names that works is taken.
set -eu
cd "$(dirname "$0")/.."
venv=$1

say() { echo "setup: $*" >&2; }
# A name on PATH may be a stub that only prints an error, so each candidate is run.
recent() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

# Some distributions split ensurepip off: then the interpreter's own pip installs one into the environment.
make_venv() {
  "$1" -m venv --clear "$venv" >/dev/null 2>&1 ||
    { "$1" -m venv --clear --without-pip "$venv" && "$1" -m pip --python "$venv/bin/python" install -q pip; } >/dev/null 2>&1
}

usable() { recent "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; }

if ! usable; then
  found=
  for python in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
    recent "$python" || continue
    found=$python
    say "creating $venv with $("$python" --version)"
    make_venv "$python" && break
  done
  if [ -z "$found" ]; then
    say "no Python 3.11 or later among: ${PYTHON:-python3.13 python3.12 python3.11 python3 python}."
    say "Install one, or name it: make setup PYTHON=/path/to/python3"
    exit 1
  fi
  if ! usable; then
    say "$found can make no virtual environment: it has neither ensurepip nor a recent pip."
    say "On Debian and Ubuntu: apt install python3-venv (or python3-pip)."
    exit 1
  fi
fi

pip() { "$venv/bin/python" -m pip --disable-pip-version-check --no-input "$@"; }

say "installing dependencies (PySpark is over 400 MB: the first time takes a few minutes)"
pip install -q "pip>=25.1" # the first that knows dependency groups
pip install -q --prefer-binary --group dev --editable ".[spark,operators,service]"

say "looking for Java"
JAVA_HOME=$("$venv/bin/python" scripts/java_home.py)
export JAVA_HOME

say "compiling kernels (a minute)"
"$venv/bin/python" -m tamis warm --quiet
say "done"
