# Each command makes .venv when it is missing, installs again only when pyproject.toml changed, and asks nothing.
PYTHON ?= python3
READY := .venv/.ready

.PHONY: demo test slow check check-page bench browser postgres clean

demo: $(READY)
	.venv/bin/python examples/demo.py demo

# Several at once, one more than two cores: many tests wait for a browser or another process.
PYTEST := .venv/bin/python -m pytest -n 3 --dist worksteal

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
	command -v chromium || { apt-get update -qq && apt-get install -y -qq chromium; }
	command -v npm || { apt-get update -qq && apt-get install -y -qq nodejs npm; }

# Projects that keep their database in PostgreSQL are tested with a real one, started by the tests; else they are skipped.
postgres:
	ls /usr/lib/postgresql/*/bin/initdb || { apt-get update -qq && apt-get install -y -qq postgresql; }

# All of the speed suite, or some scripts of benchmarks/ by name: make bench ONLY="meta_step serve"
bench: $(READY)
	.venv/bin/python -m pip install --quiet --editable '.[bench]'
	.venv/bin/python benchmarks/bench.py $(ONLY)

clean:
	rm -rf .venv demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache node_modules

$(READY): pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --editable '.[test]'
	touch $(READY)

# Exact versions stand in package.json, so no lock file is needed.
node_modules/.ready: package.json
	npm install --no-package-lock --no-audit --no-fund --silent
	touch node_modules/.ready
