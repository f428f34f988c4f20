# Two commands for newcomers, both from nothing: `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JAX := $(VENV)/jax-oldest
CPP := $(shell find cpp -name '*.hpp' -o -name '*.cpp' -o -name '*.inl')
SOURCES := $(CPP) CMakeLists.txt pyproject.toml
PY := src tests benchmarks examples
SANITIZED := build/sanitize

.PHONY: help demo test check docs sanitize bench lint format clean
help:
	@echo 'make demo      build what this CPU needs, install into $(VENV) and run the demonstration'
	@echo 'make test      build, install what the tests need and run them all'
	@echo 'make check     run the quick tests of the core, about a minute'
	@echo 'make docs      build the documentation as a site, in build/docs'
	@echo 'make sanitize  build with sanitizers into $(SANITIZED) and run the tests of the core on it, on every SIMD level'
	@echo 'make bench     time cenote vs. other libraries and a copy, and write the tables of README.md and docs/'
	@echo 'make lint      check formatting, types and style'
	@echo 'make format    rewrite the sources in the project style'
	@echo 'make clean     remove $(VENV) and everything that was built'

# Each stamp is newer than what it was made from, so that a second run has nothing to do.
$(BIN)/python:
	@echo '» making the virtual environment $(VENV)'
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed (PYTHON=...)'; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=23.1'

$(VENV)/.tools: $(BIN)/python pyproject.toml
	@echo '» installing the build tools'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'scikit-build-core>=0.10,<2' 'nanobind>=2.4,<4' 'numpy>=2.0,<3' 'cmake>=3.21,<5' 'ninja>=1.11,<2'
	@touch $@

INSTALL := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python tools/install.py

# What is shipped and tested: every SIMD level of the architecture.
$(VENV)/.built: $(VENV)/.tools $(SOURCES)
	@echo '» compiling cenote for every SIMD level (two to three minutes on two cores, the first time)'
	@$(INSTALL) all
	@touch $@

# Enough for a demonstration: the kernels that this CPU runs. A build of every level is not replaced.
$(VENV)/.native: $(VENV)/.tools $(SOURCES)
	@if [ -e $(VENV)/.built ]; then $(MAKE) --no-print-directory $(VENV)/.built; else \
	  echo '» compiling cenote for this CPU (about a minute on two cores, the first time)'; \
	  $(INSTALL) native; fi
	@touch $@

$(VENV)/.test: $(VENV)/.built
	@echo '» installing what the tests need'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/extra.py test)
	@touch $@

# The oldest jaxlib that is supported, apart from the newest one: tests/jax_process.py runs programs in it.
$(JAX)/.installed: $(BIN)/python pyproject.toml
	@echo '» installing the oldest jaxlib that is supported, for its tests'
	@$(PYTHON) -m venv $(JAX)
	@$(JAX)/bin/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/extra.py test-jax-oldest)
	@touch $@

# For tests of the playground. Where it cannot be installed they are left out, and the summary of the tests says so.
$(VENV)/.browser: $(BIN)/python
	@if ! { command -v chromium && command -v chromedriver; } >/dev/null && command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo '» installing Chromium, in which the playground is tested'; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium chromium-driver \
	    fonts-dejavu-core >/dev/null || true; fi
	@if { command -v chromium && command -v chromedriver; } >/dev/null; then touch $@; \
	  else echo '» there is no Chromium, and it cannot be installed here: tests in the browser will be left out'; fi

$(VENV)/.lint: $(BIN)/python pyproject.toml
	@echo '» installing the linters'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/extra.py lint)
	@touch $@

$(VENV)/.bench: $(VENV)/.built
	@echo '» installing what the benchmarks compare with'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/extra.py bench)
	@touch $@

$(VENV)/.demo: $(VENV)/.native
	@echo '» installing what the demonstration draws with'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/extra.py demo)
	@touch $@

demo: $(VENV)/.demo
	@echo '» running the demonstration'
	@$(BIN)/cenote demo --out build

test: $(VENV)/.test $(JAX)/.installed $(VENV)/.browser
	@echo '» running the tests'
	@$(BIN)/python -m pytest -n auto

# While working: what is not marked slow of the semantics, kernels and derivatives, with a quarter of the random cases.
check: $(VENV)/.test
	@echo '» running the quick tests'
	@CENOTE_TEST_SHARE=4 $(BIN)/python -m pytest -q -n auto -m 'not slow' tests/spec tests/kernels tests/autodiff

$(VENV)/.docs: $(VENV)/.built
	@echo '» installing what the documentation is built with'
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python tools/extra.py docs)
	@touch $@

# Every warning is an error.
docs: $(VENV)/.docs
	@echo '» building the documentation'
	@$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going docs build/docs
	@echo '  build/docs/index.html'

# In a place of its own: what is installed in $(VENV) stays as it is.
$(SANITIZED)/.built: $(VENV)/.tools $(SOURCES) $(wildcard src/cenote/*.py src/cenote/*/*.py)
	@echo '» building cenote with sanitizers (some minutes)'
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation \
	  --no-deps --upgrade --target $(SANITIZED)/site --config-settings=build-dir=$(SANITIZED)/cmake \
	  --config-settings=cmake.define.CENOTE_SANITIZE=ON --config-settings=install.strip=false .
	@touch $@

sanitize: $(SANITIZED)/.built $(VENV)/.test
	@echo '» running the tests of the core under the sanitizers'
	@$(BIN)/python tools/sanitize.py $(SANITIZED)/site

bench: $(VENV)/.bench
	@echo '» running the benchmarks'
	@$(BIN)/python benchmarks/run.py --json benchmarks/results.json --pages

lint: $(VENV)/.lint $(VENV)/.test
	@echo '» checking'
	$(BIN)/ruff check $(PY) tools
	$(BIN)/ruff format --check $(PY) tools
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(CPP)

format: $(VENV)/.lint
	$(BIN)/ruff check --fix $(PY) tools
	$(BIN)/ruff format $(PY) tools
	$(BIN)/clang-format -i $(CPP)

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
