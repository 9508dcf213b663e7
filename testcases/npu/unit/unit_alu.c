/*
 * The ALU on random tasks in a random memory. The bench models the two read channels (in order, realigned, as dma_rd),
 * send_buf and the two write channels.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alu_draw.h"
#include "bench.h"
#include "npu_regs.h"
#include "npu_task.h"

#define BASE ALU_DRAW_BASE
#define MEM UINT32_C(0x00200000)
#define TASKS 8u
#define JOBS 64u
#define SEND 256u         /* words of send_buf */
#define IDEAL_LATENCY 10u /* cycles from a read request to its first word */

static const char *const pace_names[2] = {"random", "ideal"};
static const char *const block_names[3] = {"free", "data", "jobs"};
static const char *const value_names[4] = {"mild", "hard", "few", "mixed"};

static const tb_knob knobs[] = {
    {"tasks", 1, TASKS, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"count", 1, 20000, TB_KNOB_SMALL, NULL, NULL, "most elements of a row"},
    {"rows", 1, 300, TB_KNOB_SMALL, NULL, NULL, "most rows of a plane"},
    {"planes", 1, 40, TB_KNOB_SMALL, NULL, NULL, "most planes"},
    {"op", 0, NPU_ALU_CTRL_OP_COUNT, TB_KNOB_UNIFORM, NULL, NULL, "operation; the highest: any"},
    {"values", 0, 3, TB_KNOB_ENUM, value_names, NULL,
     "data: ordinary, corners of FP32, few different ones, ordinary with corners"},
    {"latency", 0, 100, TB_KNOB_SMALL, NULL, NULL, "cycles from a request to its first word, and to a write response"},
    {"pace", 0, 1, TB_KNOB_ENUM, pace_names, NULL, "ideal: no stall, long rows"},
    {"block", 0, 2, TB_KNOB_ENUM, block_names, NULL,
     "writes wait until no read is pending: their data, or also their jobs"},
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("req", "percent of cycles in which read requests wait"),
    UNIT_STALL_KNOB("rd", "percent of cycles without read data"),
    UNIT_STALL_KNOB("send", "percent of cycles in which send_buf accepts no word"),
    UNIT_STALL_KNOB("job", "percent of cycles in which write requests wait"),
    UNIT_STALL_KNOB("wr", "percent of cycles in which the write channel accepts no word"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tasks", seed, 2, 6);
    tb_knobs_draw_in(k, "op", seed, NPU_ALU_CTRL_OP_COUNT, NPU_ALU_CTRL_OP_COUNT);
}

typedef struct job {
    uint32_t addr, bytes, done;
    uint64_t at; /* cycle of its request, or of its last word */
} job;

typedef struct queue {
    job job[JOBS];
    uint64_t in, out;
} queue;

typedef struct chan {
    queue rd, wr;
    uint64_t answered; /* write jobs whose response has arrived */
    bool rd_on, block_now;
    uint8_t word[16];        /* on offer by the read channel */
    uint8_t send[SEND][16];  /* send_buf */
    uint64_t pushed, popped; /* its words */
    unit_stall req, data, sendb, jobs, drain;
} chan;

#define PORTS                                                                                                          \
    task_valid_i, task_i, task_done_o, rd_req_valid_o, rd_req_ready_i, rd_req_addr_o, rd_req_bytes_o, rd_valid_i,      \
        rd_ready_o, rd_data_i, wr_req_valid_o, wr_req_ready_i, wr_req_addr_o, wr_req_bytes_o, wr_valid_o, wr_ready_i,  \
        wr_data_o, wr_level_i, wr_idle_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
    uint8_t mem[MEM];
    cm_alu_task t;
    alu_draw draw;
    chan ch[2];
    unit_stall task_stall;
    bool ideal, seen_done;
    uint32_t block, latency;
} bench;

/* ---- read channel ---- */

/* A job outside of memory could not be served. */
static bool take_job(unit *u, queue *q, uint32_t addr, uint32_t bytes) {
    if (bytes == 0 || addr < BASE || addr - BASE > MEM || bytes > MEM - (addr - BASE)) {
        unit_fail(u, "job", "cycle %" PRIu64 ": a job of %" PRIu32 " bytes at 0x%" PRIx32 ", expected within memory",
                  u->cycle, bytes, addr);
        return false;
    }
    q->job[q->in++ % JOBS] = (job){.addr = addr, .bytes = bytes, .at = u->cycle};
    return true;
}

static bool reads_pending(const chan *h) {
    return h->rd.in != h->rd.out;
}

/* Data are read from memory when they are first offered: as late as possible. */
static void drive_read(const unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const bool go = unit_go(&h->data);
    const job *j = &h->rd.job[h->rd.out % JOBS];
    if (!h->rd_on && go && reads_pending(h) && u->cycle >= j->at + b->latency) {
        const uint32_t left = j->bytes - j->done;
        h->rd_on = true;
        memset(h->word, 0, 16);
        memcpy(h->word, b->mem + (j->addr - BASE) + j->done, left < 16 ? left : 16);
    }
    tb_set_field(b->rd_valid_i, c, 1, h->rd_on);
    unit_set_slice(b->rd_data_i, 16 * c, h->word, 16);
    tb_set_field(b->rd_req_ready_i, c, 1, unit_go(&h->req) && h->rd.in - h->rd.out < JOBS);
}

