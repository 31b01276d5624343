"""`translate` without Java: what is written, what is refused and where, and that RE2's front ends agree.

The corpus and the texts are also those of `test_regex_java`, which compares the answers with Java's.
"""

from __future__ import annotations

import itertools
import string
import sys
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import PatternError
from tamis.syntax import regex_tree
from tamis.syntax.regex import translate

# Texts made for the differences: terminators at the end, in the middle and doubled, white space that only one
# side knows, third cases of letters, astral characters, marks, and each sign that a pattern may ask for.
TEXTS = (
    *["", "a", "b", "c", "x", "ab", "ba", "abc", "aab", "abab", "aaa", "aaaa", "bb", "ac", "foo", "bar"],
    *["xay", "\n", "\r", "\r\n", "\n\r", "\n\n", "\r\r", "\r\n\r\n", "\r\n\n", "\r\r\n", "\x85", "\u2028"],
    *["\u2029", "a\n", "a\r", "a\r\n", "a\x85", "a\u2028", "a\u2029", "a\x0b", "a\f", "a\n\n", "a\n\r"],
    *["a\r\r", "a\r\n\n", "a\r\n\r\n", "a\n\u2028", "a\r\n\x85", "a \r\n", "a b\n", "foo\n", "foo\r\n"],
    *["foo \r\n", "foo\nbar", "\na", "\ra", "\r\na", "\x85a", "\u2028a", "b\na", "b\ra", "b\r\na"],
    *["b\u2029a", "b\x0ba", "a\r\nb\r\na", "a\nb", "a\rb", "a\r\nb", "a\x85b", "a\u2028b", "a\n\nb"],
    *["a\r\r\nb", "a\r\n\r\nb", "a\0b", "\0", " ", "\t", "\x0b", "\f", "\x1c", "\xa0", "\u1680", "\u180e"],
    *["\u2003", "\u200b", "\u3000", "\ufeff", "a b", "k", "K", "\u212a", "s", "S", "\u017f", "ks"],
    *["\u212a\u017f", "x\u212a", "i", "I", "\u0131", "\u0130", "A", "B", "Z", "z", "AB", "aB", "FOO", "é"],
    *["É", "e\u0301", "\u0301", "ß", "ẞ", "Ω", "ω", "σς", "ǅ", "日本", "0", "7", "9", "12", "a1", "1a", "٣"],
    *["\uff15", "_", "a_", "²", "Ⅷ"],
    *list("!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"),
    *["\x01", "\x07", "\x1a", "\x1b", "\x1f", "\x7f", "\x80", "\xff", "\ud7ff", "\ue000", "\uffff", "😀"],
    *["a😀", "😀a", "😀😀", "😀😁", "😀\n", "😀\r\n", "a😀b", "\U00010000", "\U0010ffff"],
    *["\U0001d49c", "a^b", "a{2}", "a-z"],
    *["a.b", "axb", "a]", "[a", "a&b", "a b # c", "ab\r\nab", "aé\r", "\r\nk", "a,b", ",a,", "x=1;y=2"],
    *["a@b.com"],
)

