"""The names of `tamis.spark`, imported when they are first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tamis.spark


@pytest.mark.parametrize("name", tamis.spark.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tamis.spark, name).__name__ == name


def test_another_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tamis.spark.nothing  # noqa: B018


def test_importing_the_package_imports_no_spark() -> None:
    code = "import sys, tamis.spark; assert not {'pyspark', 'tamis.spark.matching'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True)
