"""Random numbers that are the same in every run."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def draws() -> np.random.Generator:
    return np.random.default_rng(7)
