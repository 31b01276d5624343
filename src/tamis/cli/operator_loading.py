"""Loads the operators that are given to a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def load_operator_modules(modules: Sequence[str], library: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Load operators from modules, or from TOML files with a table `[operators]`.

    The current folder is added to the module search path.

    Raises:
        OperatorError: A module or file cannot be loaded; the message names it and the reason.
    """
    from tamis.operators.discovery import load_operators

    files = [each for each in modules if each.endswith(".toml")]
    names = [each for each in modules if each not in files]
    if names and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    for file in files:
        from tamis.spark.pipeline_operators import load_settings

        load_settings(file).load()
    load_operators(names, library)
