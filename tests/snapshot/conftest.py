"""What the tests of snapshots share: the same tests for a folder of this machine and for a remote storage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from tamis.snapshot import Snapshots
from tests.snapshot.processes import KINDS, Kind, opened

Open: TypeAlias = Callable[[], Snapshots]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    found: Kind = request.param
    return found


@pytest.fixture
def open_again(kind: Kind, tmp_path: Path) -> Open:
    """Opens one and the same snapshot anew, as another process would."""
    return lambda: opened(kind, tmp_path)


@pytest.fixture
def snapshots(open_again: Open) -> Snapshots:
    return open_again()
