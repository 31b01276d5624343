"""Loading the operators that a command is told of."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def load_given(modules: Sequence[str], library: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Load operators by what was given: names of modules, or TOML files with a table `[operators]`.

    Modules of the working folder are found.

    Raises:
        OperatorError: One of them cannot be loaded; the message names it and says why.
    """
    from tamis.operators.finding import load_operators

    files = [each for each in modules if each.endswith(".toml")]
    names = [each for each in modules if each not in files]
    if names and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    for file in files:
        from tamis.spark.pipeline_operators import load_settings

        load_settings(file).load()
    load_operators(names, library)