static void sample_read(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    if (h->rd_on && tb_get_field(b->rd_ready_o, c, 1)) {
        job *j = &h->rd.job[h->rd.out % JOBS];
        h->rd_on = false;
        j->done += 16;
        h->rd.out += j->done >= j->bytes;
    }
    if (tb_get_field(b->rd_req_valid_o, c, 1) && tb_get_field(b->rd_req_ready_i, c, 1)) {
        take_job(u, &h->rd, (uint32_t)tb_get_field(b->rd_req_addr_o, 32 * c, 32),
                 (uint32_t)tb_get_field(b->rd_req_bytes_o, 24 * c, 24));
    }
}

/* ---- send_buf and write channel ---- */

static void drive_write(const unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const uint64_t level = h->pushed - h->popped;
    h->block_now = b->block && reads_pending(h);
    tb_set_field(b->wr_ready_i, c, 1, unit_go(&h->sendb) && level < SEND);
    tb_set_field(b->wr_req_ready_i, c, 1,
                 unit_go(&h->jobs) && h->wr.in - h->wr.out < JOBS && !(h->block_now && b->block == 2));
    tb_set_field(b->wr_level_i, 16 * c, 16, level);
    while (h->answered != h->wr.out && u->cycle >= h->wr.job[h->answered % JOBS].at + b->latency) {
        h->answered++;
    }
    tb_set_field(b->wr_idle_i, c, 1, h->answered == h->wr.in);
}

static void sample_write(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const bool go = unit_go(&h->drain);
    if (go && !h->block_now && h->wr.in != h->wr.out) {
        job *j = &h->wr.job[h->wr.out % JOBS];
        const uint32_t left = j->bytes - j->done;
        const uint32_t n = left < 16 ? left : 16;
        memcpy(b->mem + (j->addr - BASE) + j->done, h->send[h->popped++ % SEND], n);
        j->done += n;
        j->at = u->cycle;
        h->wr.out += j->done == j->bytes;
    }
    if (tb_get_field(b->wr_req_valid_o, c, 1) && tb_get_field(b->wr_req_ready_i, c, 1)) {
        /* a pending response would be overwritten: complete it now */
        h->answered += h->wr.in - h->answered == JOBS;
        take_job(u, &h->wr, (uint32_t)tb_get_field(b->wr_req_addr_o, 32 * c, 32),
                 (uint32_t)tb_get_field(b->wr_req_bytes_o, 24 * c, 24));
    }
    if (tb_get_field(b->wr_valid_o, c, 1) && tb_get_field(b->wr_ready_i, c, 1)) {
        unit_get_slice(b->wr_data_o, 16 * c, h->send[h->pushed++ % SEND], 16);
    }
}

/* ---- a cycle ---- */

static void cycle(unit *u, bench *b, bool valid) {
    tb_set(b->task_valid_i, valid);
    for (uint32_t c = 0; c < 2; c++) {
        drive_read(u, b, c);
        drive_write(u, b, c);
    }
    unit_settle(u);
    for (uint32_t c = 0; c < 2; c++) {
        sample_write(u, b, c);
        sample_read(u, b, c);
    }
    b->seen_done = tb_get(b->task_done_o) != 0;
    unit_edge(u);
}

/* ---- a task ---- */

static void run_task(unit *u, bench *b) {
    alu_draw_task(&b->draw, &b->t);
    for (uint32_t at = 0; at < b->draw.used + 256; at += 4) {
        const uint32_t v = alu_draw_value(&b->draw);
        memcpy(b->mem + at, &v, 4);
    }
    while (unit_ok(u) && !unit_go(&b->task_stall)) {
        cycle(u, b, false);
    }
    npu_alu_task_set(b->task_i, &b->t);
    cycle(u, b, true);
    npu_alu_task_set(b->task_i, &(cm_alu_task){.op = 31, .count = 0xffffff, .rows = 0xffff}); /* it has been accepted */
    while (unit_ok(u) && !b->seen_done) {
        cycle(u, b, true);
    }
}

static void setup(unit *u, bench *b) {
    static const char *const names[] = {"req", "rd", "send", "job", "wr"};
    b->draw.rng = unit_stream(u, "shape");
    b->draw.rng_data = unit_stream(u, "values");
    b->task_stall = unit_stall_make(u, "task");
    b->ideal = unit_knob(u, "pace") != 0;
    b->draw.values = (uint32_t)unit_knob(u, "values");
    b->draw.op = (uint32_t)unit_knob(u, "op");
    b->draw.count = (uint32_t)unit_knob(u, "count");
    b->draw.rows = (uint32_t)unit_knob(u, "rows");
    b->draw.planes = (uint32_t)unit_knob(u, "planes");
    b->draw.long_rows = b->ideal;
    b->block = b->ideal ? 0 : (uint32_t)unit_knob(u, "block");
    b->latency = b->ideal ? IDEAL_LATENCY : (uint32_t)unit_knob(u, "latency");
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        unit_stall *const all[] = {&h->req, &h->data, &h->sendb, &h->jobs, &h->drain};
        for (uint32_t i = 0; i < 5; i++) {
            *all[i] = unit_stall_nth(u, names[i], 2 * i + c);
            all[i]->percent = b->ideal ? 0 : all[i]->percent;
        }
    }
    tb_rng_fill(&b->draw.rng_data, b->mem, MEM);
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    setup(u, b);
    tb_set(b->wr_idle_i, 3);
    unit_reset(u);
    const uint32_t tasks = (uint32_t)unit_knob(u, "tasks");
    for (uint32_t i = 0; i < tasks && unit_ok(u); i++) {
        run_task(u, b);
    }
    return 0;
}

UNIT_BENCH("alu", "the ALU: random tasks of all operations in a random memory", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
