"""Property tests: the same examples every time in CI, new ones every time elsewhere; no deadline on a noisy machine."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("local", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "local")
