"""Tokens and tenants: for administrators."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path

from tamis.service.accounts import DEFAULT_TENANT, Rights, Token
from tamis.service.api import models
from tamis.service.api.problems import RESPONSES
from tamis.service.api.who import Admin, Asked, Keeper, Operator, in_thread
from tamis.service.names import check_tenant
from tamis.service.problems import Forbidden, NotFound

router = APIRouter(prefix="/v1", tags=["accounts"], responses=RESPONSES)


@router.get("/tokens", response_model=models.TokensAnswer)
async def tokens(caller: Admin, service: Asked) -> Any:
    """The tokens of one's tenant, without what makes them work."""
    found = await in_thread(service.accounts.tokens, caller.tenant)
    return {"items": [_answer(each) for each in found]}


@router.post("/tokens", status_code=201, response_model=models.TokenAnswer)
async def create(wanted: models.NewToken, caller: Admin, service: Asked) -> Any:
    """Make a token; it is told in this answer only. One for another tenant is the operator's to make."""
    tenant = wanted.tenant or caller.tenant
    if tenant != caller.tenant and caller.tenant != DEFAULT_TENANT:
        msg = f"a token of tenant {caller.tenant!r} makes tokens for it only"
        raise Forbidden(msg)
    roles = [*wanted.roles, *([] if wanted.role is None else [wanted.role])]
    made, text = await in_thread(service.accounts.new_token, tenant, roles, wanted.label)
    return {**_answer(made), "token": text}


@router.delete("/tokens/{id}", status_code=204)
async def revoke(id: str, caller: Admin, service: Asked, keeper: Keeper) -> None:
    """Make a token worthless, at once on this process and within seconds on others."""
    if not await in_thread(service.accounts.remove_token, caller.tenant, id):
        msg = f"there is no token {id!r}"
        raise NotFound(msg)
    keeper.forget()


@router.get("/tenants", response_model=models.TenantsAnswer)
async def tenants(caller: Operator, service: Asked) -> Any:
    """All tenants, and what they may use."""
    found = await in_thread(service.accounts.tenants)
    return {"items": [{"name": name, "rights": _rights(rights)} for name, rights in found.items()]}


@router.put("/tenants/{name}", response_model=models.TenantAnswer)
async def set_rights(
    name: Annotated[str, Path(description="1 to 63 of a-z, 0-9 and -.")],
    rights: models.RightsGiven,
    caller: Operator,
    service: Asked,
    keeper: Keeper,
) -> Any:
    """Make a tenant, or change what it may use."""
    check_tenant(name)
    given = Rights.of(rights.model_dump())

    def work() -> None:
        service.accounts.set_rights(name, given)
        service.subscriptions.prepare(name)

    await in_thread(work)
    keeper.forget()
    return {"name": name, "rights": _rights(given)}


def _rights(rights: Rights) -> dict[str, Any]:
    return {name: value for name, value in asdict(rights).items() if name in models.RightsGiven.model_fields}


def _answer(token: Token) -> dict[str, Any]:
    return asdict(token) | {"roles": list(token.roles)}
