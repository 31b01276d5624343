#!/usr/bin/env bash
# Builds a wheel for this platform and Python that carries compiled kernels, into the folder named by the second
# argument; the first is the virtual environment. They are compiled for a baseline processor (`tamis.kernels.BASELINE`),
# and used by any that can run it, with the same versions of Python, numba and llvmlite; elsewhere tamis compiles.
set -eu
cd "$(dirname "$0")/.."
python=$1/bin/python
out=$2
kernels=$PWD/build/kernels

rm -rf "$kernels"
baseline=$("$python" -c 'import platform; from tamis.kernels import BASELINE; print(BASELINE.get(platform.machine(), ""))')
if [ -z "$baseline" ]; then
  echo "wheel: no baseline processor is known for $(uname -m): its kernels would run on this machine only" >&2
  exit 1
fi
echo "wheel: compiling kernels for $baseline" >&2
NUMBA_CPU_NAME=$baseline NUMBA_CPU_FEATURES= "$python" -m tamis warm --folder "$kernels"
TAMIS_WHEEL_KERNELS=$kernels "$python" -m pip --disable-pip-version-check wheel -q --no-deps --wheel-dir "$out" .
ls -l "$out"/tamis-*.whl >&2
