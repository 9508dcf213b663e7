/* The chain of waiting units: follows the dependencies from unit to unit until the root. */
#include "hang_wait.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define SLOT_OFFERED 4u /* state of a slot whose task was not accepted by the unit yet */
#define GEMM_PATH "u_units.u_gemm"
#define LOAD_PATH GEMM_PATH ".u_load"
#define MAC_PATH GEMM_PATH ".u_mac"
#define ALU_PATH "u_units.g_alu.u_alu"
#define POOL_PATH "u_units.g_pool.u_pool"
#define SLOT_PATH "u_regs.u_slots.g_slot"
#define TWO(id, name, label, before, after, waits)                                                                     \
    [id] = {name, label " 0", before "0" after, waits}, [(id) + 1] = {name, label " 1", before "1" after, waits}
#define MEMORY(port, base)                                                                                             \
    [(base) + TB_AXI_AW] = {"memory.AW", "the memory (" port " AW)", "", npu_wait_memory},                             \
              [(base) + TB_AXI_W] = {"memory.W", "the memory (" port " W)", "", npu_wait_memory},                      \
              [(base) + TB_AXI_B] = {"memory.B", "the memory (" port " B)", "", npu_wait_memory},                      \
              [(base) + TB_AXI_AR] = {"memory.AR", "the memory (" port " AR)", "", npu_wait_memory},                   \
              [(base) + TB_AXI_R] = {"memory.R", "the memory (" port " R)", "", npu_wait_memory}

const npu_hang_unit npu_hang_units[HU_COUNT] = {
    [HU_REGS] = {"npu_regs", "npu_regs", "u_regs", npu_wait_regs},
    [HU_GEMM_SLOT] = {"gemm_slot", "gemm_slot", SLOT_PATH "[0].g_on.u_slot", npu_wait_slot},
    [HU_ALU_SLOT] = {"alu_slot", "alu_slot", SLOT_PATH "[1].g_on.u_slot", npu_wait_slot},
    [HU_POOL_SLOT] = {"pool_slot", "pool_slot", SLOT_PATH "[2].g_on.u_slot", npu_wait_slot},
    [HU_CLOCK] = {"clk_gate", "clock of the GEMM", "u_units.g_clk[0].u_gate", npu_wait_clock},
    [HU_CLOCK + 1] = {"clk_gate", "clock of the ALU", "u_units.g_clk[1].u_gate", npu_wait_clock},
    [HU_CLOCK + 2] = {"clk_gate", "clock of the POOL", "u_units.g_clk[2].u_gate", npu_wait_clock},
    [HU_GEMM] = {"gemm", "gemm", GEMM_PATH, npu_wait_gemm},
    [HU_CREDIT] = {"gemm", "credit of ofm_buf", MAC_PATH, npu_wait_credit},
    [HU_PORT] = {"gemm", "write port of ifm_buf", LOAD_PATH, npu_wait_port},
    [HU_QUEUE] = {"gemm_queue", "gemm_queue", GEMM_PATH ".u_queue", npu_wait_queue},
    [HU_IFM_LD] = {"ifm_ld", "ifm_ld", LOAD_PATH ".u_ifm_ld", npu_wait_ifm_ld},
    TWO(HU_LAYOUT, "layout", "layout", LOAD_PATH ".g_layout[", "].u_layout", npu_wait_layout),
    TWO(HU_WGT_LD, "wgt_ld", "wgt_ld", LOAD_PATH ".g_wgt_ld[", "].u_wgt_ld", npu_wait_wgt_ld),
    [HU_PAR_LD] = {"par_ld", "par_ld", LOAD_PATH ".u_par_ld", npu_wait_par_ld},
    [HU_IM2COL] = {"im2col", "im2col", MAC_PATH ".u_im2col", npu_wait_im2col},
    [HU_ACC] = {"acc", "acc", MAC_PATH ".u_acc", npu_wait_acc},
    TWO(HU_POST, "post", "post", GEMM_PATH ".g_post[", "].u_post", npu_wait_post),
    TWO(HU_REQUANT, "requant", "requant", GEMM_PATH ".g_post[", "].u_post.u_requant", npu_wait_requant),
    TWO(HU_TRANSPOSE, "transpose", "transpose", GEMM_PATH ".g_post[", "].u_post.u_requant.u_transpose",
        npu_wait_transpose),
    TWO(HU_SEND, "send_buf", "send_buf", "u_dma.g_send[", "].u_send_buf", npu_wait_send),
    TWO(HU_RD, "dma_rd", "dma_rd", "u_dma.g_chan[", "].u_chan.u_rd", npu_wait_rd),
    TWO(HU_WR, "dma_wr", "dma_wr", "u_dma.g_chan[", "].u_chan.u_wr", npu_wait_wr),
    [HU_ALU] = {"alu", "alu", ALU_PATH, npu_wait_alu},
    TWO(HU_WALK, "alu_walk", "alu_walk", ALU_PATH ".g_chan[", "].u_walk", npu_wait_walk),
    TWO(HU_CHAN, "alu_chan", "alu_chan", ALU_PATH ".g_chan[", "].u_chan", npu_wait_chan),
    TWO(HU_MATH, "alu_math", "alu_math", ALU_PATH ".g_chan[", "].u_chan.u_math", npu_wait_math),
    [HU_POOL] = {"pool", "pool", POOL_PATH, npu_wait_pool},
    TWO(HU_POOL_LD, "pool_ld", "pool_ld", POOL_PATH ".g_chan[", "].u_chan.u_ld", npu_wait_pool_ld),
    TWO(HU_POOL_LINE, "pool_line", "pool_line", POOL_PATH ".g_chan[", "].u_chan.u_line", npu_wait_pool_line),
    TWO(HU_POOL_SEQ, "pool_seq", "pool_seq", POOL_PATH ".g_chan[", "].u_chan.u_seq", npu_wait_pool_seq),
    TWO(HU_POOL_OP, "pool_op", "pool_op", POOL_PATH ".g_chan[", "].u_chan.u_op", npu_wait_pool_op),
    TWO(HU_POOL_OUT, "pool_out", "pool_out", POOL_PATH ".g_chan[", "].u_chan.u_out", npu_wait_pool_out),
    MEMORY("m0", HU_MEMORY),
    MEMORY("m1", HU_MEMORY + TB_AXI_CHANNELS),
};

