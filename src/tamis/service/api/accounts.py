"""Tokens and tenants, for administrators."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path

from tamis.service.accounts import DEFAULT_TENANT, StoredToken, TenantRights
from tamis.service.api.auth import Admin, CurrentGatekeeper, CurrentService, Operator, in_thread
from tamis.service.api.models.access import (
    NewToken,
    RightsGiven,
    TenantAnswer,
    TenantsAnswer,
    TokenAnswer,
    TokensAnswer,
)
from tamis.service.api.problems import RESPONSES
from tamis.service.errors import Forbidden, NotFound
from tamis.service.names import check_tenant

router = APIRouter(prefix="/v1", tags=["accounts"], responses=RESPONSES)


@router.get("/tokens", response_model=TokensAnswer)
async def tokens(caller: Admin, service: CurrentService) -> Any:
    """The tokens of the caller's tenant, without their secrets."""
    found = await in_thread(service.accounts.tokens, caller.tenant)
    return {"items": [serialize_token(each) for each in found]}


@router.post("/tokens", status_code=201, response_model=TokenAnswer)
async def create(wanted: NewToken, caller: Admin, service: CurrentService) -> Any:
    """Make a token, which only this answer shows. Only the operator makes tokens for other tenants."""
    tenant = wanted.tenant or caller.tenant
    if tenant != caller.tenant and caller.tenant != DEFAULT_TENANT:
        msg = f"a token of tenant {caller.tenant!r} makes tokens for it only"
        raise Forbidden(msg)
    roles = [*wanted.roles, *([] if wanted.role is None else [wanted.role])]
    made, text = await in_thread(service.accounts.new_token, tenant, roles, wanted.label)
    return {**serialize_token(made), "token": text}


@router.delete("/tokens/{id}", status_code=204)
async def revoke(id: str, caller: Admin, service: CurrentService, keeper: CurrentGatekeeper) -> None:
    """Revoke a token: at once in this process, within seconds in others."""
    if not await in_thread(service.accounts.remove_token, caller.tenant, id):
        msg = f"there is no token {id!r}"
        raise NotFound(msg)
    keeper.forget()


@router.get("/tenants", response_model=TenantsAnswer)
async def tenants(caller: Operator, service: CurrentService) -> Any:
    """All tenants, and what they may use."""
    found = await in_thread(service.accounts.tenants)
    return {"items": [{"name": name, "rights": serialize_rights(rights)} for name, rights in found.items()]}


@router.put("/tenants/{name}", response_model=TenantAnswer)
async def set_rights(
    name: Annotated[str, Path(description="1 to 63 of a-z, 0-9 and -.")],
    rights: RightsGiven,
    caller: Operator,
    service: CurrentService,
    keeper: CurrentGatekeeper,
) -> Any:
    """Make a tenant, or change what it may use."""
    check_tenant(name)
    given = TenantRights.of(rights.model_dump())

    def work() -> None:
        service.accounts.set_rights(name, given)
        service.subscriptions.prepare(name)

    await in_thread(work)
    keeper.forget()
    return {"name": name, "rights": serialize_rights(given)}


def serialize_rights(rights: TenantRights) -> dict[str, Any]:
    """What a tenant may use, as an answer has it."""
    return {name: value for name, value in asdict(rights).items() if name in RightsGiven.model_fields}


def serialize_token(token: StoredToken) -> dict[str, Any]:
    """A token without its secret, as an answer has it."""
    return asdict(token) | {"roles": list(token.roles)}
