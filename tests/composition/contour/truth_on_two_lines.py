"""What generators of delta share: every value is computed on two lines, with other spacings, before it is written."""

import json
from pathlib import Path

from flint import ctx


def write(generator, cases, delta, bits):
    """The values beside their generator, as JSON; `delta` takes a case, and how far its line is from the usual one."""
    ctx.prec = bits
    found = []
    for case in cases:
        first, second = (delta(*case, farther) for farther in (1.0, 1.3))
        if not abs(first / second - 1) < 1e-18:
            raise ArithmeticError(f"{case}: {first} and {second} differ")
        found.append({"case": case, "delta": first.mid().str(20, radius=False)})
        print(found[-1], flush=True)
    Path(generator).with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