# Patterns by what may go wrong with them. All of them are translated.
CORPUS = (
    # Literals and escapes.
    *["", "a", "ab", "abc", "😀", "é", "日本", "\0", "\n", "\r", "\x85", " ", "a b", "}", "]", "a}", "a]"],
    *["]a", "-", "&", "#", "~", "!", "%", ",", ":", "=", "<", ">", "@", "`", "'", '"', ";", "_", "/", "a-z"],
    *["foo|bar", r"\t", r"\n", r"\r", r"\f", r"\a", r"\e", r"\07", r"\012", r"\0101", r"\0377", r"\0400"],
    *[r"\018", r"\x41", r"\x6b", r"\x0a", r"\x{41}", r"\x{1F600}", r"\x{00000061}", r"\x{10FFFF}", r"\x{0}"],
    *[r"\x{d7ff}", r"\u0061", r"\u000A", r"\u2028", r"\uD83D\uDE00", r"\ud83d\ude01", r"a\u212a", r"\cA"],
    *[r"\cJ", r"\cM", r"\c?", r"\ca", r"\c[", r"\.", r"\\", r"\[", r"\]", r"\(", r"\)", r"\{", r"\}", r"\^"],
    *[r"\$", r"\|", r"\*", r"\+", r"\?", r"\-", r"\&", r"\#", r"\ ", r"\/", r"\_", r"\<", r"\é", r"\😀"],
    *["\\\n", r"a\.b", r"a\\b", r"\Qa.b\E", r"\Q\E", r"\Qa", r"\Q", r"a\Q", r"\Qa\\E", r"\Q5\E", r"\Q12\E"],
    *[r"\Q^$\E", r"\Qab\E+", r"\Q]\E", r"\Qa b\E", r"x\Q\E{1}", r"[\Q^\E]", r"[\Qa-z\E]", r"\x4\Qa\E"],
    *[r"\Q[a]\E", r"\Q\\E", r"(?i)\QfOo\E", r"\Q😀\E+"],
    # Dots and predefined classes.
    *[".", "..", "a.", ".a", "a.b", "(?s).", "(?s)a.b", "(?d).", "(?d)a.b", "(?s:a.)b", "(?s)a(?-s:.)b"],
    *["(?sd).", r"\d", r"\D", r"\s", r"\S", r"\w", r"\W", r"\h", r"\H", r"\v", r"\V", r"a\sb", r"a\Sb"],
    *[r"\w+", r"^\w+$", r"[\d]", r"[^\d]", r"[\D]", r"[^\D]", r"[\s\S]", r"[^\s\S]", r"[\w-]", r"[\w.]"],
    *[r"[^\w]", r"[^\W]", r"[\h\v]"],
    *[rf"\p{{{name}}}" for name in regex_tree.POSIX],
    *[rf"\P{{{name}}}" for name in regex_tree.POSIX],
    *[r"[\p{Alpha}_]", r"[^\p{Alpha}]", r"[^\P{Alpha}]", r"(?i)\p{Alpha}", r"(?i)[\p{Digit}k]"],
    *[r"\p{Upper}\p{Lower}+", r"\R", r"a\R", r"a\Rb", r"^\R", r"a\R$", r"\R\n", r"a|\R", r"(\R)", r"a\R\Rb"],
    *[r"\R\R", r"^\R$", r"a\r\R"],
    # Classes.
    *["[a]", "[ab]", "[a-c]", "[^a]", "[^a-c]", "[abc-]", "[-a]", "[a-]", "[a-c-z]", "[]a]", "[]]", "[^]a]"],
    *["[^]]", "[]-a]", "[a^]", "[^^]", "[^^a]", "[a[b]]", "[[a]b]", "[a[^b]]", "[^a[b]]", "[[^a][^b]]"],
    *["[^[^a]]", "[[]a]]", "[a-c[x-z]]", "[a-[b]]", "[[a]-z]", "[--0]", "[+--]", "[!-&]", "[&]", "[a&]"],
    *["[&a]", "[&-a]", "[a&b&c]", "[#]", "[ ]", "[.]", "[$]", "[|]", "[*+?]", "[(]", "[)]", "[{}]"],
    *["[\\\\]", r"[\]]", r"[\[]", r"[\-a]", r"[a\-z]", "[\n]", r"[\^a]", r"[^\^]", r"[\n\r]"],
    *[r"[\x41-\x5a]", r"[\u0061-\u0063]", r"[\0101]", r"[\t-\r]", r"[\d-z]", r"[a-z\d]", r"[\v-]"],
    *[r"[\v-a]", r"[\t-\v]", r"[\va]", r"[-\v]", r"[😀]", r"[^😀]", r"[😀-😁]"],
    *[r"[\uD83D\uDE00-\uD83D\uDE01]"],
    *[r"[\x{1F600}a]", r"[a-\x{10FFFF}]", r"[\x00-\x{10FFFF}]", r"[^\x00-\x{10FFFF}]"],
    *[r"[\x{D7FF}-\x{E000}]", "[é-Ω]", "[^\n]", r"[^\r]", r"[^\n\r\x{85}\x{2028}\x{2029}]", "[ab][cd]?"],
    *["[a-c]{2}", "[^a]+", "x[^,]*y", "[ -~]", "[Z-a]"],
    # Case.
    *["(?i)a", "(?i)AB", "(?i)k", "(?i)K", "(?i)s", "(?i)ks", "(?i)i", "(?i)é", "(?i)É", "(?i)ß"],
    *["(?i)\u212a", "(?i)Ω", "(?i)[k]", "(?i)[ks]", "(?i)[a-z]", "(?i)[^a-z]", "(?i)[^k]", "(?i)[J-L]"],
    *["(?i)[^J-L]", "(?i)[Z-a]", "(?i)[@-`]", "(?i)[\u212a]", "(?i)[é]", "(?i)[i]", "(?i)[[k]s]"],
    *["(?i)[^[^k]]", "a|(?i)k", "S|(?i)k", "(?i)k|s", "(?i)k|s|x", "(?i)a|s|k|b", "(?i:k)", "(?i:k)s"],
    *["k(?i:s)", "(?i)k(?-i)s", "(?i)k(?-i:s)k", "x(?i)k|s", "(x(?i)k|s)k", "(?i)k*x", "((?i)a|b)B"],
    *["(?i)(a|b)\\x4b", "(?i)\\u006b", "(?i)\\cA", "(?i)[\\x61-\\x6b]", "(?i-i)k", "(?i)\\Qk\\E"],
    *["(?i:[ks]|x)"],
    # Groups and flags.
    *["()", "(a)", "(?:a)", "(?<n>a)", "(?<n1>a)(?<n2>b)", "(a)(b)", "((a))", "(a|b)", "(|a)", "(a|)", "|"],
    *["a|", "|a", "a||b", "(a|b|c)x?", "(?)a", "(?-)a", "(?i-)A", "(?im-sdx)a", "(?s-s).", "(?ii)A"],
    *["(?x)a b", "(?x) a # c\nb", "(?x)a\\ b", "(?x)a\\#b", "(?x:a b)c", "(?x)a b(?-x) c", "(?x)a {2}"],
    *["(?x)a + ?", "(?x)( a | b )", "(?x)[a]  [b]", "(?x)#only", "(?x)a#c\u2028b", "(?xd)a#c\rd\nb"],
    *["(?x)a#\x85", "(?x)\\Qa b\\E", "(?x) ^ a $ ", "(?x)\\x61 b", "(?x)"],
    # Quantifiers.
    *["a?", "a*", "a+", "a??", "a*?", "a+?", "ba?", "ba*", "ba+", "a{0}", "a{1}", "a{2}", "a{2,}", "a{2,3}"],
    *["a{02}", "a{0,1}", "a{0,}", "a{1,}?", "a{2}?", "a{2,3}?", "^a{2}$", "^a{2,3}$", "xa{0}y", "^(ab)*$"],
    *["^(ab)+$", "^(a|b)*$", "(ab){2}", "(a|b){2}", "(a|b){3,}?", "(a*)*", "(a*)+", "(a+)+b", "(a|aa)+$"],
    *["(a?){3}", "^(a?){3}$", "(|a){2}b", "()*", "(){3}", "(?:)*a", "^*a", "^+a", "^?a", "$*", "a$?", "a$+"],
    *[r"\z*", r"a\z+", "(^)*a", "(^a)*b", "(^|a)+b", "(^|a)*b", "(a|$)", "(?:^a|b)+c", "(a{2}){2}"],
    *["^(a{1,2}){2}$", "(a{0,2}b?){2}", "((a|b)*c|x)*", "😀+", "[😀a]{2}", "^.{2}$", "^(.){2}$"],
    *["^(?:a|😀){2}$", "a{1000}", "(?:a{10}){100}", "[ab]{0,9}c", "(a.?){2}$", ".{0,3}b", r"\Qab\E{2}"],
    # Anchors of the text and of its last line.
    *["^", "$", "^$", "^a", "a$", "^a$", r"\A", r"\z", r"\Z", r"\Aa", r"a\z", r"a\Z", r"\A\z", r"\A\Z"],
    *["^a|b", "a|b$", "^a|b$", "^(a|b)$", "(^a)", "(a$)", "(^|x)a", "(^|,)a(,|$)", "a($|b)", "a(b|$)"],
    *["a(b$)?", "x?$", "^x?$", "a*$", "a^", "a^b", "(a|^)b", r"a\Ab", r"\za", r"(\z|a)b", "^^a", r"\A^a"],
    *[r"a\z\z", "^a.*", ".*a$", "(?s).*a$", "(?s)^.*$", r"\r$", r"\n$", r"\r\n$", r"\s$", r"\s*$", r"\s+$"],
    *[r"a\s*$", r"a\s?$", r"a\s$", r"a\s{1,2}$", r"\W$", r"a\W$", r"a[^b]$", r"a[^b]{2}$", r"a[^b]*$"],
    *[r"a[^\n]*$", r"a[^\n]?$", r"a\r?$", r"a\r*$", r"a\r+$", r"a(\r|b)$", r"a(\r|)$", r"a(b|\W)?$"],
    *[r"a(\W|\r)*$", r"a(?:\r?\n)?$", r"(?s)a.$", r"(?s)a.?$", r"(?s).$", ".$", "^.$", "^.*$", "^.+$"],
    *[r"\R$", r"b\R$", r"\v$", r"a\V$", r"[^\r]$", r"[\r]$", r"[\ra]$", r"a\r\Z", r"\S+\Z", r"(?:a|\r)\Z"],
    *[r"[ab]\x{2028}$", r"\x85$", "(?d)a$", r"(?d)a\Z", r"(?d)a\r$", "(?d)^a$", "(?d)$", r"(?d)\s$"],
    *["(?d:a$)|b$", "(?d).$", "foo(?: bar)?$", "^foo$"],
    # Anchors of lines.
    *["(?m)^", "(?m)$", "(?m)^$", "(?m)^a", "(?m)a$", "(?m)^a$", "(?m)^b|a$", "(?m)(^a)", "(?m)(a$)"],
    *["(?m)(^|x)a", "(?m)^.$", r"(?m)^\n", r"(?m)^\r", r"(?m)^\s", r"(?m)^\S", r"(?m)^\s*a", r"(?m)^\n?a"],
    *[r"(?m)^[^a]", r"(?m)^(\n|a)", r"(?m)^\W$", r"(?m)\r$", r"(?m)\n$", r"(?m)\s$", r"(?m)\s*$"],
    *[r"(?m)a\s*$", r"(?m)a\s+$", r"(?m)a[^b]$", r"(?m)^\r$", r"(?m)^a?$", r"(?m)^a*$", r"(?m)^\s*$"],
    *[r"(?m)^.*$", r"(?m)^.+$", r"(?m)a\Z", r"(?m)^\z", r"(?m)^\Z", r"(?m)^a\z", r"(?m)\Aa$", "(?m)"],
    *["(?m)^(a|b)?$", "(?ms)^.$", "(?ms)^a.b$", "(?ms).^*a", "(?m)(^b)?a", "(?m)x|^a|b$", "(?m:^a)|^b"],
    *["(?m:^)a$", "(?m)^a(b$)?", "(?dm)^a", "(?dm)a$", "(?dm)^$", "(?dm)a$\nb", "(?dm)^a?", r"(?dm)\r$"],
    *[r"(?dm)^\n", "(?dm)^", "(?dm)$", "(?dm)(a$|b)c?"],
    # What people write.
    *[r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$", r"^\d{4}-\d{2}-\d{2}$"],
    *[r"^(?:\d{1,3}\.){3}\d{1,3}$", "^[^@]+@", r"(?i)^(error|warn(ing)?):", r"^\s*$", r"^\s+|\s+$"],
    *[r"(x|y)=(\d+);?", r"[^\x20-\x7E]", "^$|^a"],
)

GOLDEN = (
    ("a.b", r"a[^\n\r\x{85}\x{2028}\x{2029}]b"),
    (r"a\.b", r"a\.b"),
    ("(?s)a.b", "a(?s:.)b"),
    (r"\d+(?:\s|x)", r"[0-9]+(?:[\t-\r\x{20}]|x)"),
    ("^foo$", r"\Afoo(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"),
    ("(foo|bar)?baz{2,}?", "(?:foo|bar)?baz{2,}"),
    (r"a\s*$", r"a[\t-\r\x{20}]*(?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z"),
    (
        r"a\W$",
        r"a(?:[^\r0-9A-Z_a-z](?:\r\n|[\n\r\x{85}\x{2028}\x{2029}])?\z|"
        r"\r(?:\r\n|[\r\x{85}\x{2028}\x{2029}])?\z)",
    ),
    ("(?m)^a", r"(?:\A|[\n\r\x{85}\x{2028}\x{2029}])a"),
    ("(?m)a$", r"a(?:\z|[\n\r\x{85}\x{2028}\x{2029}])"),
    ("(?dm)a$", "a(?m:$)"),
    ("(?i)bk[a-c]é", r"[Bb](?:K|k)[A-Ca-c]\x{E9}"),
    ("(?i)[^k]|s", "[^Kk]|(?:S|s)"),
    ("[^a[b]]", "[^ab]"),
    ("[]a-]", r"[\-\]a]"),
    (r"[^\s\S]", r"[^\x{0}-\x{10FFFF}]"),
    (r"x|[^\s\S]", "x"),
    (r"\Qa*\E+", r"a\*+"),
    (r"\uD83D\uDE00\cA\00", r"\x{1F600}\x{1}\x{0}"),
    (r"\R", r"\r\n|[\n-\r\x{85}\x{2028}\x{2029}]"),
    ("(?x) a b # c\n c", "abc"),
    ("(^|a)*b{0}", r"(?:\A|a)*"),
    ("a||b", "a||b"),
    ("", ""),
)

# What Java refuses too: the pattern, the offset, and what the message says.
MALFORMED = (
    (r"[\b]", 1, r"`\b`"),
    ("*a", 0, "`*` has nothing to repeat"),
    ("a|*", 2, "`*` has nothing to repeat"),
    ("a**", 2, "`*` has nothing to repeat"),
    ("(?i)+", 4, "`+` has nothing to repeat"),
    ("a{", 1, "expected {n}"),
    ("a{,3}", 1, "expected {n}"),
    ("a{2", 1, "expected {n}"),
    ("(?x)a{ 2}", 5, "expected {n}"),
    ("a{x}", 1, "expected {n}"),
    ("a{3,2}", 1, "second count"),
    ("a{99999999999999999999}", 1, "beyond 1000"),
    ("(", 0, "not closed"),
    ("a(b(c)", 1, "not closed"),
    ("a)", 1, "closes no group"),
    ("(?<1>a)", 2, "name"),
    ("(?<n", 2, "name"),
    ("(?<n>a)(?<n>b)", 9, "two groups"),
    ("(?P<n>a)", 0, "no group that Java knows"),
    ("(?#a)", 0, "no group that Java knows"),
    ("(?i", 0, "no group that Java knows"),
    ("(?", 0, "no group that Java knows"),
    ("(?--i)", 0, "no group that Java knows"),
    ("(?q)", 2, "`q` is no flag"),
    (r"a\q", 1, r"`\q` is no escape"),
    (r"a\E", 1, r"`\E` is no escape"),
    ("a\\", 1, "`\\` is no escape"),
    (r"[\R]", 1, r"`\R` is no escape"),
    (r"[\A]", 1, r"`\A` is no escape"),
    (r"\08", 0, "octal"),
    (r"\xg1", 0, "hexadecimal"),
    (r"\x{110000}", 0, "not the code of a character"),
    (r"\x{}", 0, "hexadecimal"),
    (r"\u12", 0, "hexadecimal"),
    (r"\c", 0, r"after `\c`"),
    (r"\p{alpha}", 0, "ASCII classes"),
    (r"\p{Alpha", 0, "ASCII classes"),
    (r"\p", 0, "ASCII classes"),
    ("[a", 0, "not closed"),
    ("x[]", 1, "not closed"),
    ("[^]", 0, "not closed"),
    ("[a[b]", 0, "not closed"),
    ("[a-", 3, "not closed"),
    ("[z-a]", 1, "no characters"),
    ("[a--]", 1, "no characters"),
    (r"[a-\d]", 1, "no characters"),
    (r"[a-\p{Alpha}]", 1, "no characters"),
    ("(?x)[a- ]", 7, "must be escaped"),
    ("(?x)[#]", 5, "must be escaped"),
    (r"\Qa.b\E\q", 7, r"`\q` is no escape"),
)

# What Java understands, and we do not translate.
UNSUPPORTED = (
    ("a*+", 2, "possessive"),
    ("a{2}+b", 4, "possessive"),
    ("a{2}{3}", 4, "`{` has nothing to repeat"),
    ("{2}", 0, "`{` has nothing to repeat"),
    ("ba{1001}", 2, "beyond 1000"),
    ("a{0,1001}", 1, "beyond 1000"),
    ("(a{40}){40}", 7, "beyond 1000"),
    ("((a{10}b){10,}){11}", 15, "beyond 1000"),
    ("(?:^|a){2}", 7, "at an anchor"),
    (r"x(?:a*\z){2,}", 9, "at an anchor"),
    ("a(?=b)", 1, "look-ahead"),
    ("a(?!b)", 1, "look-ahead"),
    ("(?<=a)b", 0, "look-behind"),
    ("(?<!a)b", 0, "look-behind"),
    ("(?>a)", 0, "atomic"),
    ("(?c)", 2, "`c` is no flag"),
    ("(?iu)", 3, "flag `u`"),
    ("(?i-U:a)", 4, "flag `U`"),
    ("(?x)( ?:a)", 6, "one sign"),
    (r"(a)\1", 3, "back-reference"),
    (r"(?<n>a)\k<n>", 7, "back-reference"),
    (r"\b{g}", 2, "expected {n}"),
    (r"\Ga", 0, r"`\G`"),
    (r"\X", 0, r"`\X`"),
    (r"a\N{DIGIT ONE}", 1, r"`\N`"),
    (r"(?x)\01 2", 4, "past white space"),
    (r"a\uD83D", 1, "D83D is not"),
    (r"\uD83Dx", 0, "D83D is not"),
    (r"\uDE00\uD83D", 0, "DE00 is not"),
    (r"[\x{DFFF}]", 1, "DFFF is not"),
    (r"\p{Cn}", 0, "ASCII classes"),
    (r"(?i)\p{Lu}", 4, "with (?i)"),
    (r"a\p{IsLatin}", 1, "ASCII classes"),
    (r"\p{InGreek}", 0, "ASCII classes"),
    (r"\p{javaLowerCase}", 0, "ASCII classes"),
    (r"(?i)\p{Lower}", 4, "with (?i)"),
    (r"(?i)[^\P{Upper}]", 6, "with (?i)"),
    ("[a&&b]", 2, "`&&`"),
    ("[a[b&&c]]", 4, "`&&`"),
    ("(?x)[a b]", 6, "must be escaped"),
    (r"a\R+", 1, r"`\R`"),
    (r"(a\Rb)*", 2, r"`\R`"),
    ("a$b", 1, "only as the last"),
    ("a$$", 1, "only as the last"),
    ("(a$)*", 2, "only as the last"),
    ("(a$|b)c", 2, "only as the last"),
    (r"a\Zb", 1, "only as the last"),
    ("(?m)a^", 5, "only as the first"),
    ("(?m)(^a)*", 5, "only as the first"),
    ("(?m)a?^b", 6, "only as the first"),
    (r"\Qab\E(?=c)", 6, "look-ahead"),
)


def found_by_pyarrow(translated: str, texts: Sequence[str]) -> list[bool]:
    """Which of the texts the pattern is found in, as the product asks."""
    found: list[bool] = pc.match_substring_regex(pa.array(texts, pa.string()), pattern=translated).to_pylist()
    return found


def found_by_re2(translated: str, texts: Sequence[str]) -> list[bool]:
    pattern = re2.compile(translated)
    return [pattern.search(text) is not None for text in texts]


@pytest.mark.parametrize(("pattern", "expected"), GOLDEN)
def test_translation_is_readable(pattern: str, expected: str) -> None:
    assert translate(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "position", "message"), [*MALFORMED, *UNSUPPORTED, ("a\ud83d", 1, "surrogate")]
)
def test_refusal_says_what_and_where(pattern: str, position: int, message: str) -> None:
    with pytest.raises(PatternError) as caught:
        translate(pattern)
    assert message in caught.value.message
    assert caught.value.position == position


