# Fuzzing of the readers of files: tests/fuzz/*.c hold the targets, tests/fuzz/corpus/<target> their inputs, which
# tests/test_fuzz.c replays with any compiler.
FUZZ_TARGETS := bin case code cov fst net npy param pow2 runtime table vcd
SRC_fuzztargets := $(filter-out tests/fuzz/engine.c,$(wildcard tests/fuzz/*.c))
$(eval $(call library,fuzztargets))
$(HOST)/tests/test_fuzz: $(HOST)/libfuzztargets.a

# libFuzzer's program of a target: the same sources under clang, in a folder of their own
$(HOST)/fuzz-%: tests/fuzz/engine.c $(HOST)/libfuzztargets.a $(LIBS:%=$(HOST)/lib%.a) $(HOST)/flags.c $(HOST)/flags.ld
	@$(call link,$(CC) $(CFLAGS_ALL) -DFUZZ_TARGET=fuzz_$* -fsanitize=fuzzer $(LDFLAGS_ALL) $< \
	  -Wl$(,)--start-group $(filter %.a,$^) -Wl$(,)--end-group -lz -lm -lpthread)

FUZZ_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FUZZ_MAKE = scripts/build.sh CC=clang HOST=$(BUILD)/host-fuzz ARCH= WARNINGS= OPT='-O1 -g' \
  SANITIZE='-fsanitize=fuzzer-no-link $(FUZZ_FLAGS)'
# the stored corpus is read, new inputs go to the build folder
FUZZ_OUT = $(BUILD)/fuzz/$(T)
FUZZ_STORED = tests/fuzz/corpus/$(T)
FUZZ_ARGS = -max_len=$(if $(filter fst vcd,$(T)),8192,16384) -timeout=20 -rss_limit_mb=2048 \
  -artifact_prefix=$(FUZZ_OUT)/

# An FST may crash its library in the child: that report is not read, and symbolising its addresses takes a third of a
# second. The child's limit of memory (512 MiB, tb_wave_guard()) cannot be set under the sanitizer, which maps
# terabytes: its own limit of an allocation replaces it.
FUZZ_ENV = ASAN_OPTIONS=allocator_may_return_null=1$(if $(filter fst,$(T)),:symbolize=0:max_allocation_size_mb=512)

FUZZ_PROBE = @mkdir -p $(FUZZ_OUT)/corpus; echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
  clang -fsanitize=fuzzer -x c - -o $(FUZZ_OUT)/probe.$$$$ 2>/dev/null && rm $(FUZZ_OUT)/probe.$$$$ || \
  { echo "fuzz: clang with libFuzzer is needed (make deps deps-dev)" >&2; exit 1; }

.PHONY: fuzz fuzz-keep
fuzz: ## sign-off | feed a reader of files with hostile inputs from libFuzzer | T=param: the reader, one of bin \
    case code cov fst net npy param pow2 runtime table vcd; SECONDS=60: how long
	$(if $(filter $(FUZZ_TARGETS),$(T)),,$(error T=$(T): expected one of $(FUZZ_TARGETS)))
	$(FUZZ_PROBE)
	@$(FUZZ_MAKE) $(BUILD)/host-fuzz/fuzz-$(T)
	$(FUZZ_ENV) $(BUILD)/host-fuzz/fuzz-$(T) -max_total_time=$(or $(SECONDS),60) -print_final_stats=1 $(FUZZ_ARGS) \
	  $(FUZZ_OUT)/corpus $(FUZZ_STORED)

fuzz-keep: ## sign-off | store inputs of `make fuzz` that reach new code
	$(if $(filter $(FUZZ_TARGETS),$(T)),,$(error T=$(T): expected one of $(FUZZ_TARGETS)))
	$(FUZZ_PROBE)
	@$(FUZZ_MAKE) $(BUILD)/host-fuzz/fuzz-$(T)
	$(FUZZ_ENV) $(BUILD)/host-fuzz/fuzz-$(T) -merge=1 -use_counters=0 $(FUZZ_ARGS) $(FUZZ_STORED) $(FUZZ_OUT)/corpus
