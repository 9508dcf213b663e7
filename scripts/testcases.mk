# tandem on the golden model alone, with nothing Verilated: build/host/tandem-model, mesh size 8. For tests of the program and of the testcases.
SRC_tandem_model := $(wildcard testcases/npu/*.c testcases/npu/operator/*.c testcases/npu/network/*.c)
OBJ_tandem_model := $(SRC_tandem_model:%.c=$(HOST)/obj-n8/%.o)
-include $(OBJ_tandem_model:.o=.d)
$(HOST)/obj-n8/%.o: %.c $(HOST)/flags.c
	@mkdir -p $(@D)
	@echo "  CC    $< (n8, model)"
	@$(CCACHE) $(CC) $(CFLAGS_ALL) -DNPU_CFG_N=8 -DNPU_CFG_NAME='"n8"' -MMD -MP -c $< -o $@
$(HOST)/tandem-model: $(OBJ_tandem_model) $(HOST_LIBS) $(HOST)/flags.ld
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS_ALL) $(OBJ_tandem_model) -Wl,--start-group $(HOST_LIBS) -Wl,--end-group -o $@ -ljansson -lz -lm -lpthread
# the same without its main program, for tests of what is no command
$(HOST)/libtandemn8.a: $(filter-out %/testcases/npu/main.o,$(OBJ_tandem_model))
	@rm -f $@
	@ar rcs $@ $^
$(HOST)/tests/test_graph_settle: $(HOST)/libtandemn8.a
host: $(if $(SRC_tandem_model),$(HOST)/tandem-model)
