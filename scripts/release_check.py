"""Builds sdist and wheel, and walks through tutorial, demo and service as a new user of each.

Each is installed into an environment of its own, with its dependencies from the index. The exit code is 1 if one
fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--borrow", action="store_true", help="take the dependencies of this environment: quicker")
    borrow = parser.parse_args().borrow
    dist = ROOT / "dist"
    for old in dist.glob("tamis-*"):
        old.unlink()
    subprocess.run([sys.executable, "-m", "build", "--sdist", "--outdir", str(dist), str(ROOT)], check=True)
    subprocess.run([str(ROOT / "scripts" / "wheel.sh"), sys.prefix, str(dist)], check=True)
    failed = []
    for distribution in sorted(dist.glob("tamis-*")):
        print(f"release-check: {distribution.name}", flush=True)
        environment = os.environ | {"TAMIS_DISTRIBUTION": str(distribution)}
        if not borrow:
            environment["TAMIS_NEW_USER"] = "index"
        walk = [sys.executable, "-m", "pytest", "-q", "-p", "no:schemathesis", "tests/test_new_user.py"]
        if subprocess.run(walk, cwd=ROOT, env=environment, check=False).returncode:
            failed.append(distribution.name)
    print(f"release-check: {'failed for ' + ', '.join(failed) if failed else 'sdist and wheel work'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
