/*
 * predict_unit.c - cycles of POOL and ALU tasks. Each of the two channels of a unit works independently on every second
 * group (docs/npu/npu.md sections 4, 3.3, 3.4) and is as slow as its slowest part: reading, computing, writing.
 */
#include "predict.h"

/* Cycles of a task besides its work: checks, first request to first data, last result to the last write response, and
 * the next start. */
#define POOL_TASK 30u
#define ALU_TASK 36u
#define POOL_RING 1024u /* words of a lane of the line memory */
#define LANES 8u
#define ALU_ELEMENTS 256u /* of a chunk */
#define REDUCE_ROW 10u    /* cycles of a row of a reduction at least */
#define QUEUE 2u /* tasks that a unit holds; for another one the driver must see the end of the first of them */
/* from the first start until the driver looks whether it may start another task, and from each later one until the
 * next look; both without register writes */
#define FIRST_LOOK 242u
#define NEXT_LOOK 30u

typedef struct window {
    uint32_t iw, ih, ow, oh, kw, kh, sw, sh, left, top;
} window;

/* Elements of a window inside the map, along one dimension. */
static uint32_t inside(uint32_t at, uint32_t stride, uint32_t before, uint32_t k, uint32_t map) {
    const uint64_t first = (uint64_t)at * stride;
    const uint64_t end = tb_min_u64(first + k, (uint64_t)map + before);
    const uint64_t from = tb_max_u64(first, before);
    return end > from ? (uint32_t)(end - from) : 0;
}

/* Rows of 4-byte words through a DMA channel: one beat more for an unaligned job whose last bytes are in two output
 * beats. */
static uint64_t read_beats(uint32_t addr, uint64_t bytes) {
    const uint64_t bus = net_beats(addr, bytes);
    const bool tail = addr % 16 != 0 && bus > 1 && (addr + bytes - 1) % 16 >= addr % 16;
    return bus + (tail ? 1 : 0);
}

/* Cycles of pool_seq for a group of channels. */
static uint64_t sequence(const window *w, bool slow) {
    uint64_t taps = 0;
    uint64_t last = 0; /* of the last row of the windows */
    uint64_t cycles = 0;
    for (uint32_t x = 0; x < w->ow; x++) {
        const uint32_t columns = inside(x, w->sw, w->left, w->kw, w->iw);
        taps += columns;
        last += slow ? tb_max_u64(columns, 4) : columns;
    }
    for (uint32_t y = 0; y < w->oh; y++) {
        cycles += 1 + (inside(y, w->sh, w->top, w->kh, w->ih) - 1) * (taps + 2) + last + 2;
    }
    return cycles;
}

/* Beats of a row of a group: `jobs` jobs of `bytes` bytes, `step` bytes apart. */
static uint64_t row_beats(uint32_t addr, uint32_t jobs, uint32_t step, uint64_t bytes, bool read) {
    uint64_t beats = 0;
    for (uint32_t j = 0; j < jobs; j++) {
        beats += read ? read_beats(addr + j * step, bytes) : net_beats(addr + j * step, bytes);
    }
    return beats;
}

typedef struct pool_group {
    uint64_t load, first, sequence, store, last; /* cycles; first: the first row; last: the last row of results */
} pool_group;

/* One group of `lanes` words: channels in FP32, words of a pixel in INT8. */
static pool_group group_cycles(const net_task *t, const window *w, uint32_t from, uint32_t lanes, bool int8,
                               bool slow) {
    const uint32_t cstep = TASK_REG(t, POOL_IFM_CSTEP);
    const uint32_t ostep = TASK_REG(t, POOL_OFM_CSTEP);
    const bool packed_in = int8 && cstep == lanes * 4;
    const bool packed_out = int8 && ostep == lanes * 4;
    const uint32_t in_jobs = !int8 ? lanes : packed_in ? 1 : w->iw;
    const uint32_t out_jobs = !int8 ? lanes : packed_out ? 1 : w->ow;
    const uint64_t in_bytes = (uint64_t)4 * (!int8 ? w->iw : packed_in ? w->iw * lanes : lanes);
    const uint64_t out_bytes = (uint64_t)4 * (!int8 ? w->ow : packed_out ? w->ow * lanes : lanes);
    const uint32_t in_at = TASK_REG(t, POOL_IFM_ADDR) + (int8 ? from * 4 : from * cstep);
    const uint32_t out_at = TASK_REG(t, POOL_OFM_ADDR) + (int8 ? from * 4 : from * ostep);
    const bool slide = tb_min_u64(w->kh, w->ih) * ((w->iw + 3) / 4 * 4) <= POOL_RING;
    pool_group g = {.sequence = sequence(w, slow)};
    uint32_t next = 0; /* first row that has not been read */
    for (uint32_t y = 0; y < w->oh; y++) {
        const uint32_t first = (uint32_t)(y * w->sh > w->top ? y * w->sh - w->top : 0);
        const uint32_t end = first + inside(y, w->sh, w->top, w->kh, w->ih);
        for (uint32_t r = slide && next > first ? next : first; r < end; r++) {
            g.load += tb_max_u64(row_beats(in_at + r * TASK_REG(t, POOL_IFM_RSTEP), in_jobs, cstep, in_bytes, true),
                                 in_jobs + 1);
            g.first = g.first == 0 ? g.load : g.first;
        }
        next = end;
        g.last = 2 + tb_max_u64(row_beats(out_at + y * TASK_REG(t, POOL_OFM_RSTEP), out_jobs, ostep, out_bytes, false),
                                out_jobs);
        g.store += g.last;
    }
    return g;
}

