/*
 * shim_impl.hpp - the part of the generated shim that does not depend on the ports. Included once, by the file that
 * scripts/gen_shim.py writes, after shim_top (the Verilated class), shim_top_name, shim_nports and shim_fill_ports()
 * are declared.
 *
 * Verilator's runtime reports a failed assertion by printing a line and calling vl_stop(), which ends the process by
 * default. Here the first line is kept in the instance and the test decides what to do. The runtime's callbacks carry
 * no instance, so the one under evaluation stands in a thread-local pointer.
 */
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <verilated.h>
#include <verilated_syms.h>
#if VM_TRACE_FST
#include <verilated_fst_c.h>
#include <zlib.h>
#endif
#if VM_COVERAGE
#include <functional>
#include <mutex>

#include <verilated_cov.h>
#endif

#include "sim/shim.h"
#define TB_SIM_SHIM
#include "sim/vl_printf.h"

/* report.h; a design that is loaded from a shared object has it only if its process does */
extern "C" int rep_host(int error) __attribute__((weak));

#ifdef TB_MUTANTS
#include "mutants.h" /* the table that scripts/mutate.py writes beside the mutated sources */
uint16_t tb_mut_on[TB_MUT_FLAGS];
static const tb_mutants shim_mutants = {TB_MUT_COUNT, TB_MUT_FLAGS, tb_mut_first, tb_mut_way, tb_mut_on};
#endif

#if VM_COVERAGE
/*
 * The runtime counts in an array of each instance and writes a file for one instance. A process may have many, one
 * after the other: the counters of those that are gone are added here, the only state of the shim that outlives an
 * instance.
 *
 * Verilator 5.006 counts each change of a bit. What counts here is a bit that rises and falls again within a run, half
 * of that: a constant 1 changes once at the start of each run, and so does a register on its way to its reset value.
 */
namespace {
struct shim_cover_state {
    std::mutex lock;
    /* the instance under construction enters its points into the table of the runtime */
    bool describe = false;
    bool known = false;                    /* toggles is complete */
    std::vector<const uint32_t *> toggles; /* counters of toggles in the first instance */
    std::vector<bool> halved;              /* the same by their place in the array */
    std::vector<uint64_t> sum;
};
shim_cover_state shim_cover;
} // namespace

/* The generated code asks this before it enters a point into the runtime's table (scripts/rtl.mk). Later Verilators
 * count rise and fall by themselves ("a[0]:0->1"). */
bool tb_vl_cover_point(const uint32_t *counter, const char *page, const char *comment) {
    if (!shim_cover.known && std::strncmp(page, "v_toggle", 8) == 0 && std::strstr(comment, "->") == nullptr) {
        shim_cover.toggles.push_back(counter);
    }
    return shim_cover.describe;
}
#endif

namespace {

/* Leaves eval() when the runtime cannot go on (a loop that does not settle, $fatal). */
struct shim_fatal : public std::exception {};

struct shim_inst {
    std::unique_ptr<VerilatedContext> context;
    std::unique_ptr<shim_top> top;
#if VM_TRACE_FST
    std::unique_ptr<VerilatedFstC> fst;
#endif
    std::string message; /* first failure; empty: none */
    std::string wave;    /* the waveform that is being written */
    std::vector<tb_shim_var> vars;
    bool failed = false;
    bool finished = false;
};

thread_local shim_inst *shim_current = nullptr;

/* Makes an instance the current one for the length of a call into the runtime. */
void shim_no_memory();

class shim_scope {
  public:
    explicit shim_scope(shim_inst *inst) : previous_(shim_current) {
        static const std::new_handler handler = std::set_new_handler(shim_no_memory);
        (void)handler;
        shim_current = inst;
        Verilated::threadContextp(inst->context.get());
    }
    ~shim_scope() {
        shim_current = previous_;
    }
    shim_scope(const shim_scope &) = delete;
    shim_scope &operator=(const shim_scope &) = delete;

