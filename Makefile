# Tasks of the project; `make` alone lists them. Python 3.11 or later with pip is all that must be there.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
PYTEST := $(PY) -m pytest
STAGE := scripts/stage.sh

# PySpark trusts these from the environment: only the one in $(VENV) will do.
unexport SPARK_HOME PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON PYTHONPATH PYTHONHOME
# Every worker of Spark and of pytest would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

# Prefix of what runs Spark: asked every time, so that a JDK that has come or gone is noticed.
WITH_JAVA = JAVA_HOME="$$($(PY) scripts/java_home.py)"; export JAVA_HOME;

# What takes seconds only to be imported, and has nothing for `make check`.
NOT_QUICK := tests/lab tests/campaigns tests/operators/library/test_models.py tests/service/api/test_openapi.py \
	$(wildcard tests/*benchmark*.py tests/*claims.py tests/service/page/test_browser*.py)
PROPERTIES := tests/language tests/engines tests/segments tests/formulas tests/patterns tests/syntax tests/lab tests/test_independence.py

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

.PHONY: wheel
wheel: $(STAMP) ## A wheel for this platform with compiled kernels, in dist/
	@scripts/wheel.sh $(VENV) dist

.PHONY: tour
tour: $(STAMP) ## A look at the command line, on the data in examples/
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" scripts/tour.sh

.PHONY: test
test: $(STAMP) ## Everything: lint, all tests with Spark, documentation examples, each benchmark once
	@$(STAGE) --begin
	@$(STAGE) style $(MAKE) --no-print-directory style
	@$(STAGE) types $(PY) -m mypy
	@$(WITH_JAVA) TAMIS_REQUIRE_JAVA=1 $(STAGE) tests scripts/tests.sh $(PY) -n 3 --dist loadgroup --durations 20 $(ARGS)
	@$(STAGE) --end

# At once: mypy has one thread.
.PHONY: check
check: $(STAMP) ## The quick loop: lint and the product's tests that need no Java, no server and no patience
	@$(MAKE) --no-print-directory -j 2 lint quick

.PHONY: quick
quick: $(STAMP) ## Only the tests of `make check`
	$(PYTEST) -n 2 --dist worksteal -p no:schemathesis $(addprefix --ignore ,$(NOT_QUICK)) --hypothesis-profile quick -m "not (spark or slow or lab or server)" $(ARGS)

.PHONY: oracle
oracle: $(STAMP) ## Compare with Spark for longer: make oracle PAIRS=100000 SEED=7
	$(WITH_JAVA) TAMIS_REQUIRE_JAVA=1 TAMIS_ORACLE_PAIRS=$(or $(PAIRS),100000) TAMIS_ORACLE_SEED=$(or $(SEED),0) \
		$(PYTEST) tests/language/test_spark_oracle.py $(ARGS)

.PHONY: properties
properties: $(STAMP) ## The property tests with many more examples, from a random seed
	TAMIS_FUZZ_TEXTS=100000 $(PYTEST) -n 2 -m "not spark" --hypothesis-profile campaign $(PROPERTIES) $(ARGS)

.PHONY: campaign
campaign: $(STAMP) ## Attack for long, with a report: make campaign NAME=streams ARGS="--kills 1000 --seed 7"
	@$(WITH_JAVA) $(PY) -m tests.campaigns $(NAME) $(if $(NAME),--report artifacts/campaigns/$(NAME).json) $(ARGS)

.PHONY: lint
lint: style ## Style, formatting and types
	$(PY) -m mypy

.PHONY: style
style: $(STAMP) ## Style and formatting
	$(PY) -m ruff check
	$(PY) -m ruff format --check

.PHONY: format
format: $(STAMP) ## Rewrite the code in the project's format
	$(PY) -m ruff check --fix-only
	$(PY) -m ruff format

.PHONY: map
map: $(STAMP) ## The shape of the tree: packages in order, their lines, purpose and imports
	@$(PY) scripts/map.py $(ARGS)

.PHONY: bench
bench: $(STAMP) ## Run benchmarks: make bench NAME=... ARGS=--quick
	@$(WITH_JAVA) $(PY) -m benchmarks $(NAME) $(ARGS)

.PHONY: docs
docs: $(STAMP) ## The documentation as a site with search, in artifacts/site; every link is checked
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet
	@echo "docs: open artifacts/site/index.html"

.PHONY: release-check
release-check: $(STAMP) ## Build sdist and wheel, install each into a new environment from the index, run tutorial and demo
	@$(WITH_JAVA) $(PY) scripts/release_check.py $(ARGS)

.PHONY: docs-check
docs-check: $(STAMP) ## Run the examples of the documentation
	$(WITH_JAVA) $(PYTEST) tests/test_docs.py $(ARGS)

.PHONY: clean
clean: ## Remove caches and builds (.venv stays)
	rm -rf build dist artifacts spark-warehouse metastore_db derby.log
	rm -rf .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path ./$(VENV) -prune -o -type d -name __pycache__ -prune -exec rm -rf {} +
