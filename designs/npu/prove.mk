# Proofs about the RTL (docs/proofs.md).
.PHONY: prove
prove: ## sign-off | prove properties of the RTL with the SAT solver of Yosys | P=name: one proof or group, * \
    matches any text; ALL=1: also the slow ones; TIMEOUT=300: seconds for each proof; JSON=file: write the \
    results as JSON
	@$(PYTHON) designs/npu/tools/prove.py $(if $(ALL),--all) $(if $(TIMEOUT),--timeout $(TIMEOUT)) \
	  $(if $(JSON),--json $(JSON)) $(P)
