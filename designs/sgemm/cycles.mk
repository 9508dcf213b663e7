# Cycles beside the formula (docs/sgemm/performance.md).
.PHONY: cycles
cycles: ## debugging | print cycles of GEMMs beside the formula, waits by cause | DUT=sgemm CFG=doc: the \
    configuration; GEMMS="64,64,56,NN,0": M,N,K, transposes, beta
	@scripts/build.sh CFG=$(CFG) KIND=fast $(BUILD)/sgemm/$(CFG)-fast/tandem
	@$(PYTHON) designs/sgemm/tools/cycles.py $(BUILD)/sgemm/$(CFG)-fast/tandem $(GEMMS)
