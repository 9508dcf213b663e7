# The Python package `tandem` (docs/python.md): build/python/tandem, and one shared object for each Verilated design,
# which a device loads when it is opened.
PYPKG := $(BUILD)/python$(if $(filter san,$(KIND)),-san)/tandem
PYOBJ := $(BUILD)/python$(if $(filter san,$(KIND)),-san)-obj
# shared objects export only the symbols that a file lists, so calls between their files are as direct as in a program
PIC := -fPIC -fvisibility=hidden -fno-semantic-interposition

# which builds of the RTL; others can be added later: make python CFG=, make python CFG= KIND=debug
PYTHON_RTL ?= $(if $(call given,CFG)$(call given,KIND)$(call given,WAVE)$(SAN),$(CFG)-$(KIND),$($(DUT).quick:%=%-fast))

# of its tests
PYTHON_TEST_RTL := $(firstword $($(DUT).quick))-fast \
  $(if $(filter 1,$(TANDEM_CHECK)),$(firstword $($(DUT).quick))-debug $(lastword $($(DUT).quick))-fast)

.PHONY: python python-package
python: ## the Python package in build/python: [CFG= KIND= for one more build of the RTL, or PYTHON_RTL="CFG-KIND .."]
	@scripts/build.sh python-package
	@for b in $(PYTHON_RTL); do \
	  scripts/build.sh CFG=$${b%-*} KIND=$${b#*-} $(PYPKG)/_rtl_$${b%-*}_$${b#*-}.so || exit 1; done

# ---- the extension: sources of the libraries again, as position-independent code ----
SRC_pymodel := python/model.c python/model_fp.c python/model_task.c python/args.c python/nd.c
SRC_pycore := $(filter-out python/model%,$(wildcard python/*.c))
# the check of a waveform is that of `tandem axi-check`
SRC_pycore += $(SRC_drivers) $(filter-out tb/prog/%,$(SRC_tb)) tb/prog/axi_check.c tb/prog/axi_check_file.c \
  $(SRC_tb$(DUT)) $(SRC_network) $(filter-out report/page.c,$(SRC_report)) $(SRC_noshim) $(SRC_opt)
# models and drivers of other designs are left out
PY_OTHERS := $(foreach d,$(filter-out $(DUT),$(DUTS)),$(call room,$(d),cmodel)/% $(call room,$(d),drivers)/%)
OBJ_pymodel := $(patsubst %.c,$(PYOBJ)/%.o,$(filter-out $(PY_OTHERS),$(SRC_pymodel) $(SRC_cmodel)))
OBJ_pycore := $(patsubst %.c,$(PYOBJ)/%.o,$(filter-out $(PY_OTHERS),$(SRC_pycore) $(SRC_cmodel)))
-include $(call deps,$(OBJ_pymodel:.o=.d) $(OBJ_pycore:.o=.d))

$(PYOBJ)/cmodel/%.o $(PYOBJ)/network/%.o $(PYOBJ)/tb/axi/%.o $(PYOBJ)/tb/tap/%.o \
  $(PYOBJ)/$(call room,$(DUT),tb)/score/%.o: OPT += $(if $(filter san,$(KIND)),,-O3)
$(eval $(call stamp,$(PYOBJ)/flags.c,$(CC) $(CFLAGS_ALL) $(PIC)))
$(PYOBJ)/%.o: %.c $(PYOBJ)/flags.c
	@mkdir -p $(@D)
	@echo "  CC    $< (Python)"
	@$(CCACHE) $(CC) $(CFLAGS_ALL) $(PIC) -MMD -MP -c $< -o $@
$(PYOBJ)/tb/wave/fst_lib.o: CFLAGS += $(FST_FLAGS)

# only `make python` needs the headers of Python
ifneq ($(filter python-package,$(MAKECMDGOALS)),)
PY_CONFIG := $(shell $(PYTHON) -c "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))")
PY_SUFFIX := $(word 2,$(PY_CONFIG))
# the headers of a debug build are links to those of the other one: gcc must not follow them to the other pyconfig.h
$(PYOBJ)/python/%.o: CFLAGS += -isystem $(word 1,$(PY_CONFIG)) \
  $(if $(findstring clang,$(CC)),,-fno-canonical-system-headers)
$(eval $(call stamp,$(PYOBJ)/flags.py,$(PY_CONFIG)))
$(filter $(PYOBJ)/python/%,$(OBJ_pymodel) $(OBJ_pycore)): $(PYOBJ)/flags.py

PY_FILES := $(patsubst python/tandem/%,$(PYPKG)/%,$(wildcard python/tandem/*.py python/tandem/*/*.py \
  python/tandem/*.pyi python/tandem/py.typed))
$(PY_FILES): $(PYPKG)/%: python/tandem/%
	@mkdir -p $(@D)
	@cp $< $@.tmp && mv $@.tmp $@
$(PYPKG)/model$(PY_SUFFIX): $(OBJ_pymodel) $(HOST)/flags.ld
	@mkdir -p $(@D)
	@$(call link,$(CC) -shared $(LDFLAGS_ALL) $(OBJ_pymodel) -lm)
$(PYPKG)/_core$(PY_SUFFIX): $(OBJ_pycore) $(HOST)/flags.ld
	@mkdir -p $(@D)
	@$(call link,$(CC) -shared $(LDFLAGS_ALL) $(OBJ_pycore) -lz -lm -ldl -lpthread)
# the device of the extension is that of the default design
ifneq ($(DUT),$(DUT_DEFAULT))
$(error DUT=$(DUT): the Python package has the device of $(DUT_DEFAULT) alone)
endif
python-package: $(PY_FILES) $(PYPKG)/model$(PY_SUFFIX) $(PYPKG)/_core$(PY_SUFFIX)
endif

# ---- one Verilated design: the model that scripts/rtl.mk generates, compiled again ----
RTLPIC := $(OUT)/v/$(TOP)/pic
$(eval $(call stamp,$(OUT)/flags.pic,$(CXX) $(VM_CXX) $(VM_FAST) $(PIC)))
# $(1): name, $(2): grep's options that choose the files, $(3): optimisation
define pic_part
$(RTLPIC)/$(1).o: $(OUT)/v/$(TOP)/V$(TOP).mk $(OUT)/flags.pic
	@mkdir -p $$(@D)
	@echo "  CXX   $(TOP), $(1) ($(CFG)-$(KIND), Python)"
	@cd $$(@D)/.. && ls V$(TOP)*.cpp | grep $(2) '__(Slow|Syms|Trace)' | sed 's|.*|#include "../&"|' > pic/$(1).cpp
	@cd $$(@D) && $(CCACHE) $(CXX) $(VM_CXX) $(PIC) $(3) -c $(1).cpp -o $(1).o
endef
$(eval $(call pic_part,model,-Ev,$(VM_FAST)))
$(eval $(call pic_part,model_slow,-E,$(VM_SLOW)))
$(RTLPIC)/shim.o: $(OUT)/v/$(TOP)/V$(TOP).mk scripts/gen_shim.py tb/sim/shim.h tb/sim/shim_impl.hpp tb/sim/vl_printf.h \
  $(OUT)/flags.pic
	@mkdir -p $(@D)
	@$(PYTHON) scripts/gen_shim.py --top $(TOP) --header $(@D)/../V$(TOP).h --output $(@D)/shim.cpp
	@$(CCACHE) $(CXX) -Itb -I$(@D)/.. $(VM_CXX) $(PIC) -DTB_SHIM_EXPORT='__attribute__((visibility("default")))' \
	  -O2 -c $(@D)/shim.cpp -o $@
VLTPIC_OBJ := $(VLT_SRC:%.cpp=$(VLT)/pic/%.o)
$(VLT)/pic/%.o: $(VROOT)/include/%.cpp $(OUT)/flags.pic tb/sim/vl_printf.h
	@mkdir -p $(@D)
	@echo "  CXX   $(notdir $<) (Python)"
	@$(CCACHE) $(CXX) $(VM_CXX) $(PIC) -O2 -include tb/sim/vl_printf.h -c $< -o $@
$(PYPKG)/_rtl_$(CFG)_$(KIND).so: $(RTLPIC)/model.o $(RTLPIC)/model_slow.o $(RTLPIC)/shim.o $(VLTPIC_OBJ) \
  $(HOST)/flags.ld
	@mkdir -p $(@D)
	@$(call link,$(CXX) -shared $(LDFLAGS_ALL) $(filter %.o,$^) $(if $(wildcard $(VROOT)/include/fstcpp),-llz4) \
	  -lz -lm -lpthread -latomic)

# ---- testcases in Python: a program beside `tandem` in every build; its text contains a hash of what it runs. The
# package is found from the program: a regression runs its own copy of both (docs/regress.md) ----
PYCASE_SAN := $(if $(filter san,$(KIND)), \
  LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc)
define PYCASE_PROGRAM
#!/bin/sh
# Testcases in Python on $(CFG)-$(KIND) (docs/python.md); what it runs has the hash HASH
$(PYCASE_SAN) PYTHONPATH="$$(realpath -s "$$(dirname "$$0")/../$(notdir $(PYPKG:/tandem=))")" \
  PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 exec $(PYTHON) -m tandem.testcase --cfg $(CFG) --kind $(KIND) \
  --folder "$(abspath $(call room,$(DUT),testcases)/python)" --build "$(abspath $(BUILD))" "$$@"
endef
$(OUT)/tandem-python: export PYCASE_TEXT = $(PYCASE_PROGRAM)
$(OUT)/tandem-python: $(PYPKG)/_rtl_$(CFG)_$(KIND).so FORCE
	@$(MAKE) -s python-package
	@hash=$$(cat $(PYPKG)/*.py $(PYPKG)/model.*.so $(PYPKG)/_core.*.so $< $(call room,$(DUT),testcases)/python/*.py \
	  python/tests/reference.py | sha256sum | cut -c 1-16); \
	  printf '%s\n' "$$PYCASE_TEXT" | sed "s/ HASH$$/ $$hash/" >$@.tmp; cmp -s $@.tmp $@ && rm $@.tmp || \
	  { chmod +x $@.tmp && mv $@.tmp $@; }
