# Every target sets up what it needs. Python 3.11 or newer and make are enough to begin.
#
#   make test ARGS="-k cycles"      extra arguments for the program behind the target
#   make test WORKERS=0             in one process, so that a debugger can be used
#   make test PYTHON=python3.12     another interpreter for a new environment
#   make test-all PYTHONS="python3.12 /opt/python3.14/bin/python3"   these interpreters
#   make test-all CHROOT=/srv/sid   also those in a chroot, on a copy of the checkout (as root)
#   make bench BENCHES=store        one of the benchmarks

PYTHON ?= python3
ARGS :=
WORKERS := auto
VENV := .venv
BENCH := .venv-bench
LIBRARIES := .venv-libraries
ADAPTERS := .venv-adapters
BENCHES := fingerprint store shared replay kernels arrays launch graphs warmstart steps exactness
VERSIONS := 3.11 3.12 3.13 3.14 3.15
PYTHONS :=
CHROOT :=

# The stamp's name holds the checkout's place: an environment that was moved or copied with the
# checkout would still import whorl from the old place, so there it counts as missing.
STAMP := whorl-installed-$(shell pwd | cksum | cut -d' ' -f1)
DOCS := .venv-docs

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all test-aarch64 test-libraries test-adapters images changelog release-check fuzz soak check fix bench bench-quick docs fresh clean
# A stamp whose recipe failed half way must not stand for an environment.
.DELETE_ON_ERROR:

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | awk -F'|' \
	    '{ name[NR] = $$1; text[NR] = $$2; if (length($$1) > width) width = length($$1) } \
	    END { for (i = 1; i <= NR; i++) printf "  %-" width "s  %s\n", name[i], text[i] }'

setup: $(VENV)/$(STAMP)  ## create or update .venv with whorl (editable) and the tools

demo: $(VENV)/$(STAMP)  ## run examples/demo.py
	@$(VENV)/bin/python examples/demo.py $(ARGS)

test: $(VENV)/$(STAMP)  ## run the tests, the doctests and the examples in the documentation
	@$(VENV)/bin/python -m pytest -q -n $(WORKERS) --dist loadfile $(ARGS)

test-all: export TEST_ARGS = $(ARGS)
test-all:  ## run the tests under each installed Python from 3.11 to 3.15, and print a table
	@$(PYTHON) tests/every_python.py --make "$(MAKE)" --pythons "$(PYTHONS)" --chroot "$(CHROOT)" $(VERSIONS)

images: $(VENV)/$(STAMP)  ## build the images of whorl's own routines, which a wheel ships
	@$(VENV)/bin/python -m whorl.launch.image_builder

test-libraries: $(LIBRARIES)/$(STAMP)  ## test values of pandas, polars, pyarrow, scipy, torch and xarray (large: installs them)
	@$(LIBRARIES)/bin/python -m pytest -q tests/libraries $(ARGS)

test-adapters: $(ADAPTERS)/$(STAMP)  ## test the adapters for Numba, JAX, Triton, GT4Py and Quadrants (large: installs them)
	@$(ADAPTERS)/bin/python -m pytest -q tests/adapters $(ARGS)

changelog: $(VENV)/$(STAMP)  ## gather the fragments of changelog.d into CHANGELOG.md
	@$(VENV)/bin/python docs/site/changelog.py

release-check: $(VENV)/$(STAMP)  ## build sdist and wheel, and try them in fresh environments of every Python found
	@$(VENV)/bin/python tests/release_check.py --pythons "$(PYTHONS)"

test-aarch64: $(VENV)/$(STAMP)  ## run the tests that depend on the processor on aarch64, under qemu-user
	@$(VENV)/bin/python tests/under_qemu.py $(ARGS)

fuzz: $(VENV)/$(STAMP)  ## apply random edits to random programs, for a few minutes; ARGS="--programs 2000 --seed 7"
	@$(VENV)/bin/python -m tests.processes.edit_fuzzer $(ARGS)

soak: $(VENV)/$(STAMP)  ## check every result of machines on a shared cache while everything goes wrong; ARGS="--seconds 60"
	@$(VENV)/bin/python -m tests.processes.shared_soak --seconds 600 $(ARGS)

check: $(VENV)/$(STAMP)  ## run ruff, mypy --strict and import-linter
	@$(VENV)/bin/ruff check --quiet .
	@$(VENV)/bin/ruff format --quiet --check . || { echo "make fix formats these files"; exit 1; }
	@$(VENV)/bin/mypy --strict
	@$(VENV)/bin/lint-imports --no-logo

