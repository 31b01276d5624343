"""Notifications brought to receivers by HTTP: signed, in order, at least once.

`queue.Webhooks` keeps who is to be called and how far each has got, `delivering.Deliverer` calls them. What a
receiver needs to check a call is here, and needs nothing but Python.
"""

from __future__ import annotations

from tamis.service.webhooks.settings import Delivery
from tamis.service.webhooks.signing import SignatureError, new_secret, sign, signed_headers, verify

__all__ = ["Delivery", "SignatureError", "new_secret", "sign", "signed_headers", "verify"]
