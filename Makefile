# Each command makes .venv when it is missing, installs again only when pyproject.toml changed, and asks nothing.
PYTHON ?= python3
READY := .venv/.ready

.PHONY: demo test check bench browser clean

demo: $(READY)
	.venv/bin/python examples/demo.py demo

test: $(READY)
	.venv/bin/python -m pytest

check: $(READY)
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	.venv/bin/lint-imports

# The page is tested in a real browser; without one, those tests are skipped and say so.
browser:
	command -v chromium || { apt-get update -qq && apt-get install -y -qq chromium; }

bench: $(READY)
	.venv/bin/python -m pip install --quiet --editable '.[bench]'
	for script in labels meta_step refine query opening serve; do .venv/bin/python benchmarks/$$script.py || exit 1; done

clean:
	rm -rf .venv demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(READY): pyproject.toml
	test -x .venv/bin/python || $(PYTHON) -m venv .venv
	.venv/bin/python -m pip install --quiet --editable '.[test]'
	touch $(READY)