fix: $(VENV)/$(STAMP)  ## let ruff repair imports and formatting
	@$(VENV)/bin/ruff check --quiet --fix . ; $(VENV)/bin/ruff format --quiet .

bench: $(BENCH)/whorl  ## run all benchmarks; one table of all goals, one plot (large: installs the peers)
	@$(if $(word 2,$(BENCHES)),$(if $(filter --cases% --json%,$(ARGS)),$(error $(one_bench))))
	@$(BENCH)/bin/python bench/overview.py $(BENCHES) $(ARGS)

bench-quick:  ## the same with rough figures, in under three minutes; records in bench/results/quick
	@$(MAKE) --no-print-directory bench ARGS="--quick $(ARGS)"

docs: $(DOCS)/$(STAMP)  ## build the manual as a website: build/manual/index.html
	@mkdir -p build  # with --quiet it would not count warnings, and --strict lives on them
	@NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/python -m mkdocs build --strict $(ARGS) >build/manual.log 2>&1 \
	    || { grep -v '^INFO' build/manual.log; exit 1; }
	@echo "build/manual/index.html (the search needs a server: python -m http.server -d build/manual)"

fresh:  ## clone this checkout into an empty directory and follow README.md there
	@tests/fresh_clone.sh $(ARGS)

clean:  ## remove the environments, caches and builds
	@rm -rf .venv .venv-* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis dist build src/whorl/launch/images
	@find . -name .git -prune -o -type d \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +

$(VENV)/$(STAMP): pyproject.toml
	@$(require_python)
	@test -f $@ || { echo "setting up $(VENV), about half a minute ..."; $(PYTHON) -m venv --clear $(VENV); }
	@$(VENV)/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@touch $@

$(BENCH)/$(STAMP): bench/requirements.txt bench/requirements-more.txt pyproject.toml
	@$(require_python)
	@test -x $(BENCH)/bin/python || { echo "setting up $(BENCH) ..."; $(PYTHON) -m venv $(BENCH); }
	@$(BENCH)/bin/python -m pip install -qq --disable-pip-version-check -r bench/requirements.txt .
	@for peer in $$(grep -v '^#' bench/requirements-more.txt); do \
	    $(BENCH)/bin/python -m pip install -qq --disable-pip-version-check $$peer \
	        || echo "left out of the comparison: $$peer cannot be installed"; \
	done
	@touch $@

# Measured is what people install, so whorl is installed there as its peers are: not from the
# checkout, whose kernels count by the content of all files of the compiler.
$(BENCH)/whorl: $(BENCH)/$(STAMP) pyproject.toml $(shell find src -name '*.py')
	@$(BENCH)/bin/python -m pip install -qq --disable-pip-version-check --no-deps --force-reinstall .
	@touch $@

$(LIBRARIES)/$(STAMP): tests/libraries/requirements.txt pyproject.toml
	@$(require_python)
	@test -x $(LIBRARIES)/bin/python || { echo "setting up $(LIBRARIES) ..."; $(PYTHON) -m venv $(LIBRARIES); }
	@$(LIBRARIES)/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@$(call install_each,$(LIBRARIES),tests/libraries/requirements.txt)
	@touch $@

$(ADAPTERS)/$(STAMP): tests/adapters/requirements.txt pyproject.toml
	@$(require_python)
	@test -x $(ADAPTERS)/bin/python || { echo "setting up $(ADAPTERS) ..."; $(PYTHON) -m venv $(ADAPTERS); }
	@$(ADAPTERS)/bin/python -m pip install -qq --disable-pip-version-check -e '.[dev]'
	@$(call install_each,$(ADAPTERS),tests/adapters/requirements.txt)
	@touch $@

$(DOCS)/$(STAMP): docs/site/requirements.txt pyproject.toml
	@$(require_python)
	@test -x $(DOCS)/bin/python || { echo "setting up $(DOCS) ..."; $(PYTHON) -m venv $(DOCS); }
	@$(DOCS)/bin/python -m pip install -qq --disable-pip-version-check -r docs/site/requirements.txt -e .
	@touch $@

# Each has cases and a record of its own.
one_bench = --cases and --json are for one benchmark: make bench BENCHES=store ARGS="$(ARGS)"

# One by one: what cannot be installed is left out.
define install_each
for library in $$(grep -v '^#' $(2)); do \
    $(1)/bin/python -m pip install -qq --disable-pip-version-check $$library \
        || echo "its tests are skipped: $$library cannot be installed"; \
done
endef

define require_python
$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
    || { echo "whorl needs Python 3.11 or newer; '$(PYTHON)' is not. Name one with: make PYTHON=python3.12" >&2; exit 1; }
endef
