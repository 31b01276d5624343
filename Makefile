# Tasks of the project; `make` alone lists them. Python 3.11 or later with pip is all that must be there.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PYTEST := $(PY) -m pytest

# PySpark trusts these from the environment: only the one in $(VENV) will do.
unexport SPARK_HOME PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON PYTHONPATH PYTHONHOME
# Every worker of Spark and of pytest would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# Prefix of what runs Spark: asked every time, so that a JDK that has come or gone is noticed.
WITH_JAVA = JAVA_HOME="$$($(PY) scripts/java_home.py)"; export JAVA_HOME;

CAMPAIGN := tests/language tests/engines tests/segments tests/test_company.py

.PHONY: help
help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

.PHONY: setup
setup: $(STAMP) ## Create .venv with everything needed, Java included (the others do this by themselves)

$(STAMP): pyproject.toml scripts/setup.sh
	@scripts/setup.sh $(VENV)
	@touch $@

.PHONY: demo
demo: $(STAMP) ## The main job: 200,000 events through Spark, 100,000 subscriptions that come and go
	@rm -rf artifacts/demo
	@$(WITH_JAVA) $(PY) -m tamis demo --folder artifacts/demo $(ARGS)

.PHONY: serve
serve: $(STAMP) ## The service on 127.0.0.1:8765, its data in tamis-data: make serve ARGS="--port 8080"
	@$(WITH_JAVA) exec $(PY) -m tamis serve $(ARGS)

.PHONY: tour
tour: $(STAMP) ## A look at the command line, on the data in examples/
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" scripts/tour.sh

.PHONY: test
test: lint ## Everything: lint, all tests with Spark, documentation examples, each benchmark once
	$(WITH_JAVA) TAMIS_REQUIRE_JAVA=1 $(PYTEST) -n 2 --dist loadgroup --durations 20 $(ARGS)

.PHONY: check
check: lint ## The quick loop: lint and the tests that need neither Java nor patience
	$(PYTEST) -n 2 -m "not spark and not slow" $(ARGS)

.PHONY: oracle
oracle: $(STAMP) ## Compare with Spark for longer: make oracle PAIRS=100000 SEED=7
	$(WITH_JAVA) TAMIS_REQUIRE_JAVA=1 TAMIS_ORACLE_PAIRS=$(or $(PAIRS),100000) TAMIS_ORACLE_SEED=$(or $(SEED),0) \
		$(PYTEST) tests/language/test_spark_oracle.py $(ARGS)

.PHONY: campaign
campaign: $(STAMP) ## The property tests with many more examples, from a random seed
	$(PYTEST) -n 2 -m "not spark" --hypothesis-profile campaign $(CAMPAIGN) $(ARGS)

.PHONY: kills
kills: $(STAMP) ## Kill streams for longer: make kills KILLS=200 SEED=7
	$(WITH_JAVA) TAMIS_REQUIRE_JAVA=1 TAMIS_KILLS=$(or $(KILLS),200) TAMIS_KILLS_SEED=$(or $(SEED),0) \
		$(PYTEST) -s tests/spark/test_kills.py $(ARGS)

.PHONY: lint
lint: $(STAMP) ## Style, formatting and types
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

.PHONY: format
format: $(STAMP) ## Rewrite the code in the project's format
	$(PY) -m ruff check --fix-only
	$(PY) -m ruff format

.PHONY: bench
bench: $(STAMP) ## Run benchmarks: make bench NAME=... ARGS=--quick
	@$(WITH_JAVA) $(PY) -m benchmarks $(NAME) $(ARGS)

.PHONY: docs-check
docs-check: $(STAMP) ## Run the examples of the documentation
	$(WITH_JAVA) $(PYTEST) tests/test_docs.py $(ARGS)

.PHONY: clean
clean: ## Remove caches and builds (.venv stays)
	rm -rf build dist artifacts spark-warehouse metastore_db derby.log
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