  private:
    shim_inst *previous_;
};

/*
 * The machine refused memory or space in the middle of the runtime, whose constructors and destructors survive no
 * exception: the process ends here with the status for that (REP_HOST_EXIT), without half a waveform.
 */
[[noreturn]] void shim_refused(const char *what, int error) {
    if (shim_current && !shim_current->wave.empty()) {
        (void)unlink(shim_current->wave.c_str());
        (void)unlink((shim_current->wave + ".hier").c_str()); /* of the writer */
    }
    std::fprintf(stderr, "%s: %s\n", what, std::strerror(error));
    _exit(3);
}

/* Other C++ code of the process (Python's extensions) has its own way to deal with a lack of memory. */
void shim_no_memory() {
    if (!shim_current) {
        throw std::bad_alloc();
    }
    shim_refused("the simulator's runtime", ENOMEM);
}

void shim_fail(const char *file, int line, const char *text) {
    shim_inst *inst = shim_current;
    if (!inst) {
        return;
    }
    inst->failed = true;
    inst->finished = true;
    if (inst->message.empty()) {
        inst->message =
            file && file[0] ? std::string(file) + ":" + std::to_string(line) + ": " + text : std::string(text);
    }
}

template <typename Call> void shim_guard(shim_inst *inst, Call call) {
    shim_scope scope(inst);
    try {
        call();
    } catch (const shim_fatal &) {
        inst->finished = true;
    } catch (const std::bad_alloc &) {
        if (rep_host != nullptr) {
            (void)rep_host(ENOMEM);
        }
        inst->failed = true;
        inst->finished = true;
        inst->message = "out of memory";
    }
}

shim_inst *shim_cast(void *inst) {
    return static_cast<shim_inst *>(inst);
}

#if VM_COVERAGE
auto &shim_counters(shim_inst *inst) {
    return inst->top->rootp->vlSymsp->__Vcoverage;
}

/* After the first instance was made: where in its array are toggles? Counters elsewhere are those that Verilator gives
 * to points that it does not count. */
void shim_cover_learn(shim_inst *inst) {
    auto &counters = shim_counters(inst);
    const size_t count = sizeof counters / sizeof counters[0];
    const uint32_t *first = reinterpret_cast<const uint32_t *>(&counters[0]);
    shim_cover.sum.resize(count);
    shim_cover.halved.resize(count);
    for (const uint32_t *counter : shim_cover.toggles) {
        const std::less<const uint32_t *> before;
        if (!before(counter, first) && before(counter, first + count)) {
            shim_cover.halved[static_cast<size_t>(counter - first)] = true;
        }
    }
    shim_cover.known = true;
    shim_cover.toggles.clear();
}

/* The instance ends. */
void shim_cover_add(shim_inst *inst) {
    auto &counters = shim_counters(inst);
    const std::lock_guard<std::mutex> guard(shim_cover.lock);
    for (size_t i = 0; i < shim_cover.sum.size(); i++) {
        shim_cover.sum[i] += counters[i] / (shim_cover.halved[i] ? 2 : 1);
    }
}
#endif

void *shim_create(const char *const *plusargs, uint64_t init_seed) {
    std::unique_ptr<shim_inst> inst(new (std::nothrow) shim_inst);
    if (!inst) {
        return nullptr;
    }
    try {
        inst->context.reset(new VerilatedContext);
        shim_scope scope(inst.get());
        int argc = 0;
        while (plusargs && plusargs[argc]) {
            argc++;
        }
        if (argc > 0) {
            inst->context->commandArgs(argc, const_cast<const char **>(plusargs));
        }
#ifdef TB_MUTANTS
        inst->context->threads(1); /* a mutant is a fork, in which a thread that waits for work would not exist */
#endif
        inst->context->randReset(2);
        /* The runtime takes a positive int, and 0 means "from the clock". */
        const uint64_t mixed = init_seed ^ (init_seed >> 31) ^ (init_seed >> 62);
        const int seed = static_cast<int>(mixed & 0x7fffffffu);
        inst->context->randSeed(seed ? seed : 1);
#if VM_TRACE_FST
        inst->context->traceEverOn(true);
#endif
#if VM_COVERAGE
        const std::lock_guard<std::mutex> guard(shim_cover.lock);
#endif
        inst->top.reset(new shim_top(inst->context.get(), shim_top_name));
#if VM_COVERAGE
        if (!shim_cover.known) {
            shim_cover_learn(inst.get());
        }
#endif
    } catch (const std::exception &) {
        return nullptr;
    }
    return inst.release();
}

void shim_ports(void *handle, tb_shim_port *out) {
    shim_fill_ports(shim_cast(handle)->top.get(), out);
}

#ifdef SHIM_VARS /* scripts/tap_alias.py has replaced the runtime's tables */
const tb_shim_var *shim_vars(void *handle, size_t *count, uintptr_t *base) {
    *count = sizeof shim_known / sizeof *shim_known;
    *base = reinterpret_cast<uintptr_t>(shim_cast(handle)->top->rootp);
    return shim_known;
}
#else
/* Bits of a public signal. Verilator 5.006 keeps one packed range, later versions all of them, with a sum. */
template <typename Var> auto shim_bits(const Var &var, int) -> decltype(var.entBits()) {
    return var.entBits();
}
template <typename Var> uint32_t shim_bits(const Var &var, long) {
    return static_cast<uint32_t>(var.packed().elements());
}

const tb_shim_var *shim_vars(void *handle, size_t *count, uintptr_t *base) {
    shim_inst *inst = shim_cast(handle);
    if (inst->vars.empty()) {
        using scope_type = std::pair<const char *, const VerilatedScope *>;
        std::vector<scope_type> scopes;
        for (const auto &scope : *inst->context->scopeNameMap()) {
            if (scope.second->varsp()) {
                scopes.emplace_back(scope.first, scope.second);
            }
        }
        std::sort(scopes.begin(), scopes.end(),
                  [](const scope_type &a, const scope_type &b) { return strverscmp(a.first, b.first) < 0; });
        for (const scope_type &scope : scopes) {
            for (const auto &var : *scope.second->varsp()) {
                if (var.second.udims() == 0 && !var.second.isParam()) {
                    inst->vars.push_back({scope.first, var.first, static_cast<uint32_t>(shim_bits(var.second, 0)),
                                          reinterpret_cast<uintptr_t>(var.second.datap())});
                }
            }
        }
    }
    *count = inst->vars.size();
    *base = 0;
    return inst->vars.data();
}
#endif

void shim_eval(void *handle) {
    shim_inst *inst = shim_cast(handle);
    if (!inst->finished) {
        shim_guard(inst, [inst] { inst->top->eval(); });
    }
}

void shim_set_time(void *handle, uint64_t time) {
    shim_cast(handle)->context->time(time);
}

bool shim_finished(void *handle) {
    return shim_cast(handle)->finished;
}

const char *shim_message(void *handle) {
    shim_inst *inst = shim_cast(handle);
    return inst->failed ? inst->message.c_str() : nullptr;
}

#if VM_TRACE_FST
bool shim_trace_open(void *handle, const char *path, char *err, size_t err_size) {
    shim_inst *inst = shim_cast(handle);
    /* The FST writer does not report a file that cannot be created in a usable way: try first. */
    std::FILE *probe = std::fopen(path, "wb");
    if (!probe) {
        std::snprintf(err, err_size, "%s: cannot be written", path);
        return false;
    }
    std::fclose(probe);
    shim_scope scope(inst);
    inst->wave = path;
    inst->fst.reset(new VerilatedFstC);
    inst->top->trace(inst->fst.get(), 99);
    inst->fst->open(path);
    if (!inst->fst->isOpen()) {
        std::snprintf(err, err_size, "%s: cannot be written", path);
        inst->fst.reset();
        std::remove(path);
        return false;
    }
    return true;
}

void shim_trace_dump(void *handle, uint64_t time) {
    shim_inst *inst = shim_cast(handle);
    if (inst->fst) {
        shim_scope scope(inst);
        inst->fst->dump(time);
    }
}

void shim_trace_flush(void *handle) {
    shim_inst *inst = shim_cast(handle);
    if (inst->fst) {
        shim_scope scope(inst);
        inst->fst->flush();
    }
}

void shim_trace_close(void *handle) {
    shim_inst *inst = shim_cast(handle);
    if (inst->fst && inst->fst->isOpen()) {
        shim_scope scope(inst);
        inst->fst->close();
        inst->wave.clear();
    }
    /* The model keeps a pointer to the writer, so the object lives as long as the instance. */
}
#endif

#if VM_COVERAGE
bool shim_coverage_write(const char *path, char *err, size_t err_size) {
    shim_cover.describe = true;
    shim_inst *inst = shim_cast(shim_create(nullptr, 1));
    shim_cover.describe = false;
    if (!inst) {
        std::snprintf(err, err_size, "%s: out of memory", path);
        return false;
    }
    for (size_t i = 0; i < shim_cover.sum.size(); i++) {
        shim_counters(inst)[i] = shim_cover.sum[i] > UINT32_MAX ? UINT32_MAX : static_cast<uint32_t>(shim_cover.sum[i]);
    }
    bool good = true;
    {
        shim_scope scope(inst);
        try {
            inst->context->coveragep()->write(path);
        } catch (const std::exception &) { /* it cannot be opened */
            std::snprintf(err, err_size, "%s: cannot be written", path);
            good = false;
        }
        inst->top.reset();
    }
    delete inst;
    return good;
}
#endif

void shim_destroy(void *handle) {
    std::unique_ptr<shim_inst> inst(shim_cast(handle));
    if (!inst) {
        return;
    }
#if VM_TRACE_FST
    shim_trace_close(inst.get());
#endif
    shim_guard(inst.get(), [&inst] { inst->top->final(); });
#if VM_COVERAGE
    shim_cover_add(inst.get());
#endif
    shim_scope scope(inst.get());
    inst->top.reset();
    inst->context.reset();
}

const char *shim_made_by(void) {
    static char text[128]; /* a report needs it when there is no memory, too */
    std::snprintf(text, sizeof text, "%s %s", Verilated::productName(), Verilated::productVersion());
    return text;
}

const tb_shim shim_table = {
    shim_top_name,       shim_nports,     shim_create,      shim_destroy,     shim_ports,
    shim_eval,           shim_set_time,   shim_finished,    shim_message,
#if VM_TRACE_FST
    shim_trace_open,     shim_trace_dump, shim_trace_flush, shim_trace_close,
#else
    nullptr,       nullptr,       nullptr,       nullptr,
#endif
    shim_vars,           shim_made_by,
#if VM_COVERAGE
    shim_coverage_write,
#else
    nullptr,
#endif
#ifdef TB_MUTANTS
    &shim_mutants,
#else
    nullptr,
#endif
    shim_fields,         shim_nfields,
};

} // namespace

