"""Writes `llms.txt`: what tamis is and every page of its documentation, with the page's own first sentence.

With `--check` it fails if the file is out of date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "llms.txt"


class _Loader(yaml.SafeLoader):
    """Reads the navigation; what MkDocs alone understands is passed over."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def _pages(entries: list[Any], section: str = "") -> Iterator[tuple[str, str, str]]:
    """Section, title and path of every page, in order."""
    for entry in entries:
        ((title, inside),) = entry.items()
        if isinstance(inside, list):
            yield from _pages(inside, title)
        else:
            yield section, title, inside


def _first_sentence(page: Path) -> str:
    paragraphs = re.split(r"\n\s*\n", page.read_text("utf-8"))
    prose = next(each for each in paragraphs if not each.lstrip().startswith(("#", "|", "```", ">", "-", "!")))
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[a-z0-9`)*][.?!]) ", text)[0].rstrip(":")


def text() -> str:
    settings = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), _Loader)
    lines = ["# tamis", "", f"> {settings['site_description']}.", ""]
    before = None
    for section, title, path in _pages(settings["nav"]):
        if section != before:
            lines += ["", f"## {section or 'More'}", ""] if before is not None else ["## Start", ""]
            before = section
        lines.append(f"- [{title}](docs/{path}): {_first_sentence(ROOT / 'docs' / path)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if FILE.read_text("utf-8") == text() else "llms.txt is out of date: python scripts/llms.py")
    FILE.write_text(text(), "utf-8")
