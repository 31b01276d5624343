"""A hook of MkDocs: what pages link to outside of `docs/`, such as examples, comes with the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\(((?:\.\./)+[^)#]+)")


def _outside(uri: str, link: str) -> Path | None:
    """The file that a link of a page leads to, if it lies outside of `docs/`."""
    target = (ROOT / "docs" / uri).parent.joinpath(link).resolve()
    return target if target.is_file() and not target.is_relative_to(ROOT / "docs") else None


def _uri(target: Path) -> str:
    name = f"files/{target.relative_to(ROOT).as_posix()}"
    return f"{name}.txt" if target.suffix == ".md" else name  # as it is: its own links mean the repository


def on_files(files: Files, *, config: Any) -> Files:
    """Add the files that pages link to."""
    pages = [page for page in files.documentation_pages() if page.generated_by is None]
    links = [(page.src_uri, link) for page in pages for link in _LINK.findall(page.content_string)]
    for target in {target for uri, link in links if (target := _outside(uri, link)) is not None}:
        files.append(File.generated(config, _uri(target), abs_src_path=str(target)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Lead links to the copies."""
    up = "../" * page.file.src_uri.count("/")

    def to_copy(link: re.Match[str]) -> str:
        target = _outside(page.file.src_uri, link[1])
        return link[0] if target is None else f"]({up}{_uri(target)}"

    return _LINK.sub(to_copy, markdown)