/* What a shared object shows of itself. */
extern "C" __attribute__((visibility("default"))) const tb_shim *tb_shim_get(void) {
    return &shim_table;
}
extern "C" __attribute__((visibility("default"))) const uint32_t tb_shim_layout = TB_SHIM_LAYOUT;

/* Model output passes through to stdout; the first line with an error is the failure message. */
extern "C" int tb_vl_printf(const char *format, ...) {
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    const int length = std::vsnprintf(nullptr, 0, format, again);
    va_end(again);
    std::string text(length > 0 ? static_cast<size_t>(length) + 1 : 1, '\0');
    std::vsnprintf(&text[0], text.size(), format, args);
    va_end(args);
    text.resize(text.size() - 1);
    shim_inst *inst = shim_current;
    if (text.find("%Error") != std::string::npos || text.find("%Fatal") != std::string::npos) {
        if (inst && inst->message.empty()) {
            const size_t end = text.find_last_not_of(" \r\n");
            inst->message = text.substr(0, end + 1);
        }
        return length;
    }
    std::fputs(text.c_str(), stdout);
    return length;
}

/* What the runtime and its FST writer call instead of the C library (vl_printf.h). */
extern "C" void *tb_vl_malloc(size_t size) {
    void *memory = std::malloc(size);
    return memory || size == 0 ? memory : (shim_refused("the simulator's runtime", ENOMEM), nullptr);
}