def test_corpus_is_large_and_without_doubles() -> None:
    assert len(set(CORPUS)) == len(CORPUS) >= 300
    assert len(set(TEXTS)) == len(TEXTS)


@pytest.mark.parametrize("pattern", CORPUS)
def test_front_ends_agree(pattern: str) -> None:
    translated = translate(pattern)
    assert translated.isascii()
    assert found_by_pyarrow(translated, TEXTS) == found_by_re2(translated, TEXTS)


# Java's answers to the questions that are easiest to get wrong, for those who have no Java.
@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        ("a$", ["a", "a\n", "a\r", "a\r\n", "a\x85", "a\u2028", "ba"], ["a\n\n", "a\n\r", "a\x0b", "ab"]),
        (r"\r$", ["\r", "\r\r", "\r\r\n"], ["\r\n", "a\r\n"]),
        (r"a\s$", ["a\n", "a ", "a \r\n", "a\r", "a\r\r\n"], ["a\r\n", "a"]),
        (r"a\s+$", ["a\r\n", "a\n\n"], ["a", "ab\n"]),
        ("(?m)^a", ["a", "b\na", "b\r\na", "b\u2028a"], ["ba", "b\x0ba"]),
        ("(?m)^$", ["\n", "a\n\n", "a\r\r", "\r\n"], ["", "a", "a\n", "a\r\n", "a\r\nb"]),
        ("(?m)^", ["a", "\n"], [""]),
        (r"(?m)^\n", ["\n", "\n\n", "\x85\n"], ["a\n", "a\r\n", "\r\n"]),
        (r"(?m)\r$", ["\ra\r"], ["\r\n", "\ra"]),
        ("(?i)k", ["k", "K"], ["\u212a"]),
        ("(?i)x|s", ["s", "S", "x"], ["\u017f"]),
        ("(?i)[^k]", ["\u212a", "x"], ["k", "K", "kK"]),
        (".", ["a", "\x0b", "\0", "😀"], ["\n", "\r", "\x85", "\u2028", "\u2029"]),
        (r"\s", ["\x0b", " "], ["\xa0", "\x85", "\u2028"]),
        (r"\w", ["_", "9"], ["é", "٣"]),
        (r"\h", ["\xa0", "\u180e", "\t"], ["\n", "\u200b"]),
        ("^.$", ["😀", "😀\n"], ["e\u0301"]),
        ("[^a[b]]", ["c"], ["a", "b"]),
        ("a|(?i)b|c", ["a", "B", "C"], ["A"]),
        ("(?i:a)b", ["ab", "Ab"], ["aB", "AB"]),
        ("(x|(?i)a|b)c", ["xc", "Ac", "Bc"], ["Xc", "ca", "aC"]),
        (r"(?m)a\s+$", ["a \nb", "a\n", "a\r\n"], ["a\r\nb", "a\nb", "a"]),
        (r"(?m)a\s*$", ["a\r\nb", "a\nb"], ["ab", "a b"]),
        (r"^(\r|b){2,3}$", ["\r\r", "b\r\r\n", "bb\r\n", "\r\r\r"], ["\r", "\r\n", "bb\n\n"]),
        ("(^|a)+b", ["b", "ab", "aab"], ["xb"]),
    ],
)
def test_answers_are_those_of_java(pattern: str, found: list[str], not_found: list[str]) -> None:
    answers = found_by_pyarrow(translate(pattern), [*found, *not_found])
    assert answers == [True] * len(found) + [False] * len(not_found)


