"""Opacus with certified figures: importing this registers the accountant "edgeworth".

    import edgeworth.integrations.opacus
    engine = PrivacyEngine(accountant="edgeworth")

`engine.get_epsilon(delta)` is then an upper end that holds whatever the rounding, and `engine.accountant.account`
is the whole account: trade-off curve, risk, statement.
"""

from __future__ import annotations

from edgeworth.errors import require_extra

require_extra("opacus", extra="opacus")

from edgeworth.integrations.opacus.accountant import EdgeworthAccountant  # noqa: E402 - Opacus is known to be there
from edgeworth.integrations.opacus.registry import register  # noqa: E402 - idem

__all__ = ["EdgeworthAccountant"]

register(EdgeworthAccountant)