extern "C" void *tb_vl_calloc(size_t count, size_t size) {
    void *memory = std::calloc(count, size);
    return memory || count == 0 || size == 0 ? memory : (shim_refused("the simulator's runtime", ENOMEM), nullptr);
}

extern "C" void *tb_vl_realloc(void *old, size_t size) {
    void *memory = std::realloc(old, size);
    return memory || size == 0 ? memory : (shim_refused("the simulator's runtime", ENOMEM), nullptr);
}

extern "C" char *tb_vl_strdup(const char *text) {
    char *copy = strdup(text);
    return copy ? copy : (shim_refused("the simulator's runtime", ENOMEM), nullptr);
}

static const char *shim_written() {
    return shim_current && !shim_current->wave.empty() ? shim_current->wave.c_str() : "a file of the simulation";
}

extern "C" size_t tb_vl_fwrite(const void *data, size_t size, size_t count, FILE *file) {
    const size_t done = std::fwrite(data, size, count, file);
    return done == count || size == 0 ? done : (shim_refused(shim_written(), errno), 0);
}

extern "C" int tb_vl_fprintf(FILE *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const int length = std::vfprintf(file, format, args);
    va_end(args);
    return length >= 0 ? length : (shim_refused(shim_written(), errno), length);
}

extern "C" char *tb_vl_fgets(char *to, int size, FILE *file) {
    char *line = std::fgets(to, size, file); /* the writer reads /proc/meminfo until feof(), not until an error */
    return line != nullptr || !std::ferror(file) ? line : (shim_refused("/proc/meminfo", errno), nullptr);
}