SIGNS = r"()[]{}|*+?^$\.-&,:<>=!#" + "abkKsdDQEpxmisuAzZRvc0129 \n\r\u2028é😀"


@given(st.text(st.sampled_from(SIGNS), max_size=25))
def test_whatever_is_written_is_translated_or_refused_at_a_place(pattern: str) -> None:
    try:
        translated = translate(pattern)
    except PatternError as error:
        assert 0 <= error.position <= len(pattern)
    else:
        texts = ["", "a", "a\r\n", "k\u212a", pattern]
        assert found_by_pyarrow(translated, texts) == found_by_re2(translated, texts)


@pytest.mark.parametrize("letter", string.ascii_letters)
def test_case_folds_within_ascii(letter: str) -> None:
    texts = [chr(code) for code in itertools.chain(range(0xD800), range(0xE000, 0x10000))]
    found = found_by_pyarrow(translate(f"é|(?i){letter}"), texts)
    hits = {text for text, hit in zip(texts, found, strict=True) if hit}
    assert hits == {"é", letter.lower(), letter.upper()}


def test_length_is_bounded() -> None:
    assert translate("a" * 1_000) == "a" * 1_000
    with pytest.raises(PatternError, match="has 1001 characters, and 1000 are allowed") as caught:
        translate("a" * 1_001)
    assert caught.value.position == 1_000
    assert translate("abc", max_length=3) == "abc"
    assert translate(f"a{{{'0' * 9_000}2}}", max_length=10_000) == "a{2}"
    with pytest.raises(PatternError, match="beyond 1000"):
        translate(f"a{{{'9' * 9_000}}}", max_length=10_000)