static uint64_t pool_task(const net_task *t, uint32_t n, net_rt_estimate *e) {
    const window w = {TASK_GET(t, POOL_IFM_SIZE, IW), TASK_GET(t, POOL_IFM_SIZE, IH), TASK_GET(t, POOL_OFM_SIZE, OW),
                      TASK_GET(t, POOL_OFM_SIZE, OH), TASK_GET(t, POOL_WINDOW, KW),   TASK_GET(t, POOL_WINDOW, KH),
                      TASK_GET(t, POOL_WINDOW, SW),   TASK_GET(t, POOL_WINDOW, SH),   TASK_GET(t, POOL_PAD, LEFT),
                      TASK_GET(t, POOL_PAD, TOP)};
    const bool int8 = TASK_GET(t, POOL_CTRL, INT8) != 0;
    const bool slow = int8 && TASK_GET(t, POOL_CTRL, TYPE) == NPU_POOL_CTRL_TYPE_AVG;
    const uint32_t channels = TASK_GET(t, POOL_CHANNELS, C);
    const uint32_t units = int8 ? (uint32_t)tb_div_up_u64(channels, n) * n / 4 : channels;
    uint64_t cycles = 0;
    for (uint32_t c = 0; c < 2; c++) {
        pool_group sum = {0};
        uint64_t drain = 0;
        for (uint32_t from = c * LANES; from < units; from += 2 * LANES) {
            const pool_group g = group_cycles(t, &w, from, (uint32_t)tb_min_u64(LANES, units - from), int8, slow);
            sum.load += g.load;
            sum.sequence += g.sequence;
            sum.store += g.store;
            sum.first = from == c * LANES ? g.first : sum.first;
            drain = g.last;
        }
        const uint64_t work = tb_max_u64(tb_max_u64(sum.load, sum.first + sum.sequence), sum.store);
        cycles = tb_max_u64(cycles, work + drain);
        e->fill = c == 0 && e->fill == 0 ? sum.first : e->fill;
        e->drain = drain;
    }
    e->read += tb_div_up_u64((uint64_t)w.iw * w.ih * units * 4, 32);
    e->write += tb_div_up_u64((uint64_t)w.ow * w.oh * units * 4, 32);
    return cycles + POOL_TASK;
}

/* Tasks one after the other: when the driver has written the last one, and the ends of the last two, newest first. */
typedef struct queue {
    uint32_t count;
    uint64_t driver, end[QUEUE];
} queue;

static void queue_task(queue *q, uint64_t work, const net_task *t) {
    q->driver += q->count == 0 ? 0 : q->count == 1 ? FIRST_LOOK : NEXT_LOOK;
    if (q->count >= QUEUE) {
        q->driver = tb_max_u64(q->driver, q->end[1] + NEXT_LOOK);
    }
    q->driver += (uint64_t)t->writes * REG_WRITE;
    const uint64_t end = tb_max_u64(q->driver, q->end[0]) + work;
    q->end[1] = q->end[0];
    q->end[0] = end;
    q->count++;
}

uint64_t net_predict_pool(const net_task *task, uint32_t count, uint32_t n, net_rt_estimate *e) {
    queue q = {0};
    for (uint32_t i = 0; i < count; i++) {
        queue_task(&q, pool_task(&task[i], n, e), &task[i]);
    }
    return q.end[0];
}

/* ---- ALU ---- */

typedef struct alu_task {
    bool reduce, dup, vector, p_plane, q_plane;
    uint64_t count, rows, planes;
} alu_task;