extern "C" size_t tb_vl_fread(void *data, size_t size, size_t count, FILE *file) {
    const size_t done = std::fread(data, size, count, file); /* the writer reads its own files again */
    return done == count || !std::ferror(file) ? done : (shim_refused(shim_written(), errno), 0);
}

extern "C" int tb_vl_fseeko(FILE *file, off_t offset, int whence) {
    const int rc = fseeko(file, offset, whence);
    return rc == 0 ? rc : (shim_refused(shim_written(), errno), rc);
}

extern "C" int tb_vl_fputc(int c, FILE *file) {
    const int rc = std::fputc(c, file);
    return rc != EOF ? rc : (shim_refused(shim_written(), errno), rc);
}

extern "C" int tb_vl_ftruncate(int fd, off_t length) {
    const int rc = ftruncate(fd, length);
    return rc == 0 ? rc : (shim_refused(shim_written(), errno), rc);
}

extern "C" void *tb_vl_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    void *memory = mmap(at, size, protection, flags, fd, offset);
    return memory != MAP_FAILED ? memory : (shim_refused(shim_written(), errno), memory);
}

#if VM_TRACE_FST
extern "C" int tb_vl_gzwrite(gzFile file, const void *data, unsigned size) {
    const int done = gzwrite(file, data, size);
    return size == 0 || done > 0 ? done : (shim_refused(shim_written(), errno), done);
}

extern "C" int tb_vl_gzclose(gzFile file) {
    const int rc = gzclose(file);
    return rc == Z_OK ? rc : (shim_refused(shim_written(), errno), rc);
}
#endif

extern "C" int tb_vl_fflush(FILE *file) {
    const int rc = std::fflush(file);
    return rc == 0 ? rc : (shim_refused(shim_written(), errno), rc);
}

extern "C" int tb_vl_fclose(FILE *file) {
    const int rc = std::fclose(file);
    return rc == 0 ? rc : (shim_refused(shim_written(), errno), rc);
}

/* Called by the runtime (-DVL_USER_FINISH, -DVL_USER_STOP, -DVL_USER_FATAL). */
void vl_finish(const char *, int, const char *) {
    if (shim_current) {
        shim_current->finished = true;
    }
}

void vl_stop(const char *file, int line, const char *) {
    shim_fail(file, line, "$stop or failed assertion");
}

void vl_fatal(const char *file, int line, const char *, const char *text) {
    shim_fail(file, line, text && text[0] ? text : "fatal error");
    throw shim_fatal();
}