@pytest.mark.parametrize("sign", ["(", "(?:", "(?i:", "(?<n>", "[", "[^"])
def test_nesting_is_bounded_not_the_stack(sign: str) -> None:
    with pytest.raises(PatternError, match=r"nesting goes beyond 100|two groups") as caught:
        translate(sign * 100_000, max_length=10**6)
    assert caught.value.position <= 100 * len(sign)


def test_the_deepest_pattern_leaves_stack_to_its_caller() -> None:
    frame, used = sys._getframe(), 0
    while frame.f_back is not None:
        frame, used = frame.f_back, used + 1
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(used + 400)
    try:
        assert translate("(?:x" * 100 + "a" + "|b)*" * 100)
        assert translate("(?:x" * 100 + r"\W$" + "|b)?" * 100, max_length=1_100)
        assert translate("[" * 100 + "a" + "]" * 100) == "a"
        with pytest.raises(PatternError, match="instructions"):
            translate("(?:" * 100 + r"\W?a?" + r"\W?)*" * 100 + "$")
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("pattern", "position"),
    [(".{1000}", 1), ("a(?:.{100}){3}", 11), (r"\W?" * 50 + "$", 0), ("|".join([r"a\W$"] * 200), 0)],
    ids=["one count", "nested counts", "rewriting", "alternatives"],
)
def test_the_size_of_the_program_is_bounded(pattern: str, position: int) -> None:
    with pytest.raises(PatternError, match="instructions, and 10000 are allowed") as caught:
        translate(pattern)
    assert caught.value.position == position
    assert translate(pattern, max_program=1_000_000)


@pytest.mark.parametrize("pattern", [".{1,255}", "a{1000}", "(?:a{10}){100}", "[^é]{300}x", "(a{0,9}){99,}"])
def test_the_largest_programs_run(pattern: str) -> None:
    translated = translate(pattern)
    texts = ["a" * 5_000, "b\n" * 2_000, "é" * 1_000 + "x" * 301]
    assert found_by_pyarrow(translated, texts) == found_by_re2(translated, texts)
    # The estimate is above what RE2 makes of it.
    assert re2.compile(translated).programsize < 10_000


@pytest.mark.parametrize("pattern", ["(a|aa)+b", "(a*)*b", "(a+)+$", "(.*)(.*)(.*)(.*)b", "(a?){30}a{30}b"])
def test_time_is_linear(pattern: str) -> None:
    text = "a" * 100_000 + "c"
    assert found_by_pyarrow(translate(pattern), [text]) == [False]
