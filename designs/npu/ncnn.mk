# The contract with ncnn's INT8 arithmetic (docs/npu/ncnn-contract.md): its reference, and its tests alone.
SRC_ncnnref := $(wildcard tests/ncnn_*.c)
$(eval $(call library,ncnnref))
$(HOST)/tests/test_ncnn_contract: $(HOST)/libncnnref.a
# random networks for the runtime, against the same reference
SRC_netrandom := $(wildcard tests/net_random.c)
$(eval $(call library,netrandom))
$(HOST)/support/net-random: tests/support/net_random_main.c $(HOST)/libnetrandom.a $(HOST)/libtb.a $(HOST)/libopt.a \
  $(HOST)/libreport.a $(HOST)/flags.c $(HOST)/flags.ld
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) $< $(filter %.a,$^) -o $@ -lm
tests: $(HOST)/support/net-random
$(HOST)/tests/test_net_runtime: $(HOST)/libncnnref.a $(HOST)/libnetrandom.a
$(HOST)/tests/test_net_part: $(HOST)/libnetrandom.a

.PHONY: ncnn
ncnn: ## networks | run random layers of ncnn against the reference | also runs SqueezeNet, if its data is \
    there; COUNT=cases: how many layers
	@scripts/build.sh $(HOST)/tests/test_ncnn_contract
	TANDEM_CHECK=1 $(if $(call given,COUNT),TANDEM_NCNN_COUNT=$(COUNT)) $(HOST)/tests/test_ncnn_contract
	TANDEM_CHECK=1 $(PYTHON) -m pytest -q -s -p no:cacheprovider tests/test_ncnn_contract.py
