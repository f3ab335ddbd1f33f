# Each command makes .venv when it is missing, installs again only when pyproject.toml changed, and asks nothing.
# --no-compile: Python compiles what it imports; to compile all that is installed took longer than to install it.
PYTHON ?= python3
READY := .venv/.ready

.PHONY: demo test slow check check-page docs dist bench browser postgres clean

demo: $(READY)
	.venv/bin/python examples/demo.py demo

# Several at once, more than two cores: many tests wait for a browser or another process.
PYTEST := .venv/bin/python -m pytest -n 4 --dist worksteal

test: $(READY)
	$(PYTEST) -m "not slow"

# Tests that kill processes many times, or run whole experiments.
slow: $(READY)
	$(PYTEST) -m slow tests

check: $(READY) check-page
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports
	$(MAKE) --no-print-directory docs

# The page's code needs node only to be checked and tested. In CI (where the variable CI is set) it must be there.
check-page:
	@if command -v npm > /dev/null; then \
		$(MAKE) --no-print-directory node_modules/.ready && npm run --silent check; \
	elif [ -n "$$CI" ]; then \
		echo "The page's code cannot be checked: npm is missing (apt-get install nodejs npm)." >&2; exit 1; \
	else \
		echo "Skipped: the page's code is not checked, because npm is missing (apt-get install nodejs npm)."; \
	fi

# The page is tested in a real browser, its modules with node; without them, those tests are skipped and say so.
browser:
	command -v chromium-headless-shell || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium-headless-shell; }
	command -v npm || { apt-get update -qq && apt-get install -y -qq nodejs npm; }

# Projects that keep their database in PostgreSQL are tested with a real one, started by the tests; else they are skipped.
postgres:
	ls /usr/lib/postgresql/*/bin/initdb || { apt-get update -qq && apt-get install -y -qq postgresql; }

# All of the speed suite, or some scripts of benchmarks/ by name: make bench ONLY="meta_step serve"
bench: $(READY)
	.venv/bin/python -m pip install --quiet --editable '.[bench]'
	.venv/bin/python benchmarks/bench.py $(ONLY)

# The site, strictly: a link that leads nowhere is an error. Serve it with: .venv/bin/mkdocs serve
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet

# What is released: the wheel, and the source archive built to a wheel again, each tried in an empty environment of its own.
dist: $(READY)
	rm -rf dist
	.venv/bin/python -m build --outdir dist
	for archive in dist/*.whl dist/*.tar.gz; do \
		$(PYTHON) -m venv --clear dist/environment && \
		dist/environment/bin/python -m pip install --quiet --no-compile $$archive && \
		dist/environment/bin/python examples/smoke.py || exit 1; \
	done
	rm -rf dist/environment

clean:
	rm -rf .venv demo site dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache node_modules

$(READY): pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --no-compile --editable '.[test]'
	touch $(READY)

# Exact versions stand in package.json, so no lock file is needed.
node_modules/.ready: package.json
	npm install --no-package-lock --no-audit --no-fund --silent
	touch node_modules/.ready