/* ---- interface for the functions of the units ---- */

static void add(npu_wait *w, int to, bool blame, const char *format, va_list args) {
    if (w->waits < NPU_WAITS) {
        w->wait[w->waits].to = to;
        w->wait[w->waits].blame = blame;
        vsnprintf(w->wait[w->waits].text, sizeof w->wait[0].text, format, args);
        w->waits++;
    }
}

void hang_waits_for(npu_wait *w, int to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(w, to, false, format, args);
    va_end(args);
}

void hang_blames(npu_wait *w, int to, const char *format, ...) {
    va_list args;
    va_start(args, format);
    add(w, to, true, format, args);
    va_end(args);
}

void hang_stuck(npu_wait *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->text, sizeof w->text, format, args);
    va_end(args);
    w->stuck = true;
}

void hang_idles(npu_wait *w) {
    w->idle = true;
}

uint64_t hang_reg(npu_wait *w, const char *name) {
    return npu_look_get(&w->h->look, w->path, name);
}

uint64_t hang_bits(npu_wait *w, const char *name, uint32_t lsb, uint32_t bits) {
    return npu_look_field(&w->h->look, w->path, name, lsb, bits);
}

uint64_t hang_part(npu_wait *w, const char *part, const char *name) {
    char path[128];
    snprintf(path, sizeof path, "%s.%s", w->path, part);
    return npu_look_get(&w->h->look, path, name);
}

uint64_t hang_other(npu_wait *w, int unit, const char *name) {
    return npu_look_get(&w->h->look, npu_hang_units[unit].path, name);
}