static alu_task alu_decode(const net_task *t) {
    const uint32_t op = TASK_GET(t, ALU_CTRL, OP);
    const bool reduce = NPU_HAS(NPU_ALU_CTRL_OP_WITH_REDUCE, op);
    const bool uses_p = NPU_HAS(NPU_ALU_CTRL_OP_WITH_P, op);
    const bool uses_q = NPU_HAS(NPU_ALU_CTRL_OP_WITH_Q, op);
    const uint32_t p = uses_p ? TASK_GET(t, ALU_CTRL, P_KIND) : NPU_ALU_CTRL_P_KIND_SCALAR;
    const uint32_t q = uses_q ? TASK_GET(t, ALU_CTRL, Q_KIND) : NPU_ALU_CTRL_P_KIND_SCALAR;
    return (alu_task){.reduce = reduce,
                      .dup = TASK_GET(t, ALU_CTRL, DUP) != 0,
                      .vector = p == NPU_ALU_CTRL_P_KIND_VECTOR || q == NPU_ALU_CTRL_P_KIND_VECTOR,
                      .p_plane = p == NPU_ALU_CTRL_P_KIND_PLANE,
                      .q_plane = q == NPU_ALU_CTRL_P_KIND_PLANE,
                      .count = TASK_GET(t, ALU_SIZE, COUNT),
                      .rows = TASK_GET(t, ALU_ROWS, ROWS),
                      .planes = TASK_GET(t, ALU_ROWS, PLANES)};
}

/* Read beats, written beats and results of both channels. */
typedef struct alu_work {
    uint64_t read[2], write[2], words[2];
    uint32_t turn;
} alu_work;

static void alu_row(const net_task *t, const alu_task *a, uint64_t plane, uint64_t row, bool seen[2], alu_work *w) {
    const uint64_t a_at = TASK_REG(t, ALU_A_ADDR) + plane * TASK_REG(t, ALU_A_PSTEP) + row * TASK_REG(t, ALU_A_RSTEP);
    const uint64_t b_at = TASK_REG(t, ALU_B_ADDR) + plane * TASK_REG(t, ALU_B_PSTEP) + row * TASK_REG(t, ALU_B_RSTEP);
    const uint64_t o_at = TASK_REG(t, ALU_O_ADDR) + plane * TASK_REG(t, ALU_O_PSTEP) + row * TASK_REG(t, ALU_O_RSTEP);
    uint64_t words = 0;
    for (uint64_t x = 0; x < a->count; x += ALU_ELEMENTS) {
        const uint64_t bytes = 4 * tb_min_u64(ALU_ELEMENTS, a->count - x);
        const uint32_t c = w->turn;
        w->read[c] +=
            read_beats((uint32_t)(a_at + 4 * x), bytes) + (a->vector ? read_beats((uint32_t)(b_at + 4 * x), bytes) : 0);
        w->read[c] += seen[c] ? 0 : (a->p_plane ? 1u : 0u) + (a->q_plane ? 1u : 0u);
        seen[c] = true;
        words += tb_div_up_u64(bytes, 16);
        if (!a->reduce) {
            const uint64_t out = a->dup ? 2 * bytes : bytes;
            w->write[c] += net_beats((uint32_t)(o_at + (a->dup ? 8 : 4) * x), out);
            w->words[c] += tb_div_up_u64(out, 16);
            w->turn = 1 - c;
        }
    }
    if (a->reduce) { /* a row takes one cycle more than its words */
        w->words[w->turn] += tb_max_u64(words + 1, REDUCE_ROW);
        w->write[w->turn] += 1;
        w->turn = 1 - w->turn;
    }
}

static uint64_t alu_cycles(const net_task *t, net_rt_estimate *e) {
    const alu_task a = alu_decode(t);
    alu_work w = {.turn = 0};
    uint64_t cycles = 0;
    for (uint64_t p = 0; p < a.planes; p++) {
        bool seen[2] = {false, false};
        for (uint64_t r = 0; r < a.rows; r++) {
            alu_row(t, &a, p, r, seen, &w);
        }
    }
    for (uint32_t c = 0; c < 2; c++) {
        cycles = tb_max_u64(cycles, tb_max_u64(w.read[c], tb_max_u64(w.write[c], w.words[c])));
    }
    const uint64_t elements = a.count * a.rows * a.planes;
    e->read += tb_div_up_u64(elements * (a.vector ? 8 : 4), 32);
    e->write += tb_div_up_u64(a.reduce ? a.rows * a.planes * 4 : elements * (a.dup ? 8 : 4), 32);
    /* a chunk is written when all its results are there */
    return cycles + ALU_TASK + (a.reduce ? 0 : tb_div_up_u64(tb_min_u64(a.count, ALU_ELEMENTS) * (a.dup ? 2 : 1), 4));
}

uint64_t net_predict_alu(const net_task *task, uint32_t count, net_rt_estimate *e) {
    queue q = {0};
    for (uint32_t i = 0; i < count; i++) {
        queue_task(&q, alu_cycles(&task[i], e), &task[i]);
    }
    return q.end[0];
}
