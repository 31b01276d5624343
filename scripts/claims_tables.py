"""Write the tables of verdicts in `docs/papers/*.md` from the results of `tamis lab claims`.

Without arguments it fails where a table is not that of `docs/papers/claims.json`; `--write` writes them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tamis.lab.claims.page import markdown_table
from tamis.lab.claims.registry import PAPERS, ROWS
from tamis.lab.claims.run import Results

PAGES = Path(__file__).resolve().parent.parent / "docs" / "papers"
RESULTS = PAGES / "claims.json"
BEGIN, END = "<!-- verdicts: written by scripts/claims_tables.py --write -->", "<!-- end of verdicts -->"


def pages() -> dict[Path, str]:
    """What the pages of papers should be, by path."""
    results = Results(RESULTS).of(ROWS)
    found = {}
    for paper in PAPERS.values():
        path = PAGES / f"{paper.name}.md"
        before, begin, rest = path.read_text("utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not begin or not end:
            msg = f"{path.name} has no place for a table: {BEGIN} ... {END}"
            raise SystemExit(msg)
        found[path] = f"{before}{BEGIN}\n\n{markdown_table(paper, results)}\n{END}{after}"
    return found


def main(arguments: list[str]) -> int:
    """Compare, or write."""
    stale = [path for path, text in pages().items() if path.read_text("utf-8") != text]
    if "--write" in arguments:
        for path in stale:
            path.write_text(pages()[path], "utf-8")
        return 0
    for path in stale:
        print(f"{path.name}: the table is not that of {RESULTS.name}; run scripts/claims_tables.py --write")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
