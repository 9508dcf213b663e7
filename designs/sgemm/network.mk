# A network on the engine (docs/engines.md).
NET ?= models/lenet/lenet.param
BIN ?= models/lenet/lenet.bin
IMAGES ?= models/digits/heldout.csv --norm 0.0625 --order gray
.PHONY: network
network: ## networks | run a network on model and RTL: LeNet, or NET= | NET= BIN= IMAGES="FILE ... options" \
    [COUNT= NET_ARGS=--half]: another network; DEVICE=model: without the RTL
	@scripts/build.sh $(OUT)/tandem-net
	@$(OUT)/tandem-net run --target $(DUT) --device $(or $(DEVICE),tandem) --net $(NET) --bin $(BIN) --image $(IMAGES) \
	  --count $(or $(COUNT),10) $(if $(call given,SEED),--seed $(SEED)) $(NET_ARGS)
