"""Every operator and function of the language; a new one registers itself in the file of its subject."""

from tamis.functions import (  # noqa: F401  (importing registers)
    arithmetic,
    array_changes,
    arrays,
    casts,
    cesql,
    comparison,
    conditional,
    dates,
    documents,
    encoding,
    formatting,
    json_texts,
    jsonlogic,
    kinds,
    like,
    logic,
    maps,
    mathematics,
    nested_values,
    network,
    number_formats,
    numbers,
    regular_expressions,
    row_hashes,
    schemaless,
    strings,
    structs,
    text_codes,
    time_buckets,
    time_zones,
)
from tamis.functions.registry import FUNCTIONS

__all__ = ["FUNCTIONS"]
