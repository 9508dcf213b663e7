/*
 * The ALU on random tasks in a random memory. The bench plays the two read channels (in order, realigned, as dma_rd), send_buf and the two write channels; after
 * each task the whole memory is what the golden model makes of it. With pace=ideal the memory never waits and the cycles of long rows are bounded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "alu_draw.h"
#include "bench.h"
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
    {"op", 0, 17, TB_KNOB_UNIFORM, NULL, NULL, "operation; 17: any"},
    {"values", 0, 3, TB_KNOB_ENUM, value_names, NULL, "data: everyday, corners of FP32, few different ones, everyday with corners"},
    {"latency", 0, 100, TB_KNOB_SMALL, NULL, NULL, "cycles from a request to its first word, and to a write response"},
    {"pace", 0, 1, TB_KNOB_ENUM, pace_names, NULL, "ideal: no stall, long rows, bounded time"},
    {"block", 0, 2, TB_KNOB_ENUM, block_names, NULL, "writes wait until no read is pending: their data, or also their jobs"},
    UNIT_STALL_KNOB("task", "percent of cycles in which no task comes"),
    UNIT_STALL_KNOB("req", "percent of cycles in which read requests wait"),
    UNIT_STALL_KNOB("rd", "percent of cycles without read data"),
    UNIT_STALL_KNOB("send", "percent of cycles in which send_buf takes no word"),
    UNIT_STALL_KNOB("job", "percent of cycles in which write requests wait"),
    UNIT_STALL_KNOB("wr", "percent of cycles in which the write channel takes no word"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_knobs_draw_in(k, "tasks", seed, 2, 6);
    tb_knobs_draw_in(k, "op", seed, 17, 17);
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
    uint64_t answered; /* write jobs whose response has come */
    bool rd_on, block_now;
    uint8_t word[16];        /* that the read channel holds out */
    uint8_t send[SEND][16];  /* send_buf */
    uint64_t pushed, popped; /* its words */
    uint64_t claimed;        /* of these: belong to write jobs */
    uint32_t asked, share;   /* requests of A in this task: so far, all of this channel */
    uint32_t quiet;          /* cycles without a read request */
    unit_stall req, data, sendb, jobs, drain;
} chan;

typedef struct bench {
    tb_sig task_valid, task_ready, task, done, busy, result_we, result, rd_req_valid, rd_req_ready, rd_req_addr, rd_req_bytes, rd_valid,
        rd_ready, rd_data, wr_req_valid, wr_req_ready, wr_req_addr, wr_req_bytes, wr_valid, wr_ready, wr_data, wr_level, wr_idle, event;
    uint8_t *mem, *golden;
    cm_alu_task t;
    alu_draw draw;
    chan ch[2];
    unit_stall task_stall;
    bool ideal, seen_done, seen_result;
    uint32_t block, latency, got_result;
} bench;

/* ---- golden memory ---- */

static bool golden_read(void *ctx, uint32_t addr, void *dst, uint32_t bytes) {
    const bench *b = ctx;
    if (addr < BASE || addr - BASE > MEM || bytes > MEM - (addr - BASE)) {
        return false;
    }
    memcpy(dst, b->golden + (addr - BASE), bytes);
    return true;
}

static bool golden_write(void *ctx, uint32_t addr, const void *src, uint32_t bytes) {
    bench *b = ctx;
    if (addr < BASE || addr - BASE > MEM || bytes > MEM - (addr - BASE)) {
        return false;
    }
    memcpy(b->golden + (addr - BASE), src, bytes);
    return true;
}

/* ---- read channel ---- */

static bool inside(const bench *b, const job *j) {
    for (uint32_t i = 0; i < b->draw.extents; i++) {
        const uint32_t lo = BASE + b->draw.extent[i].lo;
        if (j->addr >= lo && j->addr - lo + j->bytes <= b->draw.extent[i].hi - b->draw.extent[i].lo) {
            return true;
        }
    }
    return false;
}

static bool reads_pending(const chan *h) {
    return h->rd.in != h->rd.out;
}

/* Data are read from memory when they are first held out: as late as can be. */
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
    tb_set_field(b->rd_valid, c, 1, h->rd_on);
    unit_set_slice(b->rd_data, 16 * c, h->word, 16);
    tb_set_field(b->rd_req_ready, c, 1, unit_go(&h->req) && h->rd.in - h->rd.out < JOBS);
}

