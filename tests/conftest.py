"""How hypothesis searches: at random at a desk, the same cases every time where a change is judged."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

# Cases that do not fit are thrown away, many of them, and a slow machine is not a slow test.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.filter_too_much, HealthCheck.too_slow]}
settings.register_profile("search", settings(**COMMON))  # type: ignore[arg-type]
settings.register_profile("judge", settings(derandomize=True, **COMMON))  # type: ignore[arg-type]
settings.load_profile("judge" if os.environ.get("CI") else "search")

collect_ignore = ["typing"]  # for type checkers, see test_types.py

# What takes longest: every path of every kernel, other libraries as oracles, processes of their own. `make check` has
# none of it.
SLOW = [
    "test_benchmarks",
    "test_buffer_cache",
    "test_column_strips",
    "test_conv_benchmarks",
    "test_conv_core",
    "test_conv_dialects",
    "test_conv_fft",
    "test_conv_oracles",
    "test_conv_paths",
    "test_conv_precision",
    "test_conv_small_planes",
    "test_conv_winograd",
    "test_demo",
    "test_dialect_flax",
    "test_dialect_mygrad",
    "test_dialect_torch",
    "test_direct",
    "test_examples",
    "test_kernel_choice",
    "test_line_buffer_argmax",
    "test_line_buffer_max",
    "test_line_buffer_norm",
    "test_line_buffer_sum",
    "test_paths",
    "test_paths_derivatives",
    "test_result_dtypes",
    "test_robustness",
    "test_row_ends",
    "test_runtime",
    "test_streaming_stores",
    "test_types",
    "test_unaligned",
    "test_weighted",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)
