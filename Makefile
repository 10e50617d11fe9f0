# The commands of the book. `make demo` and `make test` need only git, make and Python with venv.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One thread per process: two notebooks run side by side, and sums do not depend on the number of cores.
export OMP_NUM_THREADS      ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MPLBACKEND           ?= Agg

.PHONY: help demo test check book site pages export execute clean-notebooks readme toc style audit bench clean

help:
	@echo "make demo   set up and cluster real data privately"
	@echo "make test   everything in step, every module and notebook tested"
	@echo "make book   run the notebooks again, then the site in _build/html"
	@echo "make site   the site from the stored notebooks"
	@echo "make pages  every page of the site in headless Chromium"
	@echo "make audit  the deep audits of every mechanism, stored in nbs/results (about half an hour)"
	@echo "make bench  speed"
	@echo "make clean  remove what was built (not $(VENV))"

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check uv

$(VENV)/.runtime: settings.ini setup.py | $(BIN)/python
	$(BIN)/uv pip install --python $(BIN)/python -q -e .
	@touch $@

$(VENV)/.dev: settings.ini setup.py | $(BIN)/python
	$(BIN)/uv pip install --python $(BIN)/python -q -e '.[dev]'
	@touch $@ $(VENV)/.runtime

demo: $(VENV)/.runtime
	$(BIN)/dplit demo

test: $(VENV)/.dev
	@$(BIN)/python scripts/check.py

check: $(VENV)/.dev
	@$(BIN)/python scripts/check.py --no-notebooks

export: $(VENV)/.dev
	$(BIN)/nbdev_export

execute: $(VENV)/.dev
	$(BIN)/python scripts/nbs.py execute

clean-notebooks: $(VENV)/.dev
	$(BIN)/nbdev_clean

readme: $(VENV)/.dev
	$(BIN)/python scripts/nbs.py readme

toc: $(VENV)/.dev
	$(BIN)/python scripts/nbs.py toc

style: $(VENV)/.dev
	@$(BIN)/python scripts/nbs.py style

site: $(VENV)/.dev
	rm -rf _build
	$(BIN)/python scripts/api.py
	$(BIN)/jupyter-book build . -W -n --keep-going -q
	@echo "the site: _build/html/index.html"

pages: $(VENV)/.dev
	$(BIN)/python scripts/browse.py

book: $(VENV)/.dev
	$(MAKE) export
	$(MAKE) execute
	$(MAKE) clean-notebooks
	$(MAKE) readme toc
	$(MAKE) site

audit: $(VENV)/.dev
	$(BIN)/python -m dplit.audit_suite --deep --workers 2

bench: $(VENV)/.dev
	@set -e; for script in benchmarks/*.py; do echo "== $$script"; timeout 1200 $(BIN)/python $$script; done

clean:
	rm -rf _build _site build dist _proc *.egg-info docs/api dplit-demo
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +
