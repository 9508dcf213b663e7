# tandem on the golden model alone, without Verilated code: build/host/tandem-model, mesh size 8. For tests of the
# program and of the testcases.
OBJ_tandem_model := $(SRC_tandem:%.c=$(HOST)/obj-n8/%.o)
-include $(call deps,$(OBJ_tandem_model:.o=.d))
$(HOST)/obj-n8/%.o: %.c $(HOST)/flags.c
	@mkdir -p $(@D)
	@echo "  CC    $< (n8, model)"
	@$(CCACHE) $(CC) $(CFLAGS_ALL) $(call cfg_macros,n8) -MMD -MP -c $< -o $@
$(HOST)/tandem-model: $(OBJ_tandem_model) $(HOST_LIBS) $(HOST)/flags.ld
	@$(call link,$(CC) $(LDFLAGS_ALL) $(REFUSALS_NOTED) $(OBJ_tandem_model) -Wl$(,)--start-group $(HOST_LIBS) \
	  -Wl$(,)--end-group -ljansson -lz -lm -lpthread)
# the same without its main program, for tests of internal functions
$(HOST)/libtandemn8.a: $(filter-out %/testcases/npu/main.o,$(OBJ_tandem_model))
	@$(call archive,$^)
$(addprefix $(HOST)/tests/,test_graph_settle test_nonsense test_report): $(HOST)/libtandemn8.a
host: $(HOST)/tandem-model

# networks on the golden model alone
OBJ_netmain := $(patsubst %.c,$(HOST)/obj/%.o,$(wildcard network/main/*.c))
-include $(call deps,$(OBJ_netmain:.o=.d))
$(HOST)/tandem-net-model: $(OBJ_netmain) $(HOST_LIBS) $(HOST)/flags.ld
	@$(call link,$(CC) $(LDFLAGS_ALL) $(REFUSALS_NOTED) $(OBJ_netmain) -Wl$(,)--start-group $(HOST_LIBS) \
	  -Wl$(,)--end-group -ljansson -lz -lm -lpthread)
host: $(HOST)/tandem-net-model

# bugs that cause hangs, activations
.PHONY: hang-bugs act-errors
hang-bugs: ## sign-off | check that reports of hangs name the unit with the bug | the bugs are in \
    tests/hang_bugs.patch
	@$(PYTHON) designs/npu/tools/hang_bugs.py

ACT_FITTED := sigmoid tanh swish mish elu softplus gelu gelu_tanh
act-errors: ## sign-off | measure errors of activations and functions, all 2^32 inputs
	@scripts/build.sh $(HOST)/tests/test_cm_act $(HOST)/tests/test_cm_func
	@printf '%s\n' $(ACT_FITTED) | xargs -P $(JOBS) -n 1 $(HOST)/tests/test_cm_act sweep
	@printf '%s\n' exp recip rsqrt | xargs -P $(JOBS) -n 1 $(HOST)/tests/test_cm_func sweep
