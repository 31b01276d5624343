"""How strings are written, and what is asked of them."""

from __future__ import annotations

from tests.oracle.grammar import rule

for _call in (
    *("lower({string})", "upper({string})", "lcase({string})", "ucase({string})", "initcap({string})"),
    *("trim({string})", "ltrim({string})", "rtrim({string})", "btrim({string})", "reverse({string})"),
    *("btrim({string}, {trim_set})", "ltrim({trim_set}, {string})", "rtrim({trim_set}, {string})"),
    *("substring({string}, {position})", "substring({string}, {position}, {position})"),
    *("substr({string}, {position}, {count})", "substring({string}, {narrow}, {count})"),
    *("left({string}, {count})", "right({string}, {count})", "left({string}, {narrow})"),
    *("concat({string}, {string})", "concat({string}, {string}, {string})"),
    *("concat_ws({string_literal}, {string}, {string})", "concat_ws({string}, {string}, {string}, {string})"),
    *("replace({string}, {string}, {string})", "replace({string}, {string})"),
    *("translate({string}, {string}, {string})", "repeat({string}, {count})"),
    *("lpad({string}, {count}, {string})", "rpad({string}, {count}, {string})"),
    *("lpad({string}, {count})", "rpad({string}, {count})"),
    "split_part({string}, {string}, {part})",
    "substring_index({string}, {string}, {count})",
):
    rule("string", _call)
rule("string", "{string} || {string}")
rule("string", "{string} || {string} || {string}")
rule("string", "TRIM(BOTH {trim_set} FROM {string})")
rule("string", "TRIM(LEADING {trim_set} FROM {string})")
rule("string", "TRIM(TRAILING {trim_set} FROM {string})")

for _goal in ("integral", "fraction", "decimal", "date", "timestamp", "timestamp_ntz", "boolean"):
    rule("string", f"CAST({{{_goal}}} AS STRING)", "try_cast({0} AS STRING)")
rule("string", "({number})::STRING")
rule("string", "concat({integral}, {string})")

for _call in (
    *(
        "length({string})",
        "char_length({string})",
        "len({string})",
        "character_length({string})",
        "ascii({string})",
    ),
    *("instr({string}, {string})", "locate({string}, {string})", "locate({string}, {string}, {position})"),
    *("octet_length({string})", "bit_length({string})", "length({binary})", "octet_length({binary})"),
    *("levenshtein({string}, {string})", "position({string}, {string})"),
):
    rule("int", _call)

for _call in (
    *("startswith({string}, {string})", "endswith({string}, {string})", "contains({string}, {string})"),
    *("startswith({string}, {string_literal})", "endswith({string}, {string_literal})"),
    "contains({string}, {string_literal})",
):
    rule("predicate", _call)
for _word in ("LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"):
    rule("predicate", f"{{string}} {_word} {{like}}")
    rule("predicate", f"{{string}} {_word} {{like_escaped}}")
    rule("predicate", f"{{string}} {_word} ANY ({{like}}, {{like}})")
    rule("predicate", f"{{string}} {_word} ALL ({{like}}, {{like}})")
rule("predicate", "{string} LIKE SOME ({like}, {like}, {like})")
for _word in ("RLIKE", "NOT RLIKE", "REGEXP"):
    rule("predicate", f"{{string}} {_word} {{rlike}}")
for _goal in ("integral", "date", "timestamp", "decimal", "boolean"):
    rule("predicate", f"{{{_goal}}} LIKE {{like_digits}}")
rule("predicate", "like({string}, {like})")
rule("predicate", "ilike({string}, {like})")
rule("predicate", "rlike({string}, {rlike})")
rule("predicate", "regexp_like({string}, {rlike})")
rule("string", "chr({narrow})")
rule("string", "char({bigint})")
rule("string", "substring({string} FROM {position} FOR {count})")
rule("string", "substr({string} FROM {position})")
rule("int", "position({string} IN {string})")