bool hang_owes(npu_wait *w, int unit) {
    tb_checks *checks = &w->h->dev->run.checks;
    const npu_hang_unit *u = &npu_hang_units[unit];
    const size_t length = strlen(u->path);
    for (size_t i = 0; i < checks->count && !w->h->dev->cfg.no_checks; i++) {
        tb_check *c = &checks->check[i];
        const size_t path = strlen(c->tap->path);
        if (strcmp(c->ops->unit, u->name) != 0 || path < length || strcmp(c->tap->path + path - length, u->path) != 0) {
            continue;
        }
        if (!c->failed && c->ops->finish != NULL) {
            c->ops->finish(c);
        }
        return c->failed;
    }
    return false;
}

/* ---- the walk ---- */

/*
 * How certain a root is: evidence from the bus first, then from registers, then a unit under suspicion, then a circle.
 */
typedef enum certainty { NONE, CIRCLE, SUSPECT, STUCK, MEMORY_OWES } certainty;

typedef struct walk {
    npu_hang *h;
    npu_hang_link link[NPU_HANG_DEPTH]; /* path to the unit under examination */
    size_t links;
    bool seen[HU_COUNT], on_path[HU_COUNT];
    certainty best;
} walk;

/* The path so far, ending in `unit`, is a candidate; the best one is kept. */
static void candidate(walk *s, certainty c, int unit, const char *text) {
    npu_hang *h = s->h;
    if (c == STUCK && h->others < NPU_HANG_OTHERS && s->best >= STUCK) {
        snprintf(h->other[h->others], sizeof h->other[0], "%s: %s", npu_hang_units[unit].label, text);
        h->others++;
    }
    if (c <= s->best) {
        return;
    }
    if (s->best == STUCK && h->others < NPU_HANG_OTHERS) {
        snprintf(h->other[h->others++], sizeof h->other[0], "%s", h->root_text);
    }
    s->best = c;
    memcpy(h->link, s->link, sizeof h->link);
    h->links = s->links;
    snprintf(h->root, sizeof h->root, "%s", npu_hang_units[unit].name);
    snprintf(h->root_text, sizeof h->root_text, "%s%s%s", unit >= HU_MEMORY ? "" : npu_hang_units[unit].label,
             unit >= HU_MEMORY ? "" : ": ", text);
}

static void visit(walk *s, int unit, int from);

static void follow(walk *s, const npu_wait *w, size_t i) {
    const int to = w->wait[i].to;
    if (s->links == NPU_HANG_DEPTH) {
        return;
    }
    npu_hang_link *l = &s->link[s->links++];
    l->unit = w->unit;
    snprintf(l->text, sizeof l->text, "%s waits for %s: %s", npu_hang_units[w->unit].label, npu_hang_units[to].label,
             w->wait[i].text);
    if (w->wait[i].blame) {
        candidate(s, STUCK, to, w->wait[i].text);
    } else if (s->on_path[to]) {
        candidate(s, CIRCLE, to, "the units wait for each other");
    } else if (!s->seen[to]) {
        visit(s, to, w->unit);
    }
    s->links--;
}

/* A unit waits for another one that has no work: its check decides whether that one has delivered all its outputs. */
static void suspect(walk *s, npu_wait *w, int from) {
    char text[160];
    if (from < 0) {
        return;
    }
    if (hang_owes(w, w->unit)) {
        candidate(s, SUSPECT, w->unit, "it has lost something: it is idle, and its check still expects output");
    } else {
        snprintf(text, sizeof text, "it waits for %s, which is idle and has delivered all its outputs",
                 npu_hang_units[w->unit].label);
        candidate(s, SUSPECT, from, text);
    }
}

static void visit(walk *s, int unit, int from) {
    npu_wait w = {.h = s->h, .unit = unit, .path = npu_hang_units[unit].path};
    w.ch = npu_hang_units[unit].label[strlen(npu_hang_units[unit].label) - 1] == '1' ? 1 : 0;
    if (unit >= HU_MEMORY) {
        w.ch = unit >= HU_MEMORY + (int)TB_AXI_CHANNELS ? 1 : 0;
    }
    s->seen[unit] = true;
    s->on_path[unit] = true;
    npu_hang_units[unit].waits(&w);
    if (w.stuck) {
        candidate(s, unit >= HU_MEMORY ? MEMORY_OWES : STUCK, unit, w.text);
    } else if (w.idle && w.waits == 0) {
        suspect(s, &w, from);
    }
    for (size_t i = 0; i < w.waits; i++) {
        follow(s, &w, i);
    }
    s->on_path[unit] = false;
}

