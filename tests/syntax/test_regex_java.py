"""`translate` against Java itself: Spark's RLIKE is asked the same questions as RE2.

Whatever is translated must have Java's answer on every text, and whatever Java refuses must be refused.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from tamis.errors import PatternError
from tamis.functions import FUNCTIONS
from tamis.functions.registry import Signature
from tamis.syntax import regex_tree
from tamis.syntax.regex import translate, translate_captures
from tamis.values.types import STRING
from tests.syntax.test_regex import CORPUS, MALFORMED, TEXTS, UNSUPPORTED, found_by_pyarrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def java_accepts(spark: SparkSession, pattern: str) -> bool:
    from pyspark.errors import IllegalArgumentException

    assert spark._jvm is not None
    try:
        spark._jvm.java.util.regex.Pattern.compile(pattern)
    except IllegalArgumentException:  # what PySpark makes of a PatternSyntaxException
        return False
    return True


def found_by_java(spark: SparkSession, patterns: Sequence[str], texts: Sequence[str]) -> list[list[bool]]:
    """Java's answers in one job, a list for each pattern."""
    from pyspark.sql import functions as F

    rows = spark.createDataFrame(list(enumerate(patterns)), "place int, pattern string")
    found = F.expr("transform(texts, text -> text RLIKE pattern)")
    answers = rows.withColumn("texts", F.lit(list(texts))).select("place", found.alias("found")).collect()
    return [row.found for row in sorted(answers, key=lambda row: row.place)]


def differences(spark: SparkSession, patterns: Sequence[str], texts: Sequence[str]) -> list[str]:
    """What Java and RE2 disagree about; all patterns must have a translation, and Java must accept them."""
    lines = []
    for pattern, expected in zip(patterns, found_by_java(spark, patterns, texts), strict=True):
        translated = translate(pattern)
        for text, java, found in zip(texts, expected, found_by_pyarrow(translated, texts), strict=True):
            if java != found:
                lines.append(f"{pattern!a} on {text!a}: Java {java}, {translated!a} {found}")
    return lines


def test_corpus_has_the_answers_of_java(spark: SparkSession) -> None:
    assert differences(spark, CORPUS, TEXTS) == []


def test_a_constant_pattern_has_the_answers_of_java(spark: SparkSession) -> None:
    """Spark compiles a constant pattern once, and generates other code for it."""
    patterns = CORPUS[::4]
    frame = spark.createDataFrame(list(enumerate(TEXTS)), "place int, text string")
    columns = [frame.text.rlike(pattern).alias(f"p{place}") for place, pattern in enumerate(patterns)]
    rows = sorted(frame.select("place", *columns).collect())
    for place, pattern in enumerate(patterns):
        found = [row[place + 1] for row in rows]
        assert found == found_by_pyarrow(translate(pattern), TEXTS), ascii(pattern)


def test_classes_hold_the_characters_that_java_has_in_them(spark: SparkSession) -> None:
    patterns = [*SETS, "[^\\p{Punct}]", ".", "(?d).", r"\R"]
    patterns += ["(?i)[a-z]", "(?i)[^J-T]", "(?i)k", "x|(?i)s", "(?i)[\u212a\u017f]"]
    ranges = [(0, 0x3100), (0xD700, 0xD800), (0xE000, 0xE100), (0xFE00, 0x10100), (0x10FF00, 0x110000)]
    codes = [code for first, last in ranges for code in range(first, last)]
    assert differences(spark, patterns, [chr(code) for code in codes]) == []


def test_refusals_are_blamed_on_whom_they_should(spark: SparkSession) -> None:
    assert [pattern for pattern, _, _ in MALFORMED if java_accepts(spark, pattern)] == []
    assert [pattern for pattern, _, _ in UNSUPPORTED if not java_accepts(spark, pattern)] == []