static void sample_read(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    if (h->rd_on && tb_get_field(b->rd_ready, c, 1)) {
        job *j = &h->rd.job[h->rd.out % JOBS];
        h->rd_on = false;
        j->done += 16;
        h->rd.out += j->done >= j->bytes;
    }
    if (tb_get_field(b->rd_req_valid, c, 1) && tb_get_field(b->rd_req_ready, c, 1)) {
        const job j = {.addr = (uint32_t)tb_get_field(b->rd_req_addr, 32 * c, 32),
                       .bytes = (uint32_t)tb_get_field(b->rd_req_bytes, 24 * c, 24),
                       .at = u->cycle};
        if (j.bytes == 0 || !inside(b, &j)) {
            unit_fail(u, "read", "channel %" PRIu32 ", cycle %" PRIu64 ": reads %" PRIu32 " bytes at 0x%" PRIx32 ", no operand is there", c,
                      u->cycle, j.bytes, j.addr);
            return;
        }
        h->asked += j.addr - BASE >= b->draw.extent[0].lo && j.addr - BASE < b->draw.extent[0].hi;
        h->rd.job[h->rd.in++ % JOBS] = j;
    }
}

/* ---- send_buf and write channel ---- */

static void drive_write(const unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const uint64_t level = h->pushed - h->popped;
    h->block_now = b->block && reads_pending(h);
    tb_set_field(b->wr_ready, c, 1, unit_go(&h->sendb) && level < SEND);
    tb_set_field(b->wr_req_ready, c, 1, unit_go(&h->jobs) && h->wr.in - h->wr.out < JOBS && !(h->block_now && b->block == 2));
    tb_set_field(b->wr_level, 16 * c, 16, level);
    while (h->answered != h->wr.out && u->cycle >= h->wr.job[h->answered % JOBS].at + b->latency) {
        h->answered++;
    }
    tb_set_field(b->wr_idle, c, 1, h->answered == h->wr.in);
}

static void sample_job(unit *u, bench *b, uint32_t c) {
    chan *h = &b->ch[c];
    const job j = {.addr = (uint32_t)tb_get_field(b->wr_req_addr, 32 * c, 32),
                   .bytes = (uint32_t)tb_get_field(b->wr_req_bytes, 24 * c, 24)};
    if (j.bytes == 0 || j.addr < BASE || j.addr - BASE >= MEM || j.bytes > MEM - (j.addr - BASE)) {
        unit_fail(u, "write", "channel %" PRIu32 ", cycle %" PRIu64 ": writes %" PRIu32 " bytes at 0x%" PRIx32 ", outside of memory", c,
                  u->cycle, j.bytes, j.addr);
        return;
    }
    h->claimed += (j.bytes + 15) / 16;
    if (h->claimed > h->pushed) {
        unit_fail(u, "early job", "channel %" PRIu32 ", cycle %" PRIu64 ": a write job comes before all its words", c, u->cycle);
    }
    if (h->wr.in - h->answered == JOBS) { /* a response that is waited for would be overwritten: let it come now */
        h->answered++;
    }
    h->wr.job[h->wr.in++ % JOBS] = j;
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
    const bool valid = tb_get_field(b->wr_valid, c, 1), ready = tb_get_field(b->wr_ready, c, 1);
    const bool room = tb_get_field(b->wr_level, 16 * c, 16) < SEND;
    if (valid && !room) {
        unit_fail(u, "room", "channel %" PRIu32 ", cycle %" PRIu64 ": a word for send_buf, which is full", c, u->cycle);
    }
    unit_expect_value(u, "event_o word of results", tb_get_field(b->event, 3 + c, 1), valid && ready);
    if (tb_get_field(b->wr_req_valid, c, 1) && tb_get_field(b->wr_req_ready, c, 1)) {
        sample_job(u, b, c);
    }
    if (valid && ready) {
        unit_get_slice(b->wr_data, 16 * c, h->send[h->pushed++ % SEND], 16);
    }
}

/* ---- a cycle ---- */

/* Chunks of 256 elements alternate between the channels; in reductions rows do. */
static uint32_t share_of(const cm_alu_task *t, uint32_t c) {
    const uint32_t chunks = (t->count + 255) / 256;
    const uint32_t rows = t->rows * t->planes;
    return alu_reduces(t) ? (rows + 1 - c) / 2 * chunks : (rows * chunks + 1 - c) / 2;
}

/*
 * Waiting for operands: it must be seen when a read is pending without data, and not when nothing is asked for. Waiting for room: when a word cannot leave, or when
 * a channel does not ask for what it still needs; the walk over the other channel's chunks may take a few cycles.
 */
