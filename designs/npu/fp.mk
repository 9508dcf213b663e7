# Vectors of the fp units (docs/fp.md): a generator on the host, and its vectors through every unit.
OBJ_fp_vectors := $(HOST)/obj/tools/fp_vectors.o
-include $(call deps,$(OBJ_fp_vectors:.o=.d))
$(HOST)/fp-vectors: $(OBJ_fp_vectors) $(HOST)/libopt.a $(HOST)/flags.ld
	@$(call link,$(CC) $(LDFLAGS_ALL) $(OBJ_fp_vectors) $(HOST)/libopt.a -lm)
host: $(HOST)/fp-vectors

FP_UNITS := $(filter fp_%,$(UNITS))
.PHONY: fp-vectors
fp-vectors: ## sign-off | run corner cases of floating point through the fp units | COUNT= SEED=: random vectors \
    besides the corner cases, and their seed
	@scripts/build.sh $(HOST)/fp-vectors $(FP_UNITS:%=$(OUT)/unit-%) </dev/null
	@designs/npu/tools/fp_vectors.sh $(HOST)/fp-vectors $(if $(call given,SEED),--seed $(SEED)) \
	  $(if $(COUNT),--count $(COUNT)) -- $(FP_UNITS:%=$(OUT)/unit-%)
