"""How hypothesis searches: at random at a desk, the same cases every time where a change is judged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import browser

# Threads of torch and NumPy that wait must not spin: they take the CPUs from the tests of other workers, and small
# calls take five times as long. Read when torch and NumPy are imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Cases that do not fit are thrown away, many of them, and a slow machine is not a slow test.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.filter_too_much, HealthCheck.too_slow]}
settings.register_profile("search", settings(**COMMON))  # type: ignore[arg-type]
settings.register_profile("judge", settings(derandomize=True, **COMMON))  # type: ignore[arg-type]
settings.load_profile("judge" if os.environ.get("CI") else "search")

collect_ignore = ["typing"]  # for type checkers, see test_types.py

# What takes longest: every path of every kernel, other libraries as oracles, processes of their own. `make check` has
# none of it.
SLOW = [
    "test_bad_luck",
    "test_benchmarks",
    "test_browser",
    "test_browser_export",
    "test_browser_state",
    "test_buffer_cache",
    "test_column_strips",
    "test_compile",
    "test_conv_benchmarks",
    "test_conv_core",
    "test_conv_dialects",
    "test_conv_fft",
    "test_conv_oracles",
    "test_conv_paths",
    "test_conv_precision",
    "test_conv_small_planes",
    "test_conv_winograd",
    "test_dask_cluster",
    "test_demo",
    "test_dialect_flax",
    "test_dialect_mygrad",
    "test_dialect_torch",
    "test_direct",
    "test_equivalents",
    "test_examples",
    "test_flax_on_jax",
    "test_interrupts",
    "test_jax_devices",
    "test_kernel_choice",
    "test_line_buffer_argmax",
    "test_line_buffer_max",
    "test_line_buffer_norm",
    "test_line_buffer_sum",
    "test_out_of_core",
    "test_order_paths",
    "test_network_benchmark",
    "test_networks",
    "test_paths",
    "test_paths_derivatives",
    "test_result_dtypes",
    "test_robustness",
    "test_row_ends",
    "test_runtime",
    "test_scale_page",
    "test_streaming_stores",
    "test_torch_compile",
    "test_torch_samples",
    "test_torch_page",
    "test_types",
    "test_unaligned",
    "test_unwritable",
    "test_weighted",
    "test_weighted_disjoint",
    "test_xarray_coarsen",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker(pytest.mark.slow)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    return browser.left_out(collection_path) or None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    browser.report(terminalreporter)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium: one for all tests."""
    found = browser.start(tmp_path_factory.mktemp("profile"))
    yield found
    found.quit()