/* ---- first unit of the chain ---- */

/* Is a gated clock running? The tap counts its edges. */
static bool clock_runs(npu_hang *h, unsigned gate) {
    const char *path = npu_hang_units[HU_CLOCK + (int)gate].path;
    const uint64_t before = npu_look_get(&h->look, path, "edges");
    tb_run_cycle(&h->dev->run);
    tb_run_cycle(&h->dev->run);
    return npu_look_get(&h->look, path, "edges") != before;
}

/* No unit has a task. */
static void nothing_busy(npu_hang *h) {
    npu_dev *dev = h->dev;
    const char *text = "no unit has a task; the driver waits for an event that will not occur";
    snprintf(h->root, sizeof h->root, "idle");
    if (dev->has_model && npu_unfinished(dev) != 0) {
        snprintf(h->root, sizeof h->root, "npu_regs");
        text = "npu_regs: no unit has a task, but started tasks are not counted as complete";
    }
    if (dev->has_model && (cm_device_irq(dev->model) & ~dev->run.irq) != 0) {
        snprintf(h->root, sizeof h->root, "npu_regs");
        text = "npu_regs: the tasks are complete, but an interrupt line stays low";
    }
    snprintf(h->root_text, sizeof h->root_text, "%s", text);
}

/* A register access of the driver has no response. */
static void register_access(npu_hang *h) {
    const char *regs = npu_hang_units[HU_REGS].path;
    const char *axil = "u_regs.u_axil";
    snprintf(h->root, sizeof h->root, "%s", npu_hang_units[HU_REGS].name);
    snprintf(h->root_text, sizeof h->root_text,
             "npu_regs: it does not respond (holds AW %u, W %u, AR %u; offers B %u, R %u)",
             (unsigned)npu_look_get(&h->look, axil, "aw_have_q"), (unsigned)npu_look_get(&h->look, axil, "w_have_q"),
             (unsigned)npu_look_get(&h->look, axil, "ar_have_q"), (unsigned)npu_look_get(&h->look, regs, "bvalid_o"),
             (unsigned)npu_look_get(&h->look, regs, "rvalid_o"));
}

bool npu_hang_chain(npu_hang *h) {
    static const struct {
        unsigned unit, gate; /* UNIT_, number of its clock */
        int slot, top;
    } starts[] = {{UNIT_GEMM, 0, HU_GEMM_SLOT, HU_GEMM},
                  {UNIT_ALU, 1, HU_ALU_SLOT, HU_ALU},
                  {UNIT_POOL, 2, HU_POOL_SLOT, HU_POOL}};
    walk s = {.h = h};
    const uint32_t busy = npu_hang_busy(h->dev);
    bool any = false;
    if (!npu_look_unit(&h->look, npu_hang_units[HU_IM2COL].path)) {
        return false;
    }
    if (h->registers) {
        register_access(h);
        return true;
    }
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const uint64_t slot = npu_look_unit(&h->look, npu_hang_units[starts[i].slot].path)
                                  ? npu_look_get(&h->look, npu_hang_units[starts[i].slot].path, "slot_q")
                                  : 0;
        const bool works = (busy >> starts[i].unit & 1u) != 0;
        any = any || slot != 0 || works;
        if ((works || slot == SLOT_OFFERED) && !clock_runs(h, starts[i].gate)) {
            candidate(&s, STUCK, HU_CLOCK + (int)starts[i].gate, "the unit has a task, but its clock is stopped");
        }
        if (works && !s.seen[starts[i].top]) {
            visit(&s, starts[i].top, -1);
        }
        if (slot != 0) {
            visit(&s, starts[i].slot, -1);
        }
    }
    if (!any) {
        nothing_busy(h);
    } else if (s.best == NONE) {
        snprintf(h->root, sizeof h->root, "unknown");
        snprintf(h->root_text, sizeof h->root_text, "unknown: nothing explains it");
    }
    return true;
}
