"""Percolator queries and documents of which OpenSearch decided: those written here, and made-up ones."""

from __future__ import annotations

import json
from random import Random
from typing import Any

FIELDS = {"k": "keyword", "n": "long", "d": "double", "b": "boolean", "t": "text", "w": "date", "g": "geo_point"}
MAPPING: dict[str, Any] = {
    "dynamic": False,
    "properties": {
        "query": {"type": "percolator"},
        **{name: {"type": kind} for name, kind in FIELDS.items()},
        "o": {"properties": {"k": {"type": "keyword"}, "n": {"type": "long"}}},
    },
}
EVENTS: list[dict[str, Any]] = [
    {
        "k": "abc",
        "n": 5,
        "d": 2.5,
        "b": True,
        "t": "The quick brown fox",
        "w": "2026-01-31",
        "o": {"k": "x", "n": 1},
    },
    {"k": ["abc", "x"], "n": [1, 9], "d": [0.5], "t": ["fox", "Brown dog!"], "w": "2026-01-31T23:59:59.999Z"},
    {
        "k": "",
        "n": 0,
        "d": 0.0,
        "b": False,
        "t": "",
        "w": "2026-02-01T00:30:00+01:00",
        "o": [{"k": "x", "n": 2}, {"k": "y"}],
    },
    {
        "k": "ABC",
        "n": -7,
        "d": 1e10,
        "b": [True, False],
        "t": "don't 3.5 1,000 x_y e-mail a.b:c",
        "w": "2026-02-01",
    },
    {"k": "a*c?", "n": 9223372036854775807, "t": "STRASSE straße Ünal ÉCOLE", "g": {"lat": 52.52, "lon": 13.405}},
    {"k": "aé\n", "t": "U.S.A. 192.168.0.1 foo@bar.com C++", "g": [13.06, 52.39], "w": "2026-01-31T12:00:00Z"},
    {"k": None, "n": None, "b": None, "t": None, "o": {}, "g": ["52.52,13.405", "-17.7,178.0"]},
    {"k": [], "t": ["quick", "quick fox"], "n": [5, 5], "o": {"k": ["x", "z"], "n": [1, 2]}, "d": 2},
    {
        "k": "[a]",
        "t": "rock'n'roll l'été o\u2019neil x..y _a_ a_1 1a a1.5b 5% $10",
        "w": ["2025-12-31", "2026-03-01"],
    },
    {},
]
TEXTS = ["abc", "x", "ABC", "", "a*c?", "aé\n", "y", "z"]
WORDS = [
    "quick",
    "Brown",
    "fox",
    "don't",
    "3.5",
    "dog",
    "x_y",
    "strasse",
    "straße",
    "ÜNAL",
    "école",
    "email",
    "mail",
    "1,000",
    "1000",
]
WORDS += [
    "u.s.a",
    "U.S.A.",
    "usa",
    "192.168.0.1",
    "bar.com",
    "foo",
    "c",
    "rock'n'roll",
    "été",
    "l'été",
    "o'neil",
    "o\u2019neil",
    "x",
    "_a_",
]
WORDS += ["a", "a_1", "1a", "a1.5b", "5", "$10", "10", "b:c", "a.b", "a.b:c"]
DAYS = ["2026-01-31", "2026-02-01", "2026-01-31T12:00:00Z", "2026-02-01T00:00:00+01:00", "2025-12-31"]
BERLIN = {"lat": 52.52, "lon": 13.405}


