"""Conditions of CEL and events of which cel-go decided: those written here, and made-up ones."""

from __future__ import annotations

from random import Random
from typing import Any

EVENTS: list[dict[str, Any]] = [
    {
        "n": 5,
        "d": 2.5,
        "s": "abc",
        "t": True,
        "m": 5,
        "l": [1, 2, "x"],
        "o": {"k": 7, "s": "q"},
        "os": [{"k": 1}, {"k": 7}],
    },
    {"n": 0, "d": -0.5, "s": "", "t": False, "m": "5", "l": [], "o": {}, "os": []},
    {
        "n": -7,
        "d": 0.25,
        "s": "a\nb",
        "t": True,
        "m": True,
        "l": ["abc", ""],
        "o": {"k": "7"},
        "os": [{"j": 1}, {"k": 7}],
    },
    {
        "n": 9223372036854775807,
        "d": 1e300,
        "s": "Äb é",
        "t": False,
        "m": 5.0,
        "l": [5, 5.5],
        "o": {"k": 0},
        "os": [{"k": 0}],
    },
    {"s": "abcabc", "m": -1, "l": [True, 0], "o": {"k": True, "s": "abc"}, "os": [{"k": "x"}, {"k": 8}]},
    {"n": 3, "d": 3.0, "s": "5", "m": {"k": 5}, "l": [[1], {"k": 1}]},
    {"n": "5", "d": "x", "s": 5, "t": "true", "l": "abc", "o": "k", "os": 5},
    {},
]

CONDITIONS = r"""
n == 5 && s.startsWith('a')
n != '5'
m != 5
m == '5' || m == 5
m in [5, '5']
m in ['5', true]
!(m in ['x'])
'abc' in l
!(5 in l)
n in l
has(o.k) && !has(o.z)
!has(o.k)
has(m.k)
!has(zz.k)
!has(o.k.j)
has(os.k)
os.exists(x, x.k == 7)
os.all(x, x.k > 0)
!os.all(x, x.k > 0)
os.exists(x, x.k > 7 || has(x.j))
os.filter(x, has(x.k) && x.k == 7).size() == 1
os.map(x, x.k)[0] == 1
l.map(x, x) == l
l.exists(x, x == 'x' || x > 4)
l.exists(x, l.exists(y, y == x && x == 5))
size(l) == 2
size(s) == 4
s.size() == 3
size(o) == 2
m.size() == 1
n / 2 == 2
n / 2 == -3
-n / 2 == 3
n % 2 == 1
n % 2 == -1
n % 0 == 0
n / 0 == 0 || true
d / 0.0 > 1.0
d / 0.0 == d / 0.0
n + 1 > 0
n - 10 < 0
n * 2 == 10
-n == 7
d * 2.0 == 5.0
d == 3
n == 3.0
n < 5.5
d < 3
n > 9223372036854775806.0
n == 9223372036854775807u
s + 'x' == 'abcx'
s < 'b'
s >= ''
t == true
!t
t || n == 3
t && n == 3
t ? n == 5 : n == 0
(t ? n : d) == 5
t < true
t == false
s.contains('bc') && s.endsWith('abc')
s.matches('^a.*c$')
s.matches('b$')
s.matches('a.b')
s.matches('^[^x]*$')
s.matches('(?i)ABC')
s.matches('\\bb')
s.matches('é')
s.matches('a{2,3}|[0-9]')
s.matches('a\\sb')
s.matches('\\d')
s.matches('(?s)a.b')
s.matches('(?m)^b$')
s.matches('[a\\]]+b')
s.matches('')
l[0] == 1
l[0] == 'abc'
l[9] == 1
!(l[9] == 1)
o['k'] == 7
o.k == '7'
s == "ab" + "c"
s == 'a\nb'
s == r'a\nb'
'Ä' + 'b é' == s
"\u00c4b \xe9" == s
null == null
m == [5]
n > 0 ? true : d > 0.0
1 < 2
'a' in ['a']
l == []
[5, 5.5] == l
(n > 3) == t
(n > 3) != t
n == n
l == l
o == o
zz == zz
s == n
n > m
m >= 5
true || zz
zz || true
false && zz
zz && false
!(zz && false)
zz == 1 || n == 5
n == 5 || zz == 1
"""


def conditions() -> list[str]:
    return [line for line in CONDITIONS.splitlines() if line]


def random_condition(random: Random, depth: int = 2, variables: tuple[str, ...] = ()) -> str:
    """A condition in the part of CEL that tamis has, without arithmetic of int with double."""
    if depth and random.random() < 0.6:
        inner = [random_condition(random, depth - 1, variables) for _ in range(3)]
        shape = random.choice(
            ["({0} && {1})", "({0} || {1})", "!({0})", "({0} ? {1} : {2})", "({0} || {1} && {2})"]
        )
        if "?" not in inner[0] or "?" not in shape:
            return shape.format(*inner)
    paths = [*"ndstmlo", "o.k", "o.s", "os", "m.k", "zz", *variables, *(f"{each}.k" for each in variables)]
    path = random.choice(paths)
    kind = random.randrange(10)
    if kind == 0:
        return f"has({random.choice(['o.k', 'o.s', 'm.k', 'o.z', *(f'{each}.k' for each in variables)])})"
    if kind == 1:
        return f"{path} in [{', '.join(random.choices(LITERALS, k=random.randint(1, 3)))}]"
    if kind == 2:
        return f"{random.choice(LITERALS)} in {random.choice(['l', 'm', 'os', 's'])}"
    if kind == 3 and len(variables) < 2:
        name = f"x{len(variables)}"
        macro = random.choice(["exists", "all"])
        body = random_condition(random, max(depth - 1, 0), (*variables, name))
        return f"{random.choice(['l', 'os', 'n', 'zz'])}.{macro}({name}, {body})"
    if kind == 4:
        text = random.choice(["s", "o.s", "m", path])
        return f"{text}.{random.choice(['startsWith', 'endsWith', 'contains'])}({random.choice(TEXTS)})"
    if kind == 5:
        return f"{random.choice(['s', path])}.matches({random.choice(PATTERNS)})"
    sign = random.choice(["==", "!=", "<", "<=", ">", ">="])
    if kind == 6:
        whole = random.choice(
            ["n + {}", "n - {}", "n * {}", "n / {}", "n % {}", "-n - {}", "size(l) + {}", "s.size() * {}"]
        )
        return f"{whole.format(random.randint(-2, 3))} {sign} {random.choice(['n', '5', '0', '2.5', 'd', 'm'])}"
    if kind == 7:
        real = random.choice(["d + {}", "d - {}", "d * {}", "d / {}", "-d - {}"])
        number = random.choice(["0.5", "2.0", "0.0", "-1.5"])
        return f"{real.format(number)} {sign} {random.choice(['n', '5', 'd', 'm'])}"
    if kind == 8:
        return f"{path} {sign} {random.choice(paths)}"
    return f"{path} {sign} {random.choice(LITERALS)}"


TEXTS = ["'a'", "'c'", "''", "'abc'", "'5'", "'q'", "'é'"]
LITERALS = [*TEXTS, "5", "0", "-7", "7", "2.5", "3.0", "5.0", "true", "false", "1"]
PATTERNS = ["'^a'", "'c$'", "'b'", "'^$'", "'a.b'", "'[b-d]{2}'", "'^(abc)+$'", "'(?i)B'"]