static void check_events(unit *u, bench *b) {
    const bool busy = tb_get(b->busy) != 0;
    bool data_must = false, data_may = false, room_must = false, room_may = false;
    for (uint32_t c = 0; c < 2; c++) {
        chan *h = &b->ch[c];
        const bool req = tb_get_field(b->rd_req_valid, c, 1) != 0;
        const bool stuck = tb_get_field(b->wr_valid, c, 1) && !tb_get_field(b->wr_ready, c, 1);
        const bool silent = !req && h->asked < h->share;
        h->quiet = silent ? h->quiet + 1 : 0;
        data_must = data_must || (reads_pending(h) && !h->rd_on);
        data_may = data_may || ((reads_pending(h) || req) && !h->rd_on);
        room_must = room_must || stuck || h->quiet > 4;
        room_may = room_may || stuck || (silent && busy);
    }
    const uint64_t event = tb_get(b->event);
    const bool data = (event & 2u) != 0, room = (event & 4u) != 0;
    unit_expect_value(u, "event_o busy", event & 1u, busy);
    if ((data_must && !data) || (!data_may && data)) {
        unit_fail(u, "event_o data", "cycle %" PRIu64 ": event 1 (waits for operands) is %d", u->cycle, data);
    }
    if ((room_must && !room) || (!room_may && room)) {
        unit_fail(u, "event_o room", "cycle %" PRIu64 ": event 2 (waits for room) is %d", u->cycle, room);
    }
}

static void cycle(unit *u, bench *b, bool valid) {
    tb_set(b->task_valid, valid);
    for (uint32_t c = 0; c < 2; c++) {
        drive_read(u, b, c);
        drive_write(u, b, c);
    }
    unit_settle(u);
    check_events(u, b);
    for (uint32_t c = 0; c < 2; c++) {
        sample_write(u, b, c);
        sample_read(u, b, c);
    }
    if (tb_get(b->result_we)) {
        b->got_result = (uint32_t)tb_get(b->result);
        if (b->seen_result || !alu_reduces(&b->t)) {
            unit_fail(u, "result_we_o", "cycle %" PRIu64 ": a result too many", u->cycle);
        }
        b->seen_result = true;
    }
    b->seen_done = tb_get(b->done) != 0;
    unit_edge(u);
}

/* ---- a task ---- */

static void check_memory(unit *u, const bench *b, uint32_t number) {
    const cm_alu_task *t = &b->t;
    const uint32_t words = alu_reduces(t) ? 1 : t->dup ? 2 * t->count : t->count;
    for (uint32_t p = 0; p < t->planes; p++) {
        for (uint32_t r = 0; r < t->rows; r++) {
            const uint32_t at = t->o_addr + p * t->o_pstep + r * t->o_rstep - BASE;
            if (!unit_compare(u, b->mem + at, b->golden + at, words, "task %" PRIu32 " (op %" PRIu32 "), plane %" PRIu32 ", row %" PRIu32,
                              number, t->op, p, r)) {
                return;
            }
        }
    }
    if (memcmp(b->mem, b->golden, MEM) == 0) {
        return;
    }
    for (uint32_t i = 0; i < MEM; i++) {
        if (b->mem[i] != b->golden[i]) {
            unit_fail(u, "stray write", "task %" PRIu32 " (op %" PRIu32 "): byte 0x%" PRIx32 " is 0x%02x, expected 0x%02x", number, t->op,
                      BASE + i, b->mem[i], b->golden[i]);
            return;
        }
    }
}

/*
 * 8 elements a cycle; 4 with a vector operand or two results each; 3 with both, since results cannot leave while B comes. A tenth and 200 cycles more for chunks,
 * begin and end.
 */
static void check_pace(unit *u, const bench *b, uint64_t cycles) {
    const cm_alu_task *t = &b->t;
    const uint64_t elements = (uint64_t)t->count * t->rows * t->planes;
    const uint64_t rate = alu_has_vector(t) && t->dup ? 3 : alu_has_vector(t) || t->dup ? 4 : 8;
    const uint64_t bound = elements / rate * 11 / 10 + 200;
    if (cycles > bound) {
        unit_fail(u, "pace", "op %" PRIu32 " on %" PRIu64 " elements: %" PRIu64 " cycles, expected at most %" PRIu64, t->op, elements,
                  cycles, bound);
    }
}