def conditions() -> list[str]:
    asked: list[Any] = [{"match": {"t": word}} for word in WORDS]
    asked += [
        {"match": {"t": {"query": text, "operator": "and"}}}
        for text in ("quick fox", "brown DOG", "c 192.168.0.1")
    ]
    for least in (0, 1, 2, 3, 4, -1, -3, "50%", "75%", "-25%", "-80%", "0%", "100%"):
        words = {"query": "quick brown fox dog", "minimum_should_match": least}
        asked.append({"match": {"t": words}})
        clauses = [
            {"term": {"k": "abc"}},
            {"range": {"n": {"gt": 0}}},
            {"term": {"b": True}},
            {"exists": {"field": "o.k"}},
        ]
        asked += [{"bool": {"should": clauses, "minimum_should_match": least}}]
        asked += [{"bool": {"should": clauses, "minimum_should_match": least, "must": {"exists": {"field": "t"}}}}]
        asked += [{"bool": {"minimum_should_match": least, "must_not": {"term": {"k": "x"}}}}]
        asked += [{"bool": {"should": clauses, "minimum_should_match": least, "must_not": {"term": {"k": "x"}}}}]
    asked += [{"exists": {"field": name}} for name in (*FIELDS, "o", "o.k")]
    for text in TEXTS:
        asked += [{"term": {"k": text}}, {"prefix": {"k": text}}, {"term": {"o.k": text}}]
        if text:  # Lucene's automaton of the empty text matches nothing
            kinds = ("term", "prefix", "wildcard")
            asked += [{kind: {"k": {"value": text, "case_insensitive": True}}} for kind in kinds]
        asked += [{"range": {"k": {sign: text}}} for sign in ("gt", "gte", "lt", "lte")]
    asked += [
        {"wildcard": {"k": text}} for text in ("a*", "*", "a?c", "a\\*c\\?", "a*c?", "?", "a??", "[a]", "*b*")
    ]
    asked += [
        {"regexp": {"k": text}}
        for text in (
            "a.c",
            "a.*",
            ".+",
            "[a-c]+",
            "abc|x",
            "a\\*c\\?",
            "ab",
            "(a|x)(b|)c?",
            "a|",
            "(a|x)(b|())c?",
            "[^x]{3}",
            "",
            "a..",
            "\\[a\\]",
            "\\d",
            "\\w+",
            "a{1,2}bc",
        )
    ]
    asked += [{"regexp": {"k": {"value": "a.c", "case_insensitive": True}}}]
    asked += [{"term": {"n": value}} for value in (5, 0, 5.0, "5", 9223372036854775807)]
    asked += [{"term": {"d": value}} for value in (2.5, 2, 0, "2.5", 1e10)]
    asked += [{"term": {"b": value}} for value in (True, False, "true", "false")]
    asked += [
        {"terms": {"k": ["abc", "y"]}},
        {"terms": {"n": [5, 9]}},
        {"terms": {"o.n": [2]}},
        {"terms": {"k": []}},
    ]
    for name, bounds in (("n", (0, 5, 5.5, -7, "5")), ("d", (0, 2.5, 2)), ("w", DAYS)):
        asked += [{"range": {name: {sign: value}}} for value in bounds for sign in ("gt", "gte", "lt", "lte")]
    asked += [{"range": {"w": {"gte": one, "lte": other}}} for one in DAYS for other in DAYS]
    asked += [{"range": {"n": {"gt": 1, "lt": 5}}}, {"range": {"n": {}}}, {"range": {"n": {"gte": None, "lt": 3}}}]
    asked += [
        {"geo_distance": {"distance": each, "g": BERLIN}} for each in ("30km", "20km", "20miles", "1m", "17000km")
    ]
    asked += [
        {"geo_bounding_box": {"g": {"top_left": {"lat": 53, "lon": 13}, "bottom_right": {"lat": 52, "lon": 13.2}}}}
    ]
    asked += [{"geo_bounding_box": {"g": {"top": 0, "left": 170, "bottom": -20, "right": -170}}}]
    asked += [
        {"match_all": {}},
        {"match_none": {}},
        {"bool": {}},
        {"bool": {"minimum_should_match": 1}},
        {"terms": {"n": ["5", 9]}},
        {"constant_score": {"filter": {"term": {"k": "x"}}}},
    ]
    asked += [{"dis_max": {"queries": [{"term": {"k": "x"}}, {"term": {"n": 0}}]}}, {"dis_max": {"queries": []}}]
    asked += [
        {"match": {"n": 5}},
        {"match": {"n": "5"}},
        {"match": {"b": True}},
        {"match": {"t": 5}},
        {"match": {"t": ""}},
    ]
    asked += [{"bool": {"must_not": each}} for each in asked[::7]]
    return [json.dumps(each, ensure_ascii=False) for each in asked]


def random_condition(random: Random) -> str:
    return json.dumps(_query(random, 2), ensure_ascii=False)


def _query(random: Random, depth: int) -> Any:
    if depth and random.random() < 0.7:
        body: dict[str, Any] = {}
        for name in random.sample(["must", "filter", "must_not", "should", "should"], random.randint(1, 3)):
            body[name] = [_query(random, depth - 1) for _ in range(random.randint(1, 3))]
        if random.random() < 0.4:
            body["minimum_should_match"] = random.choice([0, 1, 2, 3, -1, "50%", "-40%"])
        return {"bool": body}
    signs = random.sample(["gt", "gte"], 1) + random.sample(["lt", "lte"], 1)
    name = random.choice(["n", "d", "o.n", "w"])
    low, high = random.choices(DAYS, k=2) if name == "w" else sorted(random.choices([-7, 0, 1, 2.5, 5, 9], k=2))
    return random.choice(
        [
            {"term": {random.choice(["k", "o.k"]): random.choice(TEXTS)}},
            {"terms": {"n": random.choices([-7, 0, 1, 2, 5, 9], k=2)}},
            {"range": {name: dict(zip(signs[: random.randint(1, 2)], (low, high), strict=False))}},
            {
                "match": {
                    "t": {
                        "query": " ".join(random.choices(WORDS, k=3)),
                        "minimum_should_match": random.randint(1, 3),
                    }
                }
            },
            {"prefix": {"k": random.choice(TEXTS)[:2]}},
            {"wildcard": {"k": random.choice(["a*", "?b?", "*"])}},
            {"exists": {"field": random.choice([*FIELDS, "o.k"])}},
        ]
    )
