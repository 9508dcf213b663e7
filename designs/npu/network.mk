# Networks, predicted and published cycles (docs/network.md, docs/npu/performance.md).
N := $(CFG:n%=%)

# topologies that the suite `networks` runs
SUITE_NETS := yolov3 retinaface yolov5s yolov7_tiny resnet50 yolov3_tiny yolov4_tiny mobilenet_yolo x_tiny_yolo \
  squeezenet
build/networks/%.param: tools/netgen.py
	@mkdir -p $(@D)
	@$(PYTHON) tools/netgen.py $* $@ >/dev/null
# X-TINY YOLO of document 004; boxes of low scores count, as its weights are from a seed
XTINY_NETS := $(addprefix build/networks/x_tiny_boxes_,64.param 224.param)
build/networks/x_tiny_boxes_%.param: tools/netgen.py
	@mkdir -p $(@D)
	@$(PYTHON) tools/netgen.py x_tiny_yolo $@.new --size $*x$* >/dev/null
	@sed 's/ 2=3.000000e-01/ 2=2.000000e-02/' $@.new >$@.low && rm $@.new && mv $@.low $@
REGRESS_DATA += $(XTINY_NETS)
REGRESS_DATA += $(if $(filter networks,$(SUITE)),$(SUITE_NETS:%=build/networks/%.param))

NET_ARGS = $(if $(NET),--net $(NET) --bin $(BIN)) $(if $(IMAGES),--images $(IMAGES)) $(if $(CALIB),--calib $(CALIB)) \
  $(if $(DEVICE),--device $(DEVICE)) $(if $(ASYM),--asym) $(if $(INT16),--int16) \
  $(if $(COUNT),--count $(COUNT)) $(if $(call given,SEED),--seed $(SEED)) $(WAVE_ARGS)
# without labelled images: one inference of any network, with the report of the runtime
RUN_ARGS = run --net $(NET) $(if $(BIN),--bin $(BIN)) $(if $(INPUT),--input $(INPUT)) $(if $(IMAGE),--image $(IMAGE)) \
  $(if $(TABLE),--table $(TABLE)) $(if $(NAMES),--names $(NAMES)) $(if $(MEAN),--mean $(MEAN)) \
  $(if $(NORM),--norm $(NORM)) $(if $(ORDER),--order $(ORDER)) $(if $(SHAPE),--shape $(SHAPE)) \
  $(if $(DEVICE),--device $(DEVICE)) $(if $(PLAN),--plan $(PLAN)) \
  $(if $(JSON),--json $(JSON)) $(if $(STALLS),--stalls) $(if $(call given,SEED),--seed $(SEED)) $(WAVE_ARGS)
network: ## networks | run a network on model and RTL: handwritten digits, or NET= | NET= BIN= IMAGES= [CALIB= \
    COUNT= ASYM=1 INT16=1]: quantise this network and measure its accuracy over the images (ASYM=1: with \
    zero-points); NET= [BIN= SHAPE=WxHxC INPUT=x.f32 IMAGE= ORDER=bgr|rgb|gray MEAN= NORM= TABLE= NAMES= JSON= \
    PLAN=search]: run this network once, with a report; DEVICE=model, rtl or tandem: what it runs on
	@scripts/build.sh $(OUT)/tandem-net
	$(OUT)/tandem-net $(if $(IMAGES)$(if $(NET),,digits),$(NET_ARGS),$(RUN_ARGS))

.PHONY: networks
networks: ## networks | run every topology of DATA= through the runtime | writes docs/networks.md; DATA=: folder \
    with param/ and darknet/, to which the topologies of tools/netgen.py are added; NCNN=: folder with ncnn's \
    package, to compare with it; TANDEM=1: run them on the RTL with N=32, too; MORE=: more files
	$(call need,DATA,make networks DATA=folder)
	@scripts/build.sh $(HOST)/tandem-net-model
	@$(if $(NCNN),$(MAKE) --no-print-directory python)
	@$(if $(TANDEM),scripts/build.sh CFG=n32 KIND=fast $(BUILD)/n32-fast/tandem-net)
	$(PYTHON) tools/survey_networks.py --program $(HOST)/tandem-net-model --data $(DATA) --n $(N) --seed $(SEED) \
	  $(if $(NCNN),--ncnn $(NCNN)) $(if $(TANDEM),--tandem $(BUILD)/n32-fast/tandem-net) \
	  $(if $(MORE),--more $(MORE)) --output docs/networks.md

.PHONY: engines
engines: ## networks | run networks on the other engines, beside FP32 | writes docs/engines.md; DATA=: folder \
    with photographs and SqueezeNet v1.1
	$(call need,DATA,make engines DATA=folder)
	@scripts/build.sh $(HOST)/tandem-net-model
	@scripts/build.sh DUT=sgemm CFG=s8r4 KIND=fast $(BUILD)/sgemm/s8r4-fast/tandem-net
	@scripts/build.sh DUT=sac CFG=s KIND=fast $(BUILD)/sac/s-fast/tandem-net
	$(PYTHON) tools/survey_engines.py $(BUILD) $(DATA) docs/engines.md

