"""The fixture `recorded`, for the tests of this folder."""

from tests.operators.recording import recorded

__all__ = ["recorded"]
