# The Python package `tandem` (docs/python.md): build/python/tandem, and one shared object for each Verilated design,
# which a device loads when it is opened.
PYPKG := $(BUILD)/python$(if $(filter san,$(KIND)),-san)/tandem

# which builds of the RTL; others can be added later: make python CFG=, make python CFG= KIND=debug
PYTHON_RTL ?= $(if $(call given,CFG)$(call given,KIND)$(call given,WAVE)$(SAN),$(CFG)-$(KIND),$($(DUT).quick:%=%-fast))

# of its tests; PYTHON_TEST: what they need at least, as goals beside those of the other tests, the longest first
PYTHON_TEST_CFG := $(firstword $($(DUT).quick))
PYTHON_TEST := $(PYPKG)/_rtl_$(PYTHON_TEST_CFG)_fast.so python-package
PYTHON_TEST_RTL := $(PYTHON_TEST_CFG)-fast \
  $(if $(filter 1,$(TANDEM_CHECK)),$(firstword $($(DUT).quick))-debug $(lastword $($(DUT).quick))-fast)

.PHONY: python python-package
python: ## every day | build the Python package, in build/python | CFG= KIND=: add one more build of the RTL; \
    PYTHON_RTL="CFG-KIND ..": add several
	@scripts/build.sh python-package
	@for b in $(PYTHON_RTL); do \
	  scripts/build.sh CFG=$${b%-*} KIND=$${b#*-} $(PYPKG)/_rtl_$${b%-*}_$${b#*-}.so || exit 1; done

# ---- the extension: its own sources, and the libraries of the programs ----
OBJ_pymodel := $(addprefix $(HOST)/obj/python/,model.o model_fp.o model_task.o args.o nd.o)
OBJ_pycore := $(patsubst %.c,$(HOST)/obj/%.o,$(filter-out python/model%,$(wildcard python/*.c)))
PYLIBS := tb$(DUT) tb network cmodel drivers opt report noshim
-include $(call deps,$(OBJ_pymodel:.o=.d) $(OBJ_pycore:.o=.d))

# only `make python` needs the headers of Python
ifneq ($(filter python-package,$(MAKECMDGOALS)),)
PY_CONFIG := $(shell $(PYTHON) -c "import sysconfig as s; print(s.get_path('include'), s.get_config_var('EXT_SUFFIX'))")
PY_SUFFIX := $(word 2,$(PY_CONFIG))
# the headers of a debug build are links to those of the other one: gcc must not follow them to the other pyconfig.h
$(HOST)/obj/python/%.o: CFLAGS += -isystem $(word 1,$(PY_CONFIG)) \
  $(if $(findstring clang,$(CC)),,-fno-canonical-system-headers)
$(eval $(call stamp,$(HOST)/flags.py,$(PY_CONFIG)))
$(OBJ_pymodel) $(OBJ_pycore): $(HOST)/flags.py

PY_FILES := $(patsubst python/tandem/%,$(PYPKG)/%,$(wildcard python/tandem/*.py python/tandem/*/*.py \
  python/tandem/*.pyi python/tandem/py.typed))
$(PY_FILES): $(PYPKG)/%: python/tandem/%
	@mkdir -p $(@D)
	@cp $< $@.tmp && mv $@.tmp $@
$(PYPKG)/model$(PY_SUFFIX): $(OBJ_pymodel) $(HOST)/libcmodel.a $(HOST)/flags.ld
	@mkdir -p $(@D)
	@$(call link,$(CC) -shared $(LDFLAGS_ALL) $(OBJ_pymodel) $(HOST)/libcmodel.a -lm)
$(PYPKG)/_core$(PY_SUFFIX): $(OBJ_pycore) $(PYLIBS:%=$(HOST)/lib%.a) $(HOST)/flags.ld
	@mkdir -p $(@D)
	@$(call link,$(CC) -shared $(LDFLAGS_ALL) $(OBJ_pycore) -Wl$(,)--start-group $(PYLIBS:%=$(HOST)/lib%.a) \
	  -Wl$(,)--end-group -lz -lm -ldl -lpthread)
# the device of the extension is that of the default design
ifneq ($(DUT),$(DUT_DEFAULT))
$(error DUT=$(DUT): the Python package has the device of $(DUT_DEFAULT) alone)
endif
python-package: $(PY_FILES) $(PYPKG)/model$(PY_SUFFIX) $(PYPKG)/_core$(PY_SUFFIX)
endif

# ---- one Verilated design: the objects of its programs ----
$(PYPKG)/_rtl_$(CFG)_$(KIND).so: $(DUT_$(TOP)) $(VLT)/libverilated.a $(HOST)/flags.ld
	@mkdir -p $(@D)
	@$(call link,$(CXX) -shared $(LDFLAGS_ALL) $(DUT_$(TOP)) $(VLT)/libverilated.a \
	  $(if $(wildcard $(VROOT)/include/fstcpp),-llz4) -lz -lm -lpthread -latomic)

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
# the libraries are built here, so that the make below finds them
$(OUT)/tandem-python: $(PYPKG)/_rtl_$(CFG)_$(KIND).so $(PYLIBS:%=$(HOST)/lib%.a) FORCE
	@$(MAKE) -s python-package
	@hash=$$(cat $(PYPKG)/*.py $(PYPKG)/model.*.so $(PYPKG)/_core.*.so $< $(call room,$(DUT),testcases)/python/*.py \
	  python/tests/reference.py | sha256sum | cut -c 1-16); \
	  printf '%s\n' "$$PYCASE_TEXT" | sed "s/ HASH$$/ $$hash/" >$@.tmp; cmp -s $@.tmp $@ && rm $@.tmp || \
	  { chmod +x $@.tmp && mv $@.tmp $@; }
