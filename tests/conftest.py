"""How hypothesis searches: at random at a desk, the same cases every time where a change is judged."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Cases that do not fit are thrown away, many of them, and a slow machine is not a slow test.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.filter_too_much, HealthCheck.too_slow]}
settings.register_profile("search", settings(**COMMON))  # type: ignore[arg-type]
settings.register_profile("judge", settings(derandomize=True, **COMMON))  # type: ignore[arg-type]
settings.load_profile("judge" if os.environ.get("CI") else "search")

collect_ignore = ["typing"]  # for type checkers, see test_types.py
