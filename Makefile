# The commands of this project. Each works alone on a fresh clone: it first runs scripts/setup, which does nothing
# when all is there. The build itself is CMake's; see CMakePresets.json.

JOBS ?= $(shell scripts/jobs)
CONFIGURE = cmake --log-level=NOTICE --preset
BUILD = cmake --build build/$(1) --parallel $(JOBS)
CTEST = ctest --test-dir build/$(1) --output-on-failure --parallel $(JOBS)

# Modules whose tests run under the address and undefined-behaviour sanitizers in `make test`.
ASAN_MODULES = base storage format
empty :=
list = $(subst $(empty) $(empty),;,$(1))

define BUILD_TESTS
$(CONFIGURE) dev -DLAKE_TEST_ASAN="$(call list,$(ASAN_MODULES))"
$(call BUILD,dev)
$(CONFIGURE) asan-core
$(call BUILD,asan-core) --target $(ASAN_MODULES:%=lake_%_test)
@rm -rf build/dev/results
endef

.DEFAULT_GOAL := help
.PHONY: help
help: ## Say what there is
	@echo "lake: an open lakehouse for multimodal data. Targets:"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "  %-12s %s\n", $$1, $$2 }'

.PHONY: build
build: ## Build the release binary, build/release/bin/lake
	@scripts/setup build
	$(CONFIGURE) release
	$(call BUILD,release) --target lake
	@echo "built build/release/bin/lake"

.PHONY: demo
demo: build ## Do the main job on real data in demo-data/; FILES=/some/folder takes your own files
	@scripts/setup demo
	@scripts/demo $(if $(FILES),"$(FILES)")

.PHONY: test
test: ## Run the whole suite, which is what CI runs
	@scripts/setup build test demo
	$(BUILD_TESTS)
	$(call CTEST,dev)

.PHONY: test-long
test-long: ## Run the full-size forms and the fuzzers, and write docs/evidence/
	@scripts/setup build test demo fuzz
	$(BUILD_TESTS)
	scripts/test-long

.PHONY: test-asan
test-asan: ## Run the whole suite under the address and undefined-behaviour sanitizers
	@scripts/setup build test demo
	$(CONFIGURE) asan
	$(call BUILD,asan)
	@rm -rf build/asan/results
	$(call CTEST,asan) -E '^(check|conformance)$$'

.PHONY: test-tsan
test-tsan: ## Run the modules below the query engine under the thread sanitizer
	@scripts/setup build test
	$(CONFIGURE) tsan
	$(call BUILD,tsan)
	@rm -rf build/tsan/results
	TSAN_OPTIONS="suppressions=$(CURDIR)/tests/tsan_suppressions.txt" $(call CTEST,tsan)

.PHONY: fuzz
fuzz: ## Fuzz every decoder; FUZZ_SECONDS=60 each
	@scripts/setup build test fuzz
	scripts/fuzz --seconds $(or $(FUZZ_SECONDS),60)

.PHONY: check
check: ## Check format, layers, sizes, names and spelling
	@scripts/setup build test
	@scripts/check

.PHONY: format
format: ## Format the C++ sources in place
	@scripts/setup test
	@scripts/sources | xargs clang-format-19 -i

.PHONY: bench
bench: build ## Measure lake beside pylance and DuckDB on Parquet
	@scripts/setup test
	$(call BUILD,release) --target lake_bench
	.deps/venv/bin/python bench/run.py --worker build/release/bin/lake_bench

.PHONY: dist
dist: build ## Make dist/lake-<version>-linux-<arch>.tar.gz with libraries, notices and SBOM
	@scripts/dist

.PHONY: clean
clean: ## Remove what was built; .deps/ and the compiler cache stay
	rm -rf build dist
