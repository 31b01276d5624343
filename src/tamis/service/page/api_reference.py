"""The reference of the API as a page, made of its OpenAPI description: operations, parameters, models, examples.

The page needs no other host and no script; its twin is `/openapi.json`, the description itself.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from tamis.service.page.page_request import PageData

_MODEL = "#/components/schemas/"
_METHODS = ("get", "post", "put", "patch", "delete")
_BOUNDS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
)


def data(described: Mapping[str, Any], url: str) -> PageData:
    """What the page shows.

    Args:
        described: The API in OpenAPI.
        url: Of the service, for examples.
    """
    models = described["components"]["schemas"]
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in described["paths"].items():
        for method in _METHODS:
            if method in methods:
                operation = _operation(path, method, methods[method], models, url)
                groups.setdefault(operation["group"], []).append(operation)
    return {
        "info": {name: described["info"][name] for name in ("title", "version", "description")},
        "groups": [{"name": name, "operations": found} for name, found in groups.items()],
        "models": [_model(name, models[name]) for name in sorted(models)],
    }


def type_text(schema: Mapping[str, Any]) -> str:
    """What a schema allows, in words.

    >>> type_text({"anyOf": [{"type": "array", "items": {"$ref": "#/components/schemas/Tag"}}, {"type": "null"}]})
    'list of Tag, or null'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_MODEL)
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " or ".join(json.dumps(each) for each in schema["enum"])
    if "anyOf" in schema:
        texts = [type_text(each) for each in schema["anyOf"]]
        return ", or ".join(dict.fromkeys(texts))
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"list of {type_text(schema.get('items', {}))}"
    return f"{kind}, {schema['format']}" if "format" in schema else str(kind)


def _model_of(schema: Mapping[str, Any]) -> str | None:
    """The first model that a schema names."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_MODEL)
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())]
    return next((found for each in inner if (found := _model_of(each))), None)


def _operation(
    path: str, method: str, given: Mapping[str, Any], models: Mapping[str, Any], url: str
) -> dict[str, Any]:
    body = _body(given.get("requestBody"), models)
    return {
        "id": f"{method}{path}".replace("/", "-").replace("{", "").replace("}", ""),
        "group": (given.get("tags") or ["others"])[0],
        "method": method.upper(),
        "path": path,
        "description": given.get("description", given.get("summary", "")),
        "needs_token": bool(given.get("security")),
        "parameters": [_parameter(each) for each in given.get("parameters", ())],
        "body": body,
        "answers": [_answer(status, each) for status, each in given["responses"].items()],
        "example": _example(path, method, body, url, needs_token=bool(given.get("security"))),
    }


def _parameter(given: Mapping[str, Any]) -> dict[str, Any]:
    schema = given["schema"]
    field = _field(given["name"], schema, required=given.get("required", False))
    return {**field, "in": given["in"], "description": given.get("description") or field["description"]}


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> dict[str, Any]:
    parts = [schema, *schema.get("anyOf", ())]
    bounds = [words.format(f"{part[key]:,}") for part in parts for key, words in _BOUNDS if key in part]
    has_default = schema.get("default") is not None
    return {
        "name": name,
        "type": type_text(schema),
        "model": _model_of(schema),
        "required": required,
        "bounds": ", ".join(bounds),
        "default": json.dumps(schema["default"]) if has_default else None,
        "description": next((part["description"] for part in parts if part.get("description")), ""),
    }


def _body(given: Mapping[str, Any] | None, models: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What a request may have as its body, one item for each media type."""
    found = []
    for media_type, content in (given or {"content": {}})["content"].items():
        schema = content.get("schema", {})
        model = _model_of(schema)
        examples = (
            [content["example"]] if "example" in content else models.get(model or "", {}).get("examples", [])
        )
        texts = [each.strip() if isinstance(each, str) else json.dumps(each) for each in examples]
        found.append({"media_type": media_type, "type": type_text(schema), "model": model, "examples": texts})
    return found


def _answer(status: str, given: Mapping[str, Any]) -> dict[str, Any]:
    contents = [
        {
            "media_type": media_type,
            "type": type_text(each.get("schema", {})),
            "model": _model_of(each.get("schema", {})),
        }
        for media_type, each in given.get("content", {}).items()
    ]
    words = "" if given["description"] == "Successful Response" else given["description"]
    return {"status": "an error" if status == "default" else status, "description": words, "contents": contents}


def _example(path: str, method: str, body: Sequence[Mapping[str, Any]], url: str, *, needs_token: bool) -> str:
    """A command that calls it."""
    parts = ["curl"] if method == "get" else ["curl", "-X", method.upper()]
    if needs_token:
        parts += ["-H", '"Authorization: Bearer $TAMIS_TOKEN"']
    if body and body[0]["examples"]:
        parts += ["-H", f"'Content-Type: {body[0]['media_type']}'", "-d", shlex.quote(body[0]["examples"][0])]
    return " ".join([*parts, shlex.quote(f"{url}{path}") if "{" in path else f"{url}{path}"])


def _model(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    fields = [_field(each, of, required=each in required) for each, of in schema.get("properties", {}).items()]
    examples = [json.dumps(each) for each in schema.get("examples", ())]
    return {"name": name, "description": schema.get("description", ""), "fields": fields, "examples": examples}
