# Host libraries and programs: everything that does not depend on the configuration.
SRC_cmodel := $(wildcard cmodel/lib/*.c $(addsuffix /*.c,$(call rooms,cmodel)))
SRC_drivers := $(wildcard $(addsuffix /*.c,$(call rooms,drivers)))
# hosted code beside the freestanding driver
SRC_halmmio := drivers/lib/hal_mmio.c
SRC_tb := $(filter-out $(addsuffix /%,$(call rooms,tb)),$(wildcard tb/*.c tb/*/*.c))
$(foreach d,$(DUTS),$(eval SRC_tb$(d) := $$(wildcard $(call room,$(d),tb)/*.c $(call room,$(d),tb)/score/*.c)))
# command lines of all programs
SRC_opt := $(wildcard opt/*.c)
SRC_network := $(wildcard network/*.c)
# networks on a design other than the default one
$(foreach d,$(DUTS),$(eval SRC_net$(d) := $$(wildcard $(call room,$(d),network)/*.c)))
NET_LIBS := $(foreach d,$(DUTS),$(if $(SRC_net$(d)),net$(d)))
SRC_coverage := $(wildcard coverage/*.c)
$(foreach d,$(DUTS),$(eval SRC_cov$(d) := $$(wildcard $(call room,$(d),coverage)/*.c)))
SRC_covcode := $(wildcard coverage/code/*.c)
SRC_covbench := $(wildcard coverage/bench/*.c)
SRC_report := $(wildcard report/*.c)
# for programs that are linked with $(REFUSALS_NOTED)
SRC_alloc := $(wildcard report/alloc/*.c)
# tests link this library last: a program without a Verilated top has no shim
SRC_noshim := $(wildcard tests/support/no_shim.c)
# support code shared by several tests
SRC_support := $(wildcard tests/support/axi_*.c tests/support/cache_*.c)
LIBS := cmodel drivers halmmio tb $(DUTS:%=tb%) network $(NET_LIBS) $(DUTS:%=cov%) covbench covcode coverage opt alloc \
  report support noshim

# the golden model, the checks of units and the networks' layers: their loops over lanes and channels profit from
# vectorisation
$(HOST)/obj/cmodel/%.o $(HOST)/obj/network/%.o $(HOST)/obj/tb/axi/%.o $(HOST)/obj/tb/tap/%.o \
  $(foreach d,$(DUTS),$(HOST)/obj/$(call room,$(d),tb)/score/%.o): OPT += $(if $(filter san,$(KIND)),,-O3)
# comparisons with NaN do not keep loops from being vectorised; nothing looks at the exception flags
$(HOST)/obj/network/int8_fast.o $(HOST)/obj/network/op_pool.o: OPT += -fno-trapping-math
# model and driver are counted by gcov; -O1 without inlining keeps the lines and arms that the source has. Several
# processes add to the same files, which libgcov locks.
GCOV_FLAGS := $(if $(filter cov,$(KIND)),-O1 --coverage -fno-inline)
ifeq ($(KIND),cov)
$(HOST)/obj/cmodel/%.o $(HOST)/obj/drivers/%.o: OPT := -g $(if $(ARCH),-march=$(ARCH))
$(HOST)/obj/cmodel/%.o $(HOST)/obj/drivers/%.o: GCOV := $(GCOV_FLAGS)
endif
# headers of the design that a folder belongs to
$(foreach d,$(DUTS),$(foreach r,cmodel drivers tb coverage network,$(eval $(HOST)/obj/$(call room,$(d),$(r))/%.o: \
  ROOM_INCLUDES := $(call room_includes,$(d)))))
# tests/test_NAME.c, tests/test_NAME_*.c: the tests of model and driver of that design
$(foreach d,$(DUTS),$(eval $(patsubst %.c,$(HOST)/obj/%.o,$(wildcard tests/test_$(d).c tests/test_$(d)_*.c)): \
  ROOM_INCLUDES += $(call room_includes,$(d))))
$(eval $(call stamp,$(HOST)/flags.c,$(CC) $(CFLAGS_ALL)$(GCOV_FLAGS:%= %)))
$(eval $(call stamp,$(HOST)/flags.ld,$(CC) $(LDFLAGS_ALL)))

$(HOST)/obj/%.o: %.c $(HOST)/flags.c
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(if $(filter cov,$(KIND)),rm -f $(@:.o=.gcda))
	@$(CCACHE) $(CC) $(CFLAGS_ALL) -MMD -MP -c $< -o $@

# The style of the pages is a CSS file, which the library holds as a string.
$(HOST)/page_css.inc: report/page.css
	@mkdir -p $(@D)
	@sed '/^\/\*.*\*\/$$/d; /^\/\*/,/\*\/$$/d; s/^ *//; s/.*/"&"/' $< > $@
$(HOST)/obj/report/page.o: $(HOST)/page_css.inc
$(HOST)/obj/report/page.o: CFLAGS += -DREP_PAGE_CSS='"$(HOST)/page_css.inc"'

# The FST library that Verilator ships (the older ones; without it FSTs are read through fst2vcd). A Verilated program
# with tracing has it too, under the same names: all of this object's symbols become local but its own. UBSan is off for
# the library, whose arithmetic is not ours.
FSTAPI := $(wildcard $(VROOT)/include/gtkwave/fstapi.c)
FST_FLAGS := $(if $(FSTAPI),-DTB_WAVE_FSTAPI -isystem $(patsubst %/gtkwave/fstapi.c,%,$(FSTAPI)) \
  -fno-sanitize=undefined)
$(eval $(call stamp,$(HOST)/flags.fst,$(FST_FLAGS)))
$(HOST)/obj/tb/wave/fst_lib.o: tb/wave/fst_lib.c $(HOST)/flags.c $(HOST)/flags.fst
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CCACHE) $(CC) $(CFLAGS_ALL) $(FST_FLAGS) -MMD -MP -c $< -o $@
	@objcopy --wildcard --keep-global-symbol='wave_*' $@

# $(1): library. The list of members is a stamp, so that a removed file leaves the archive.
define library
OBJ_$(1) := $$(SRC_$(1):%.c=$(HOST)/obj/%.o)
$$(eval $$(call stamp,$(HOST)/lib$(1).list,$$(SRC_$(1))))
$(HOST)/lib$(1).a: $$(OBJ_$(1)) $(HOST)/lib$(1).list
	@$$(call archive,$$(OBJ_$(1)))
-include $$(call deps,$$(OBJ_$(1):.o=.d))
endef
$(foreach l,$(LIBS),$(eval $(call library,$(l))))
HOST_LIBS := $(LIBS:%=$(HOST)/lib%.a)

# the runner
SRC_regress := $(wildcard regress/*.c)
OBJ_regress := $(SRC_regress:%.c=$(HOST)/obj/%.o)
-include $(call deps,$(OBJ_regress:.o=.d))
$(HOST)/tandem-regress: $(OBJ_regress) $(HOST)/libtb.a $(HOST)/libopt.a $(HOST)/liballoc.a $(HOST)/libreport.a \
  $(HOST)/flags.ld
	@$(call link,$(CC) $(LDFLAGS_ALL) $(REFUSALS_NOTED) $(filter %.o,$^) $(filter %.a,$^) -lsqlite3 \
	  -ljansson -lm -lpthread)

# cmocka programs; a test of the runner finds its objects in a library without its main program
TESTS := $(patsubst tests/%.c,%,$(wildcard tests/test_*.c))
OBJ_regress_lib := $(filter-out %/main.o,$(OBJ_regress))
$(HOST)/libregress.a: $(OBJ_regress_lib)
	@$(call archive,$^)
OBJ_tests := $(TESTS:%=$(HOST)/obj/tests/%.o)
-include $(call deps,$(OBJ_tests:.o=.d))
TEST_PROGRAMS := $(TESTS:%=$(HOST)/tests/%)
$(HOST)/tests/%: $(HOST)/obj/tests/%.o $(HOST_LIBS) $(HOST)/libregress.a $(HOST)/flags.ld
	@mkdir -p $(@D)
	@$(call link,$(CC) $(LDFLAGS_ALL) $< -Wl$(,)--start-group $(filter %.a,$^) -Wl$(,)--end-group -lcmocka \
	  -lsqlite3 -ljansson -lz -lm -lpthread)
# keep objects of pattern rules
.SECONDARY: $(OBJ_tests)

# writes FST files for tests, where Verilator ships the library
$(HOST)/support/vcd2fst: tests/support/vcd2fst.c $(HOST)/libtb.a $(HOST)/libopt.a $(HOST)/libreport.a $(HOST)/flags.c \
  $(HOST)/flags.fst $(HOST)/flags.ld
	@mkdir -p $(@D)
	@echo "  CC    $@"
	@$(CC) $(CFLAGS_ALL) $(FST_FLAGS) -c $< -o $@.o
	@$(CC) $(LDFLAGS_ALL) $@.o $(filter %.a,$^) -o $@ -lz -lm -lpthread

.PHONY: host tests
host: $(HOST_LIBS) $(if $(SRC_regress),$(HOST)/tandem-regress)
tests: $(TEST_PROGRAMS) $(FAULTS) $(if $(FSTAPI),$(HOST)/support/vcd2fst)

# coverage files: merge, report, rank, gate
SRC_covmain := $(wildcard coverage/main/*.c)
OBJ_covmain := $(SRC_covmain:%.c=$(HOST)/obj/%.o)
-include $(call deps,$(OBJ_covmain:.o=.d))
$(HOST)/tandem-cov: $(OBJ_covmain) $(HOST)/libcovcode.a $(HOST)/libcoverage.a $(HOST)/libopt.a $(HOST)/liballoc.a \
  $(HOST)/libreport.a $(HOST)/flags.ld
	@$(call link,$(CC) $(LDFLAGS_ALL) $(REFUSALS_NOTED) $(filter %.o,$^) $(filter %.a,$^) -ljansson -lz -lpthread)
host: $(if $(SRC_covmain),$(HOST)/tandem-cov)