static void run_task(unit *u, bench *b, uint32_t number) {
    alu_draw_task(&b->draw, &b->t);
    for (uint32_t at = 0; at < b->draw.used + 256; at += 4) {
        const uint32_t v = alu_draw_value(&b->draw);
        memcpy(b->mem + at, &v, 4);
    }
    memcpy(b->golden, b->mem, MEM);
    const cm_mem mem = {b, golden_read, golden_write};
    uint32_t result = 0;
    if (!cm_alu_run(&b->t, &mem, &result)) {
        unit_fail(u, "model", "task %" PRIu32 ": the golden model leaves memory", number);
    }
    while (unit_ok(u) && !unit_go(&b->task_stall)) {
        unit_expect_value(u, "busy_o", tb_get(b->busy), 0);
        cycle(u, b, false);
    }
    npu_alu_task_set(b->task, &b->t);
    b->seen_result = false;
    for (uint32_t c = 0; c < 2; c++) {
        b->ch[c].asked = b->ch[c].quiet = 0;
        b->ch[c].share = share_of(&b->t, c);
    }
    unit_settle(u);
    unit_expect_value(u, "task_ready_o", tb_get(b->task_ready), 1);
    const uint64_t begin = u->cycle;
    cycle(u, b, true);
    npu_alu_task_set(b->task, &(cm_alu_task){.op = 31, .count = 0xffffff, .rows = 0xffff}); /* it has been taken */
    while (unit_ok(u) && !b->seen_done) {
        unit_expect_value(u, "task_ready_o", tb_get(b->task_ready), 0);
        cycle(u, b, true);
    }
    const uint64_t end = u->cycle;
    for (uint32_t c = 0; c < 2 && unit_ok(u); c++) {
        const chan *h = &b->ch[c];
        unit_expect_value(u, "chunks of a channel", h->asked, h->share);
        if (h->answered != h->wr.in || h->popped != h->pushed || reads_pending(h)) {
            unit_fail(u, "task_done_o", "channel %" PRIu32 ", cycle %" PRIu64 ": done with work left", c, u->cycle);
        }
    }
    if (unit_ok(u)) {
        unit_expect_value(u, "result_we_o of a reduction", b->seen_result, alu_reduces(&b->t));
        unit_expect_value(u, "result_o", b->seen_result ? b->got_result : 0, b->seen_result ? result : 0);
        check_memory(u, b, number);
        if (b->ideal) {
            check_pace(u, b, end - begin);
        }
    }
}

static void find_ports(unit *u, bench *b) {
    const struct {
        tb_sig *sig;
        const char *name;
    } ports[] = {{&b->task_valid, "task_valid_i"},
                 {&b->task_ready, "task_ready_o"},
                 {&b->task, "task_i"},
                 {&b->done, "task_done_o"},
                 {&b->busy, "busy_o"},
                 {&b->result_we, "result_we_o"},
                 {&b->result, "result_o"},
                 {&b->rd_req_valid, "rd_req_valid_o"},
                 {&b->rd_req_ready, "rd_req_ready_i"},
                 {&b->rd_req_addr, "rd_req_addr_o"},
                 {&b->rd_req_bytes, "rd_req_bytes_o"},
                 {&b->rd_valid, "rd_valid_i"},
                 {&b->rd_ready, "rd_ready_o"},
                 {&b->rd_data, "rd_data_i"},
                 {&b->wr_req_valid, "wr_req_valid_o"},
                 {&b->wr_req_ready, "wr_req_ready_i"},
                 {&b->wr_req_addr, "wr_req_addr_o"},
                 {&b->wr_req_bytes, "wr_req_bytes_o"},
                 {&b->wr_valid, "wr_valid_o"},
                 {&b->wr_ready, "wr_ready_i"},
                 {&b->wr_data, "wr_data_o"},
                 {&b->wr_level, "wr_level_i"},
                 {&b->wr_idle, "wr_idle_i"},
                 {&b->event, "event_o"}};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        *ports[i].sig = unit_port(u, ports[i].name);
    }
}

static void setup(unit *u, bench *b) {
    find_ports(u, b);
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
        h->req = unit_stall_make(u, "req");
        h->data = unit_stall_make(u, "rd");
        h->sendb = unit_stall_make(u, "send");
        h->jobs = unit_stall_make(u, "job");
        h->drain = unit_stall_make(u, "wr");
        unit_stall *const all[] = {&h->req, &h->data, &h->sendb, &h->jobs, &h->drain};
        for (uint32_t i = 0; i < 5; i++) {
            all[i]->rng = tb_rng_fork(&all[i]->rng, 2 * i + c);
            all[i]->percent = b->ideal ? 0 : all[i]->percent;
        }
    }
    tb_rng_fill(&b->draw.rng_data, b->mem, MEM);
}

static int run(unit *u) {
    bench *b = calloc(1, sizeof *b);
    int rc = -1;
    if (b) {
        b->mem = malloc(MEM);
        b->golden = malloc(MEM);
    }
    if (b && b->mem && b->golden && unit_expect_init(u, 4, "element", 1u << 24, false) == 0) {
        setup(u, b);
        tb_set(b->wr_idle, 3);
        unit_reset(u);
        const uint32_t tasks = (uint32_t)unit_knob(u, "tasks");
        for (uint32_t i = 0; i < tasks && unit_ok(u); i++) {
            run_task(u, b, i);
        }
        rc = 0;
    }
    if (b) {
        free(b->mem);
        free(b->golden);
    }
    free(b);
    return rc;
}

const unit_bench unit_this_bench = {
    .name = "alu",
    .about = "the ALU: random tasks of all operations in a random memory, golden model, pace of long rows",
    .knobs = knobs,
    .nknobs = sizeof knobs / sizeof *knobs,
    .constrain = constrain,
    .run = run,
};
