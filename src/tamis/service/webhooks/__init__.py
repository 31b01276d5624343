"""Webhooks: notifications delivered by HTTP, signed, in order, at least once.

`queue.Webhooks` keeps the receivers and their cursors, `deliverer.Deliverer` calls them. A receiver imports
`verify` from here to check calls; it needs nothing but Python.
"""

from __future__ import annotations

from tamis.service.webhooks.settings import DeliveryPolicy
from tamis.service.webhooks.signatures import SignatureError, new_secret, sign, signed_headers, verify

__all__ = ["DeliveryPolicy", "SignatureError", "new_secret", "sign", "signed_headers", "verify"]
