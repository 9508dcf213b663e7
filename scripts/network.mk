# tandem-net without an RTL: the golden model only, any mesh size (--cfg). For tests, and for machines without Verilator.
OBJ_net_model := $(patsubst %.c,$(HOST)/obj/%.o,$(wildcard network/main/*.c))
-include $(OBJ_net_model:.o=.d)
NET_MODEL_LIBS := $(foreach l,network tbnpu tb cmodel drivers noshim,$(HOST)/lib$(l).a)
$(HOST)/tandem-net-model: $(OBJ_net_model) $(NET_MODEL_LIBS) $(HOST)/flags.ld
	@echo "  LD    $@"
	@$(CC) $(LDFLAGS_ALL) $(OBJ_net_model) -Wl,--start-group $(NET_MODEL_LIBS) -Wl,--end-group -o $@ -lz -lm -lpthread
