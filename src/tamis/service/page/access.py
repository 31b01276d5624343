"""The pages of tokens, for administrators, and of tenants, for the operator."""

from __future__ import annotations

from tamis.service.accounts import ROLES, TenantRights
from tamis.service.api.accounts import serialize_rights, serialize_token
from tamis.service.page.page_request import PageData, PageRequest


def tokens(request: PageRequest) -> PageData:
    """The tokens of the tenant, without their secrets."""
    accounts = request.service.accounts
    return {
        "tenant": request.tenant,
        "roles": list(ROLES),
        "tenants": sorted(accounts.tenants()) if request.is_operator else [request.tenant],
        "items": [
            {**serialize_token(each), "is_own": each.id == request.caller.token}
            for each in accounts.tokens(request.tenant)
        ],
    }


def tenants(request: PageRequest) -> PageData:
    """All tenants, what they may use, and the rights of the one that is to be changed (`name`), if any."""
    found = request.service.accounts.tenants()
    name = request.text("name")
    rights = found.get(name)
    return {
        "name": name if rights else "",
        "rights": serialize_rights(rights or TenantRights()),
        "items": [
            {
                "name": each,
                "rights": serialize_rights(rights),
                "subscriptions": request.service.subscriptions.count(each),
            }
            for each, rights in found.items()
        ],
    }
