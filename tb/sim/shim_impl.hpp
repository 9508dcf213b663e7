/*
 * shim_impl.hpp - the part of the generated shim that does not depend on the ports. Included once, by the file that scripts/gen_shim.py writes, after
 * shim_top (the Verilated class), shim_top_name, shim_nports and shim_fill_ports() are declared.
 *
 * Verilator's runtime reports a failed assertion by printing a line and calling vl_stop(), which ends the process by default. Here the first line is kept
 * in the instance and the test decides what to do. The runtime's callbacks carry no instance, so the one under evaluation stands in a thread-local pointer.
 */
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include <verilated.h>
#include <verilated_syms.h>
#if VM_TRACE_FST
#include <verilated_fst_c.h>
#endif

#include "sim/shim.h"
#include "sim/vl_printf.h"

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
    bool failed = false;
    bool finished = false;
};

thread_local shim_inst *shim_current = nullptr;

/* Makes an instance the current one for the length of a call into the runtime. */
class shim_scope {
  public:
    explicit shim_scope(shim_inst *inst) : previous_(shim_current) {
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

void shim_fail(const char *file, int line, const char *text) {
    shim_inst *inst = shim_current;
    if (!inst) {
        return;
    }
    inst->failed = true;
    inst->finished = true;
    if (inst->message.empty()) {
        inst->message = file && file[0] ? std::string(file) + ":" + std::to_string(line) + ": " + text : std::string(text);
    }
}

template <typename Call> void shim_guard(shim_inst *inst, Call call) {
    shim_scope scope(inst);
    try {
        call();
    } catch (const shim_fatal &) {
        inst->finished = true;
    }
}

shim_inst *shim_cast(void *inst) {
    return static_cast<shim_inst *>(inst);
}

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
        inst->context->randReset(2);
        /* The runtime takes a positive int, and 0 means "from the clock". */
        const uint64_t mixed = init_seed ^ (init_seed >> 31) ^ (init_seed >> 62);
        const int seed = static_cast<int>(mixed & 0x7fffffffu);
        inst->context->randSeed(seed ? seed : 1);
#if VM_TRACE_FST
        inst->context->traceEverOn(true);
#endif
        inst->top.reset(new shim_top(inst->context.get(), shim_top_name));
    } catch (const std::exception &) {
        return nullptr;
    }
    return inst.release();
}

void shim_ports(void *handle, tb_shim_port *out) {
    shim_fill_ports(shim_cast(handle)->top.get(), out);
}

/* Bits of a public signal. Verilator 5.006 keeps one packed range, later versions all of them, with a sum. */
template <typename Var> auto shim_bits(const Var &var, int) -> decltype(var.entBits()) {
    return var.entBits();
}
template <typename Var> uint32_t shim_bits(const Var &var, long) {
    return static_cast<uint32_t>(var.packed().elements());
}

size_t shim_vars(void *handle, tb_shim_var *out, size_t max) {
    size_t count = 0;
    const VerilatedScopeNameMap *scopes = shim_cast(handle)->context->scopeNameMap();
    for (const auto &scope : *scopes) {
        const VerilatedVarNameMap *vars = scope.second->varsp();
        if (!vars) {
            continue;
        }
        for (const auto &var : *vars) {
            if (var.second.udims() > 0 || var.second.isParam()) {
                continue;
            }
            if (count < max) {
                out[count] = {scope.first, var.first, shim_bits(var.second, 0), var.second.datap()};
            }
            count++;
        }
    }
    return count;
}

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
    inst->fst.reset(new VerilatedFstC);
    inst->top->trace(inst->fst.get(), 99);
    inst->fst->open(path);
    if (!inst->fst->isOpen()) {
        std::snprintf(err, err_size, "%s: cannot be written", path);
        inst->fst.reset();
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
        inst->fst->flush();
    }
}

void shim_trace_close(void *handle) {
    shim_inst *inst = shim_cast(handle);
    if (inst->fst && inst->fst->isOpen()) {
        shim_scope scope(inst);
        inst->fst->close();
    }
    /* The model keeps a pointer to the writer, so the object lives as long as the instance. */
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
    shim_scope scope(inst.get());
    inst->top.reset();
}

const char *shim_made_by(void) {
    static const std::string text = std::string(Verilated::productName()) + " " + Verilated::productVersion();
    return text.c_str();
}

const tb_shim shim_table = {
    shim_top_name,   shim_nports,     shim_create,      shim_destroy,     shim_ports, shim_eval, shim_set_time, shim_finished, shim_message,
#if VM_TRACE_FST
    shim_trace_open, shim_trace_dump, shim_trace_flush, shim_trace_close,
#else
    nullptr,       nullptr,      nullptr,     nullptr,
#endif
    shim_vars,       shim_made_by,
};

} // namespace

/* What a shared object shows of itself; nothing to say in a program. */
#ifndef TB_SHIM_EXPORT
#define TB_SHIM_EXPORT
#endif
extern "C" TB_SHIM_EXPORT const tb_shim *tb_shim_get(void) {
    return &shim_table;
}

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
