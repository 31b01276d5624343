"""Every operator and function of the language; a new one registers itself in the file of its subject."""

from tamis.functions import (  # noqa: F401  (importing registers)
    arithmetic,
    array_changes,
    arrays,
    casts,
    comparison,
    conditional,
    dates,
    encoding,
    formatting,
    json_texts,
    like,
    logic,
    mathematics,
    numbers,
    schemaless,
    strings,
    structs,
)
from tamis.functions.registry import FUNCTIONS

__all__ = ["FUNCTIONS"]