LITERALS = [*"aaabbbkKsSzZ019_- ,;@&#]}~\n\r\x85\u2028\x0b\0\u212a\u017fé😀"]
ESCAPES = [r"\ ", *r"\t \n \r \e \012 \07 \0101 \x6b \x{1F600} \x{0} \u0061 \u212a \uD83D\uDE00 \cJ".split()]
ESCAPES += r"\. \\ \[ \] \- \^ \$ \# \é \{ \Qa\E \Qa.b\E \Q\E \Q5\E \Q]\E".split()
SETS = [f"\\{letter}" for letter in regex_tree.PREDEFINED]
SETS += [f"\\p{{{name}}}" for name in regex_tree.POSIX]
SPANS = r"a-k K-s 0-9 S-z !-& \t-\r +-- é-Ω \v- \t-\v \d- a-[b] 😀-😁 a- ^".split()
FLAGS = ["(?x) ", *"(?i) (?s) (?m) (?d) (?x) (?-i) (?-s) (?im-s) (?-x) (?) (?dm)".split()]
OPENINGS = "( (?: (?: (?i: (?s: (?m: (?d: (?x: (?-i: (?<n>".split()
QUANTIFIERS = "* + ? {2} {0,2} {1,} {0} {2,3} {0,1} {3,} *? +? {1,2}?".split()
REFUSED = r"\b{g} \G \X \1 (?=a) (?<!a) (?>a) a*+ \q \E \08 \uD83D \p{IsLatin} (?u) [a&&b] a{1001} (?a)".split()
REFUSED += r"(?<1>a) {2} * { ( ) [ \x{110000} a{2}{3} a{,2} $a \R+ (?:^|a){2} [z-a] [\b] \c a{2,1}".split()


