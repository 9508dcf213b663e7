# A network on the engine (docs/engines.md).
NET ?= models/digits/digits.param
BIN ?= models/digits/digits.bin
IMAGES ?= models/digits/heldout.csv --norm 0.0625 --order gray
NET_ARGS ?= $(if $(filter models/digits/digits.param,$(NET)),--pow2 models/digits/digits.pow2 \
  --calib models/digits/calibration.csv)
.PHONY: network
network: ## networks | run a network on model and RTL: digits, or NET= | NET= BIN= IMAGES="FILE ... options" \
    [COUNT= NET_ARGS="--pow2 FILE"]: another network; DEVICE=model: without the RTL
	@scripts/build.sh $(OUT)/tandem-net
	@$(OUT)/tandem-net run --target $(DUT) --device $(or $(DEVICE),tandem) --net $(NET) --bin $(BIN) --image $(IMAGES) \
	  --count $(or $(COUNT),10) $(if $(call given,SEED),--seed $(SEED)) $(NET_ARGS)
