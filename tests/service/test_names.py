"""Names of tenants, and what is called how inside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.errors import TamisError
from tamis.service.names import check_tenant, local_name, own_name, qualified_name, tenant_of

tenants = st.from_regex(r"[a-z0-9][a-z0-9-]{0,62}", fullmatch=True)


@given(tenants, st.text())
def test_a_name_comes_back_whatever_is_in_it(tenant: str, name: str) -> None:
    assert check_tenant(tenant) == tenant
    assert (tenant_of(qualified_name(tenant, name)), local_name(qualified_name(tenant, name))) == (tenant, name)


@given(tenants, tenants, st.text())
def test_a_tenant_knows_its_own_names_only(tenant: str, other: str, name: str) -> None:
    assert own_name(tenant, qualified_name(other, name)) == (name if other == tenant else None)


@pytest.mark.parametrize("name", ["", "-a", "A", "a/b", "a b", "a" * 64, "é", "a\n"])
def test_what_is_no_tenant_is_refused(name: str) -> None:
    with pytest.raises(TamisError, match="tenant: expected 1 to 63 of a-z"):
        check_tenant(name)