.PHONY: widths
WIDTHS = $(HOST)/tandem-net-model widths
widths: ## networks | compare INT8, asymmetric INT8 and INT16 with FP32, by layer | runs digits and detector on \
    the golden model; DATA=: folder with SqueezeNet v1.1, which then runs, too
	@scripts/build.sh $(HOST)/tandem-net-model
	@$(WIDTHS) --net models/digits/digits.param --bin models/digits/digits.bin --norm 0.0625 --order gray \
	  --image models/digits/heldout.csv --ranges models/digits/calibration.csv
	@$(WIDTHS) --net models/detector/detector.param --bin models/detector/detector.bin --norm 0.0078125 --mean 128 \
	  --order gray --image models/detector/pictures/*.png
	@$(if $(DATA),$(WIDTHS) --net $(DATA)/squeezenet/squeezenet_v1.1.param \
	  --bin $(DATA)/squeezenet/squeezenet_v1.1.bin --mean 104,117,123 --image $(DATA)/images/*.jpg)

.PHONY: predict
predict: ## networks | compare predicted cycles of operators with the RTL's | CFG=, SHAPE=56x56x64: the \
    configuration and the input of single operators; NET=: another network instead
	@scripts/build.sh $(OUT)/tandem-net
	@$(OUT)/tandem-net run --net $(or $(NET),bench/operators.param --shape $(or $(SHAPE),56x56x64)) --each --device rtl

.PHONY: schedule
schedule: $(SUITE_NETS:%=build/networks/%.param)
schedule: ## networks | compare searched splits of convolutions with the driver's | CFG=n32: the configuration; \
    NETS=: other networks than the published ones, FILE.param[@WxHxC]; DEVICE=rtl: measure the layers whose \
    split differs; LAYERS=1: print a line for each layer
	@scripts/build.sh $(OUT)/tandem-net
	@$(OUT)/tandem-net schedule --device $(or $(DEVICE),model) $(if $(LAYERS),--layers) \
	  $(or $(NETS),$(SUITE_NETS:%=build/networks/%.param) \
	  $(addsuffix @300x300x3,$(wildcard ../shared/data/param/mobilenet_ssd.param)) \
	  $(addsuffix @352x352x3,$(wildcard ../shared/data/param/mobilenetv2_yolov3.param)))

.PHONY: passes
PASS_NETS := squeezenet yolov3_tiny yolov4_tiny yolov7_tiny yolov5s
passes: $(PASS_NETS:%=build/networks/%.param)
passes: ## networks | show what graph passes save: shared memory, merged layers | CFG=n32: the \
    configuration; NETS=: other networks, FILE.param[@WxHxC]; DEVICE=rtl: measure cycles on the RTL instead of \
    predicting them
	@scripts/build.sh $(OUT)/tandem-net
	@$(PYTHON) tools/pass_table.py --program $(OUT)/tandem-net --cfg $(CFG) --device $(or $(DEVICE),model) \
	  $(or $(NETS),$(PASS_NETS:%=build/networks/%.param) \
	  $(addsuffix @224x224x3,$(wildcard ../shared/data/param/googlenet.param ../shared/data/param/shufflenet_v2.param)))

.PHONY: xtiny
xtiny: build/networks/x_tiny_yolo.param
xtiny: ## networks | compare X-TINY YOLO with the equations of document 004 | runs each layer in tandem, with \
    N=8 and N=32, in a minute
	@scripts/build.sh CFG=n8 KIND=fast $(BUILD)/n8-fast/tandem-net
	@scripts/build.sh CFG=n32 KIND=fast $(BUILD)/n32-fast/tandem-net
	@$(PYTHON) tools/xtiny_table.py --net $< $(BUILD)/n8-fast/tandem-net:partition $(BUILD)/n8-fast/tandem-net:driver \
	  $(BUILD)/n32-fast/tandem-net:partition $(BUILD)/n32-fast/tandem-net:driver

.PHONY: figures
FIGURES_COMMIT = $(shell git rev-parse --short=12 HEAD 2>/dev/null || \
  echo unknown)$(if $(shell git status --porcelain 2>/dev/null | head -n 1),+)
figures: ## sign-off | compare published cycle figures with the RTL's | runs full sizes with N=32, in about 3 \
    minutes
	@scripts/build.sh CFG=n32 KIND=fast $(BUILD)/n32-fast/bench-figures
	@$(BUILD)/n32-fast/bench-figures $(if $(MD),--markdown) --json $(BUILD)/figures.json --commit "$(FIGURES_COMMIT)"
# published cycle figures beside those of the RTL
-include $(call deps,$(OUT)/obj/bench/figures.d)
$(OUT)/bench-figures: $(OUT)/obj/bench/figures.o $(DUT_npu_top) $(TANDEM_LIBS:%=$(HOST)/lib%.a) $(VLT)/libverilated.a \
  $(HOST)/flags.ld
	@$(call link_top,$(OUT)/obj/bench/figures.o,npu_top,$(TANDEM_LIBS))
