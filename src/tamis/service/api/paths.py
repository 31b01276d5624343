"""Ids in paths: every character may be in one, slashes and line breaks too."""

from __future__ import annotations

from starlette.convertors import PathConvertor, register_url_convertor


class AnyTextConvertor(PathConvertor):
    """The rest of a path, whatever it is; Starlette's `path` ends before a line break."""

    regex = r"[\s\S]*"


register_url_convertor("any", AnyTextConvertor())
ANY_ID = "{id:any}"
"""In the path of a route: an id that may be any text."""
