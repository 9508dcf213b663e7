# Proofs about the RTL (docs/proofs.md).
.PHONY: prove
prove: ## proofs with the SAT solver of Yosys: make prove [P=name] [ALL=1] [TIMEOUT=seconds] [JSON=file]
	@$(PYTHON) designs/npu/tools/prove.py $(if $(ALL),--all) $(if $(TIMEOUT),--timeout $(TIMEOUT)) \
	  $(if $(JSON),--json $(JSON)) $(P)
