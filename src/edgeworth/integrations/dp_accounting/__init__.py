"""Google's dp_accounting: an accountant where PLDAccountant goes, and events as mechanisms and back.

>>> import dp_accounting
>>> from edgeworth.integrations.dp_accounting import EdgeworthAccountant
>>> step = dp_accounting.PoissonSampledDpEvent(256 / 50_000, dp_accounting.GaussianDpEvent(noise_multiplier=0.8))
>>> accountant = EdgeworthAccountant().compose(step, 5_000)
>>> round(accountant.get_epsilon(target_delta=1e-5), 6)
3.261977
>>> print(accountant.account.epsilon(delta=1e-5))  # doctest: +ELLIPSIS
3.26197... in [3.26197..., 3.26197...]
"""

from edgeworth.errors import require_extra

require_extra("dp_accounting", extra="dp-accounting")

from edgeworth.integrations.dp_accounting.accountant import EdgeworthAccountant  # noqa: E402 - first the clear error
from edgeworth.integrations.dp_accounting.from_event import EventRefused, from_dp_event  # noqa: E402 - idem
from edgeworth.integrations.dp_accounting.to_event import to_dp_event  # noqa: E402 - idem

__all__ = ["EdgeworthAccountant", "EventRefused", "from_dp_event", "to_dp_event"]
