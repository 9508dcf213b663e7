# Proofs about the RTL (docs/proofs.md).
.PHONY: prove
prove: ## sign-off | prove properties of the RTL with the SAT solver of Yosys | \
    P=name: one; ALL=1: the slowest, too; TIMEOUT=seconds; \
    JSON=file
	@$(PYTHON) designs/npu/tools/prove.py $(if $(ALL),--all) $(if $(TIMEOUT),--timeout $(TIMEOUT)) \
	  $(if $(JSON),--json $(JSON)) $(P)
