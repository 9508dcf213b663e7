# How a design is Verilated and its model compiled, in builds of this tree (scripts/rtl.mk) and in projects around other
# designs (install/tandem.mk). Needs KIND, VROOT, VLT and the comma; ARCH, PIC and SANITIZE_VM may be empty.

# Lint is a separate step (make lint): here only errors stop the build.
# VFLAGS_LOOPS: loops of this tree are better left to the C++ compiler; sources that assign arrays in loops need
# Verilator to unroll them
VFLAGS_COMMON := --cc --assert -O3 $(VFLAGS_LOOPS) -Wno-lint -Wno-style -MMD --MP
# The initial state is random in all kinds but cov: it costs nothing but the constructor (tests/test_init_state.py:
# nothing depends on it).
VFLAGS_fast := --x-assign fast --x-initial unique
# fields of structs in waveforms; empty where Verilator refuses it (5.006 with split_var)
VFLAGS_STRUCTS ?= --trace-structs
VFLAGS_tap := --x-assign unique --x-initial unique --trace-fst $(VFLAGS_STRUCTS)
VFLAGS_debug := --x-assign unique --x-initial unique --trace-fst $(VFLAGS_STRUCTS)
VFLAGS_san := --x-assign unique --x-initial unique
# no random state here: from all zeros to a value at reset is one change at most, which is no toggle
# (tb/sim/shim_impl.hpp)
VFLAGS_cov := --x-assign fast --x-initial fast --coverage-line --coverage-toggle --coverage-user \
  --coverage-max-width 64

VM_TRACE := $(if $(filter debug tap,$(KIND)),1,0)
VM_COVERAGE := $(if $(filter cov,$(KIND)),1,0)
# Generated code gets no warnings, and no UBSan: the headers of Verilator do not pass it.
VM_CXX := -std=c++17 -faligned-new -I$(VROOT)/include -I$(VROOT)/include/vltstd -isystem $(VROOT)/include \
  -DVM_COVERAGE=$(VM_COVERAGE) -DVM_SC=0 -DVM_TRACE=$(VM_TRACE) \
  -DVM_TRACE_FST=$(VM_TRACE) -DVM_TRACE_VCD=0 -DVL_USER_FINISH -DVL_USER_STOP -DVL_USER_FATAL \
  $(if $(ARCH),-march=$(ARCH)) $(PIC) $(SANITIZE_VM) -w
# The loops of the datapath count on vectorisation at -O3. Vectors of statements outside of loops do not pay: they load
# together bytes that have just been stored one by one, for which the processor has to wait.
# cov: counters between all statements make optimisation slow and of little use; mut: ten times the code
VM_FAST := $(if $(filter san cov mut,$(KIND)),-O1,-O3 -fno-stack-protector -fno-tree-slp-vectorize)
VM_SLOW := $(if $(filter cov mut,$(KIND)),-O0,-O1)
# Constructors and the code that describes signals to a waveform are executed once: with tracing it would take longer to
# optimise them than all that is executed in every cycle.
ONCE = $(if $(filter 1,$(VM_TRACE)),O0,$(VM_SLOW:-%=%))

VLT_SRC := $(notdir $(wildcard $(addprefix $(VROOT)/include/,verilated.cpp verilated_threads.cpp verilated_random.cpp \
  $(if $(filter 1,$(VM_TRACE)),verilated_fst_c.cpp) $(if $(filter 1,$(VM_COVERAGE)),verilated_cov.cpp))))
VLT_OBJ := $(VLT_SRC:%.cpp=$(VLT)/%.o)

# programs that give verdicts note what the machine refuses (report/alloc)
REFUSALS_NOTED := $(addprefix -Wl$(,)--wrap=,malloc calloc realloc aligned_alloc strdup strndup pipe pipe2 fork fopen \
  fdopen opendir scandir access lstat stat fstat mkdir fwrite fflush fread \
  fgets getline fclose asprintf json_load_file)

# Verilator 5.006 counts with atomic additions, at several times the price; a model runs in one thread here. And each
# instance enters its points into a table, which takes longer than a small case: the shim decides when that is needed,
# and gets from here which counters are those of toggles (tb/sim/shim_impl.hpp). The target does not exist meanwhile, so
# that an interrupted make starts again.
PLAIN_COUNTERS = sed -i -E -e 's/std::atomic<uint32_t>( __Vcoverage\[|\* countp)/uint32_t\1/' \
  -e 's/(vlSymsp->__Vcoverage\[[0-9]+\])\.fetch_add\(1, std::memory_order_relaxed\)/++\1/' \
  -e '/^ +VL_COVER_INSERT\(/i\    extern bool tb_vl_cover_point(const uint32_t *, const char *, const char *);' \
  -e 's/^ +VL_COVER_INSERT\(/    if (!tb_vl_cover_point(count32p, pagep, commentp)) return;\n&/'

# $(1): name of the top in the files that Verilator writes
CYCLE_CPP = ls V$(1)*.cpp | grep -Ev '__(Slow|Syms|Trace)'
TRACE_CPP = ls V$(1)*.cpp | grep -E '__Trace__[0-9]+\.cpp'
ONCE_CPP = ls V$(1)*.cpp | grep -E '__(Slow|Syms|Trace)' | grep -vE '__Trace__[0-9]+\.cpp'
optimise = printf '\043pragma GCC optimize ("%s")\n' $(1)
INCLUDE_CPP = sed '/^\#/!s|.*|\#include "&"|'
