"""The page of links to other sites, for the operator."""

from __future__ import annotations

from tamis.service.page.page_request import PageData, PageRequest


def data(request: PageRequest) -> PageData:
    """The links of this site, and how they are doing."""
    return {"site": request.service.site.name, "items": request.service.site.status()}
