# Tests, lint, mutants.
C_SOURCES = $(shell git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cpp' '*.hpp')
# sub-makes: keep the jobserver of the caller, else use JOBS processes
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))

.PHONY: test check lint mutants axi-table
test: ## quick tests of the libraries and tools
	@$(MAKE) -s $(PARALLEL) host tests
	@$(MAKE) -s $(PARALLEL) python SAN= KIND=fast PYTHON_RTL="$(PYTHON_TEST_RTL)"
	@HOST="$(HOST)" BUILD="$(BUILD)" TANDEM_PYTHON="$(abspath $(BUILD)/python)" TANDEM_REGRESS="$(HOST)/tandem-regress" \
	  scripts/run_tests.sh $(TEST_PROGRAMS)

check: ## all tests, with full case counts and with sanitizers
	@TANDEM_CHECK=1 $(MAKE) --no-print-directory test
	@TANDEM_CHECK=1 $(MAKE) --no-print-directory test SAN=1

lint: $(GENERATED) ## registers, RTL (Verilator, Yosys), source format, layers of includes, freestanding driver
	@BUILD="$(BUILD)" VERILATOR="$(VERILATOR)" scripts/lint.sh

axi-table: ## write docs/axi-rules.md: rules of the AXI checker and the traces that test them
	@$(PYTHON) tools/axi_table.py

MODE ?= all
mutants: ## deliberate bugs in tests/mutants/DUT: found, blamed on the right unit, caught by the right check \
    (MODE=kill, name, caught, all)
	@DUT="$(DUT)" SUITE="$(SUITE)" MODE="$(MODE)" JOBS="$(JOBS)" scripts/mutants.sh