class Writer:
    """Writes random patterns: mostly sound, now and then with a refused construct or a slip of the pen."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, *choices: Sequence[str]) -> str:
        return self.random.choice(self.random.choice(choices))

    def maybe(self, chance: float, *choices: Sequence[str]) -> str:
        return self.one(*choices) if self.random.random() < chance else ""

    def character_class(self, depth: int = 0) -> str:
        members = ""
        for _ in range(self.random.randint(1, 3)):
            if depth < 2 and self.random.random() < 0.1:
                members += self.character_class(depth + 1)
            else:
                members += self.one(LITERALS, LITERALS, ESCAPES, SETS, SPANS)
        return f"[{self.maybe(0.3, '^')}{self.maybe(0.2, ']-')}{members}{self.maybe(0.1, '-')}]"

    def atom(self, depth: int) -> str:
        kind = self.random.random()
        if kind < 0.01:
            return self.one(REFUSED)
        if kind < 0.55:
            return self.one(LITERALS, LITERALS, LITERALS, ESCAPES, SETS, ".")
        if kind < 0.67:
            return self.character_class()
        if kind < 0.71:
            return self.one(["^", "$", r"\A", r"\z", r"\Z", r"\R"])
        if kind < 0.76:
            return self.one(FLAGS)
        return f"{self.one(OPENINGS)}{self.alternatives(depth + 1)})" if depth < 3 else "a"

    def alternatives(self, depth: int = 0) -> str:
        branches = []
        for _ in range(self.random.choice([1, 1, 1, 2, 2, 3])):
            atoms = [
                self.atom(depth) + self.maybe(0.3, QUANTIFIERS) + self.maybe(0.02, [" ", "#", "# c\n"])
                for _ in range(self.random.choice([0, 1, 1, 2, 2, 3, 4]))
            ]
            start = self.maybe(0.15, ["^", r"\A", "(?m)^"])
            end = self.maybe(0.25 if depth == 0 else 0.05, ["$", "$", r"\Z", "(?m)$", r"\z"])
            branches.append(start + "".join(atoms) + end)
        return "|".join(branches)

    def pattern(self) -> str:
        pattern = self.alternatives()
        for _ in range(self.random.choice([0, 0, 0, 0, 1, 2])):
            place = self.random.randint(0, len(pattern))
            slip = self.maybe(0.6, r"()[]{}|*+?^$\-.,ab0 #&:<>=dxims")
            pattern = pattern[:place] + slip + pattern[place + self.random.randint(0, 1) :]
        return pattern

    def text(self) -> str:
        letters = "aabbkKsS\n\n\r\r\x85\u2028 \x0b\u212a\u017f😀é0_-,"
        return "".join(self.random.choice(letters) for _ in range(self.random.randint(1, 8)))


# What random patterns must go on to cover, as a piece of text that shows it in accepted patterns.
COVERED = r"^ $ \Z \z \A (?m)^ (?m)$ (?i (?s (?d (?x [^ ] & \R \Q | \p{ \v \w \S *? {2} {3,} {0,2}".split()
COVERED += [")*", "){2,3}", "(?<n>", "😀", "\u212a", "\r", "\0"]


def has_boundary(pattern: str) -> bool:
    return r"\b" in pattern or r"\B" in pattern


def test_random_patterns_have_the_answers_of_java(spark: SparkSession) -> None:
    writer = Writer(20_240_229)
    texts = [*TEXTS[::2], *{writer.text() for _ in range(60)}]
    patterns = sorted({pattern for _ in range(4_000) if not has_boundary(pattern := writer.pattern())})
    accepted, reasons = [], Counter[str]()
    for pattern in patterns:
        try:
            translate(pattern)
            accepted.append(pattern)
        except PatternError as error:
            assert 0 <= error.position <= len(pattern)
            reasons[error.message] += 1
    sound = {pattern for pattern in patterns if java_accepts(spark, pattern)}
    assert [ascii(pattern) for pattern in accepted if pattern not in sound] == []
    assert differences(spark, accepted, texts) == []
    # The comparison is worth something only while most patterns, of all kinds, get that far.
    assert len(accepted) > 0.6 * len(sound) > 1_500, reasons.most_common(10)
    counts = {piece: sum(piece in pattern for pattern in accepted) for piece in COVERED}
    assert min(counts.values()) >= 10, counts


def test_categories_are_those_of_java_but_for_new_characters(spark: SparkSession) -> None:
    old = unicodedata.ucd_3_2_0
    texts = [chr(code) for code in range(0x20000) if old.category(chr(code)) == unicodedata.category(chr(code))]
    names = ["L", "Lu", "Ll", "Lt", "Lo", "M", "Mn", "N", "Nd", "P", "Pd", "S", "Sm", "Z", "Zs", "Cc", "Cf"]
    patterns = [f"\\p{{{name}}}" for name in names] + [r"\PL", r"[\p{IsLetter}\p{gc=Nd}]", r"\p{IsPunctuation}"]
    assert (
        differences(spark, patterns, [text for text in texts if unicodedata.category(text) not in "Cs Cn"]) == []
    )


def test_word_boundaries_are_those_of_java_in_ascii(spark: SparkSession) -> None:
    """Beyond ASCII, they depend on the version of Java."""
    patterns = [r"\b", r"\B", r"\ba", r"a\b", r"\Ba\B", r"\bab\b", r"a\b.", r"(?:\b|-)a$", r"\b\w+\b-\b\w+\b"]
    texts = ["", "a", "ab", "aab", " a ", "a-b", "-a", "ab a\n", "_a_", "a\r\n", "--", "0a b-ab"]
    assert differences(spark, patterns, texts) == []
    assert bound_differences(spark, patterns, texts) == []


def bound_differences(spark: SparkSession, patterns: Sequence[str], texts: Sequence[str]) -> list[str]:
    """In which matches, or last groups of them, Java and RE2 differ: of all matches, or the first ones."""
    from pyspark.sql import functions as F

    found = [(pattern, translate_captures(pattern)) for pattern in patterns]
    rows = [(pattern, each.groups, each.only_first) for pattern, each in found]
    names = [
        f"transform(texts, text -> IF(first, array(regexp_extract(text, pattern, {group})), "
        f"regexp_extract_all(text, pattern, {group})))"
        for group in ("0", "groups")
    ]
    frame = spark.createDataFrame(rows, "pattern string, groups int, first boolean")
    frame = frame.withColumn("texts", F.lit(list(texts)))
    lines = []
    for row in frame.selectExpr("pattern", "groups", "first", *names).collect():
        pattern, groups, first, *expected = row
        for group, answers in zip((0, groups), expected, strict=True):
            for text, java in zip(texts, answers, strict=True):
                mine = [FUNCTIONS["regexp_extract"], FUNCTIONS["regexp_extract_all"]][not first]
                one = mine.bind(Signature((), STRING))(text, pattern, group)
                if ([one] if first else one) != java:
                    lines.append(f"{pattern!a}, group {group}, on {text!a}: Java {java!a}, here {one!a}")
    return lines


def test_matches_and_groups_of_random_patterns_are_those_of_java(spark: SparkSession) -> None:
    writer = Writer(7)
    texts = [*TEXTS[::6], *sorted({writer.text() for _ in range(25)})]
    accepted = []
    for pattern in sorted({pattern for _ in range(1_500) if not has_boundary(pattern := writer.pattern())}):
        try:
            groups = translate_captures(pattern).groups
            found_by_pyarrow(translate_captures(pattern, frozenset({groups} - {0})).text, [""])
            accepted.append(pattern)
        except PatternError as error:
            assert 0 <= error.position <= len(pattern)
    assert len(accepted) > 400
    assert bound_differences(spark, accepted, texts) == []
