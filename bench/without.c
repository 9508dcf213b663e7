/* without.c - functions of the testbench that can be switched off (ld --wrap; the list is in designs/npu/bench.mk). */
#include "without.h"

#include <stdlib.h>
#include <string.h>

#include "dev_priv.h"

static bench_parts the_parts;

bench_parts *bench_parts_get(void) {
    return &the_parts;
}

/* Is this call to be skipped? */
static bool skip(bool off) {
    the_parts.left_out += off ? 1 : 0;
    return off;
}

bool bench_parts_leave_out(bench_parts *parts, const char *names) {
    const struct {
        const char *name;
        bool *off;
    } all[] = {{"checks", &parts->no_checks},
               {"monitor", &parts->no_monitor},
               {"memory", &parts->no_memory},
               {"compare", &parts->no_compare}};
    while (*names != '\0') {
        const size_t length = strcspn(names, ",");
        bool known = false;
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            if (strlen(all[i].name) == length && strncmp(names, all[i].name, length) == 0) {
                *all[i].off = known = true;
            }
        }
        if (!known) {
            return false;
        }
        names += length + (names[length] == ',' ? 1 : 0);
    }
    return true;
}

/* Names that begin with two underscores belong to the linker: --wrap=f sends calls of f to __wrap_f and those of
 * __real_f to f. */
int __real_tb_checks_open(tb_checks *checks, const tb_sim *sim, const tb_check_ops *const *ops, size_t nops,
                          const char *const *absent, void *ctx, char *err, size_t err_size);
int __wrap_tb_checks_open(tb_checks *checks, const tb_sim *sim, const tb_check_ops *const *ops, size_t nops,
                          const char *const *absent, void *ctx, char *err, size_t err_size);
int __wrap_tb_checks_open(tb_checks *checks, const tb_sim *sim, const tb_check_ops *const *ops, size_t nops,
                          const char *const *absent, void *ctx, char *err, size_t err_size) {
    if (skip(the_parts.no_checks)) {
        memset(checks, 0, sizeof *checks);
        return 0;
    }
    return __real_tb_checks_open(checks, sim, ops, nops, absent, ctx, err, err_size);
}

void __real_tb_axi_sample_port(const tb_axi_port *port, uint64_t cycle, bool reset_n, tb_axi_sample *out);
void __wrap_tb_axi_sample_port(const tb_axi_port *port, uint64_t cycle, bool reset_n, tb_axi_sample *out);
void __wrap_tb_axi_sample_port(const tb_axi_port *port, uint64_t cycle, bool reset_n, tb_axi_sample *out) {
    if (!skip(the_parts.no_monitor)) {
        __real_tb_axi_sample_port(port, cycle, reset_n, out);
    }
}

void __real_tb_axi_mon_step(tb_axi_monitor *mon, const tb_axi_sample *s);
void __wrap_tb_axi_mon_step(tb_axi_monitor *mon, const tb_axi_sample *s);
void __wrap_tb_axi_mon_step(tb_axi_monitor *mon, const tb_axi_sample *s) {
    if (skip(the_parts.no_monitor)) {
        mon->in_reset = false;
        mon->progress++; /* the watchdog needs it */
        return;
    }
    __real_tb_axi_mon_step(mon, s);
}

int __real_npu_rtl_open(npu_dev *dev, char *err, size_t err_size);
int __wrap_npu_rtl_open(npu_dev *dev, char *err, size_t err_size);
int __wrap_npu_rtl_open(npu_dev *dev, char *err, size_t err_size) {
    if (skip(the_parts.no_memory)) {
        dev->ddr.protect = dev->ddr.watch = dev->ddr.check_reads = false;
    }
    return __real_npu_rtl_open(dev, err, err_size);
}

bool __real_tb_ddr_find_unwritten(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where);
bool __wrap_tb_ddr_find_unwritten(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where);
bool __wrap_tb_ddr_find_unwritten(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where) {
    return !skip(the_parts.no_memory) && __real_tb_ddr_find_unwritten(mem, addr, bytes, where);
}

bool __real_tb_ddr_find_protected(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where);
bool __wrap_tb_ddr_find_protected(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where);
bool __wrap_tb_ddr_find_protected(const tb_ddr *mem, uint64_t addr, uint64_t bytes, uint64_t *where) {
    return !skip(the_parts.no_memory) && __real_tb_ddr_find_protected(mem, addr, bytes, where);
}

bool __real_tb_ddr_find_closed(const tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, uint64_t *where);
bool __wrap_tb_ddr_find_closed(const tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, uint64_t *where);
bool __wrap_tb_ddr_find_closed(const tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, uint64_t *where) {
    return !skip(the_parts.no_memory) && __real_tb_ddr_find_closed(mem, use, addr, bytes, where);
}

bool __real_tb_ddr_open(tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, bool open);
bool __wrap_tb_ddr_open(tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, bool open);
bool __wrap_tb_ddr_open(tb_ddr *mem, tb_ddr_use use, uint64_t addr, uint64_t bytes, bool open) {
    return skip(the_parts.no_memory) || __real_tb_ddr_open(mem, use, addr, bytes, open);
}

bool __real_tb_buffers_meet(const tb_buffers *t, uint32_t work, uint32_t other, tb_meet *meet);
bool __wrap_tb_buffers_meet(const tb_buffers *t, uint32_t work, uint32_t other, tb_meet *meet);
bool __wrap_tb_buffers_meet(const tb_buffers *t, uint32_t work, uint32_t other, tb_meet *meet) {
    return !skip(the_parts.no_memory) && __real_tb_buffers_meet(t, work, other, meet);
}

bool __real_tb_ddr_compare(const tb_ddr *a, const tb_ddr *b, tb_ddr_diff *diff);
bool __wrap_tb_ddr_compare(const tb_ddr *a, const tb_ddr *b, tb_ddr_diff *diff);
bool __wrap_tb_ddr_compare(const tb_ddr *a, const tb_ddr *b, tb_ddr_diff *diff) {
    return skip(the_parts.no_compare) || __real_tb_ddr_compare(a, b, diff);
}

bool __real_tb_ddr_compare_dirty(tb_ddr *a, tb_ddr *b, tb_ddr_diff *diff);
bool __wrap_tb_ddr_compare_dirty(tb_ddr *a, tb_ddr *b, tb_ddr_diff *diff);
bool __wrap_tb_ddr_compare_dirty(tb_ddr *a, tb_ddr *b, tb_ddr_diff *diff) {
    return skip(the_parts.no_compare) || __real_tb_ddr_compare_dirty(a, b, diff);
}

int __real_tb_snap_start(tb_snaps *snaps, double period, uint64_t cycle, tb_snap_order *order);
int __wrap_tb_snap_start(tb_snaps *snaps, double period, uint64_t cycle, tb_snap_order *order);
int __wrap_tb_snap_start(tb_snaps *snaps, double period, uint64_t cycle, tb_snap_order *order) {
    return __real_tb_snap_start(snaps, the_parts.period > 0 ? the_parts.period : period, cycle, order);
}

void __real_tb_snap_stop(tb_snaps *snaps);
void __wrap_tb_snap_stop(tb_snaps *snaps);
void __wrap_tb_snap_stop(tb_snaps *snaps) {
    the_parts.snapshots += snaps->taken;
    the_parts.fork_seconds += snaps->fork_seconds;
    snaps->taken = 0;
    snaps->fork_seconds = 0;
    __real_tb_snap_stop(snaps);
}
