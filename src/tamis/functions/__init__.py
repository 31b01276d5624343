"""Every operator and function of the language; a new one registers itself in the file of its subject."""

from tamis.functions import (  # noqa: F401  (importing registers)
    arithmetic,
    arrays,
    casts,
    cesql,
    comparison,
    conditional,
    dates,
    documents,
    kinds,
    like,
    logic,
    nested_values,
    network,
    numbers,
    schemaless,
    strings,
    structs,
)
from tamis.functions.registry import FUNCTIONS

__all__ = ["FUNCTIONS"]
