/* dut: pool */
/*
 * Random tasks over the whole legal space. The bench models both read channels (data in job order, any delay), the send
 * buffers and both write channels (jobs in order, responses late).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "npu_task.h"
#include "pool_bench.h"
#include "num.h"

#define JOBS 32u  /* of a channel */
#define ROOM 256u /* words of a send buffer */
#define QUIET 20u
#define LATENCY_IDEAL 8u

static const tb_knob knobs[] = {
    {"tasks", 1, 1000, TB_KNOB_UNIFORM, NULL, NULL, "tasks"},
    {"work", 100, 1000000, TB_KNOB_SMALL, NULL, NULL, "approximate limit of the taps of a task on one channel"},
    {"shape", 0, POOL_SHAPES - 1, TB_KNOB_ENUM, pool_shape_names, NULL, "windows and maps"},
    {"int8", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of INT8 tasks"},
    {"avg", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of averages"},
    {"hard", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: FP32 corner values"},
    {"same", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: all INT8 elements are equal"},
    {"channels", 1, 65535, TB_KNOB_SMALL, NULL, NULL, "most channels"},
    {"latency", 1, 300, TB_KNOB_SMALL, NULL, NULL,
     "longest time from a read job to its data and from data to a response"},
    {"ideal", 0, 1, TB_KNOB_UNIFORM, NULL, NULL, "1: known shapes on an ideal memory"},
    UNIT_DATA_KNOB,
    UNIT_STALL_KNOB("task", "percent of cycles without a task on offer"),
    UNIT_STALL_KNOB("rreq", "percent of cycles in which a read request waits"),
    UNIT_STALL_KNOB("rdat", "percent of cycles without read data"),
    UNIT_STALL_KNOB("room", "percent of cycles in which a send buffer accepts nothing"),
    UNIT_STALL_KNOB("wreq", "percent of cycles in which a write request waits"),
    UNIT_STALL_KNOB("wdat", "percent of cycles in which a write channel accepts nothing"),
    UNIT_STALL_RUN_KNOB,
};

static void constrain(tb_knobs *k, uint64_t seed) {
    tb_rng rng = tb_rng_stream(seed, "constrain");
    const int64_t ideal = tb_rng_chance(&rng, 1, 16) ? 1 : 0;
    const int64_t most = tb_rng_chance(&rng, 1, 10) ? 65535 : 140;
    const int64_t full = tb_rng_chance(&rng, 1, 30) ? POOL_FULL : 0; /* long */
    tb_knobs_draw_in(k, "ideal", seed, ideal, ideal);
    tb_knobs_draw_in(k, "work", seed, 500, 20000);
    tb_knobs_draw_in(k, "channels", seed, 1, most);
    tb_knobs_draw_in(k, "shape", seed, full, full ? full : POOL_TALL);
    tb_knobs_draw_in(k, "tasks", seed, 1, full ? 1 : ideal ? 8 : 6);
    if (!full && tb_rng_chance(&rng, 1, 10)) { /* few channels, so that reads run far ahead of the taps */
        tb_knobs_draw_in(k, "shape", seed, POOL_WIDE, POOL_WIDE);
        tb_knobs_draw_in(k, "int8", seed, 80, 100);
        tb_knobs_draw_in(k, "avg", seed, 50, 100); /* a sum shows each wrong element, a maximum few of them */
        tb_knobs_draw_in(k, "channels", seed, 1, 4);
        tb_knobs_draw_in(k, "latency", seed, 1, 20);
        tb_knobs_draw_in(k, "stall_rreq", seed, 0, 0);
        tb_knobs_draw_in(k, "stall_rdat", seed, 0, 0);
        tb_knobs_draw_in(k, "work", seed, 20000, 70000);
        tb_knobs_draw_in(k, "tasks", seed, 5, 15);
    } else if (!full && tb_rng_chance(&rng, 1, 12)) { /* tables of factors that are loaded row by row */
        tb_knobs_draw_in(k, "shape", seed, POOL_HUGE, POOL_HUGE);
        tb_knobs_draw_in(k, "int8", seed, 0, 0);
        tb_knobs_draw_in(k, "avg", seed, 100, 100);
        tb_knobs_draw_in(k, "channels", seed, 1, 20);
        tb_knobs_draw_in(k, "work", seed, 5000, 20000);
    }
}

typedef struct job {
    uint32_t addr, bytes, pos;
    uint64_t ready_at;
} job;

typedef struct queue {
    job at[JOBS];
    uint32_t in, out;
} queue;

typedef struct chan {
    queue rd, wr;
    uint32_t level;   /* words in the send buffer */
    uint64_t resp_at; /* of the last write job */
    bool rd_ready, rd_data, wr_room, wr_ready;
    unit_stall rreq, rdat, room, wreq, wdat;
} chan;

#define PORTS                                                                                                          \
    task_valid_i, task_ready_o, task_i, task_done_o, rd_req_valid_o, rd_req_ready_i, rd_req_addr_o, rd_req_bytes_o,    \
        rd_valid_i, rd_data_i, wr_req_valid_o, wr_req_ready_i, wr_req_bytes_o, wr_valid_o, wr_ready_i, wr_level_i,     \
        wr_idle_i
typedef struct bench {
    TB_PORTS(ports, PORTS);
    pool_image image;
    uint8_t memory[POOL_IMAGE];
    pool_space space;
    cm_pool_task t;
    chan ch[2];
    bool ideal, on, running;
    bool queued; /* another task, without meaning, is on offer while one runs */
    uint8_t waiting[48];
    uint32_t started, finished, latency;
    unit_stall task_stall;
    tb_rng rng, noise;
} bench;

static void offer_task(bench *b) {
    b->space.index = b->started;
    pool_draw(&b->rng, &b->space, &b->t, &b->image);
    npu_pool_task_set(b->task_i, &b->t);
    b->on = true;
}

/* ---- drive ---- */
static bool go(const bench *b, unit_stall *stall) {
    const bool willing = unit_go(stall);
    return b->ideal || willing;
}

static void drive_chan(bench *b, uint64_t now, uint32_t c) {
    chan *ch = &b->ch[c];
    uint8_t beat[16];
    tb_rng_fill(&b->noise, beat, sizeof beat);
    ch->rd_ready = go(b, &ch->rreq) && ch->rd.in - ch->rd.out < 18;
    const job *j = &ch->rd.at[ch->rd.out % JOBS];
    ch->rd_data = ch->rd.in != ch->rd.out && now >= j->ready_at && go(b, &ch->rdat);
    if (ch->rd_data) {
        memset(beat, 0, sizeof beat);
        memcpy(beat, b->image.now + (j->addr - POOL_BASE) + j->pos, tb_min_u32(16, j->bytes - j->pos));
    }
    unit_set_slice(b->rd_data_i, 16 * c, beat, sizeof beat);
    ch->wr_room = go(b, &ch->room) && ch->level < ROOM;
    ch->wr_ready = go(b, &ch->wreq) && ch->wr.in - ch->wr.out < 18;
}

static void drive(unit *u, bench *b) {
    if (!b->on && !b->running && b->started < (uint32_t)unit_knob(u, "tasks") &&
        (unit_go(&b->task_stall) || b->ideal)) {
        offer_task(b);
    } else if (b->queued) {
        unit_set_slice(b->task_i, 0, b->waiting, sizeof b->waiting);
    } else if (!b->on) {
        uint8_t bytes[64];
        tb_rng_fill(&b->noise, bytes, sizeof bytes);
        unit_set_slice(b->task_i, 0, bytes, 48);
    }
    tb_set(b->task_valid_i, b->on || b->queued);
    uint32_t idle = 0;
    uint32_t level = 0;
    for (uint32_t c = 0; c < 2; c++) {
        const chan *ch = &b->ch[c];
        drive_chan(b, u->cycle, c);
        idle |= (uint32_t)(ch->wr.in == ch->wr.out && u->cycle >= ch->resp_at) << c;
        level |= ch->level << (16 * c);
    }
    tb_set(b->rd_req_ready_i, b->ch[0].rd_ready | (uint32_t)b->ch[1].rd_ready << 1);
    tb_set(b->rd_valid_i, b->ch[0].rd_data | (uint32_t)b->ch[1].rd_data << 1);
    tb_set(b->wr_ready_i, b->ch[0].wr_room | (uint32_t)b->ch[1].wr_room << 1);
    tb_set(b->wr_req_ready_i, b->ch[0].wr_ready | (uint32_t)b->ch[1].wr_ready << 1);
    tb_set(b->wr_level_i, level);
    tb_set(b->wr_idle_i, idle);
}

/* ---- sample ---- */
static uint64_t late(bench *b) {
    return b->ideal ? LATENCY_IDEAL : tb_rng_range(&b->noise, 1, b->latency);
}

static void sample_reads(unit *u, bench *b, uint32_t c) {
    chan *ch = &b->ch[c];
    if (ch->rd_data) {
        job *j = &ch->rd.at[ch->rd.out % JOBS];
        j->pos += 16;
        ch->rd.out += j->pos >= j->bytes;
    }
    if ((tb_get(b->rd_req_valid_o) >> c & 1u) && ch->rd_ready) {
        const uint32_t addr = (uint32_t)tb_get_field(b->rd_req_addr_o, 32 * c, 32);
        const uint32_t bytes = (uint32_t)tb_get_field(b->rd_req_bytes_o, 24 * c, 24);
        if (!pool_inside(addr, bytes)) { /* outside of memory */
            unit_fail(u, "job",
                      "cycle %" PRIu64 ": a read of %" PRIu32 " bytes at 0x%" PRIx32 ", expected within memory",
                      u->cycle, bytes, addr);
            return;
        }
        ch->rd.at[ch->rd.in++ % JOBS] = (job){.addr = addr, .bytes = bytes, .ready_at = u->cycle + late(b)};
    }
}

/* A word of the oldest write job leaves the send buffer. */
static void serve_write(const unit *u, bench *b, uint32_t c) {
    chan *ch = &b->ch[c];
    job *j = &ch->wr.at[ch->wr.out % JOBS];
    if (ch->wr.in == ch->wr.out || !go(b, &ch->wdat)) {
        return;
    }
    ch->level--;
    j->pos += 16;
    if (j->pos >= j->bytes) {
        ch->wr.out++;
        ch->resp_at = u->cycle + late(b);
    }
}

static void sample_writes(const unit *u, bench *b, uint32_t c) {
    chan *ch = &b->ch[c];
    serve_write(u, b, c);
    if ((tb_get(b->wr_req_valid_o) >> c & 1u) && ch->wr_ready) {
        ch->wr.at[ch->wr.in++ % JOBS] = (job){.bytes = (uint32_t)tb_get_field(b->wr_req_bytes_o, 24 * c, 24)};
    }
    ch->level += (tb_get(b->wr_valid_o) >> c & 1u) && ch->wr_room;
}

static void sample(unit *u, bench *b) {
    for (uint32_t c = 0; c < 2; c++) {
        sample_reads(u, b, c);
        sample_writes(u, b, c);
    }
    if (tb_get(b->task_done_o)) {
        b->running = b->queued = false;
        b->finished++;
    }
    if (b->on && tb_get(b->task_ready_o)) {
        b->on = false;
        b->running = true;
        b->started++;
        b->queued = tb_rng_chance(&b->noise, 1, 2);
        tb_rng_fill(&b->noise, b->waiting, sizeof b->waiting);
    }
}

static void setup(unit *u, bench *b) {
    static const char *const names[5] = {"rreq", "rdat", "room", "wreq", "wdat"};
    b->rng = unit_stream(u, "shape");
    b->noise = unit_stream(u, "noise");
    b->ideal = unit_knob(u, "ideal") != 0;
    b->space = (pool_space){.shape = (uint32_t)unit_knob(u, "shape"),
                            .work = (uint64_t)unit_knob(u, "work"),
                            .channels = (uint32_t)unit_knob(u, "channels"),
                            .int8 = (uint32_t)unit_knob(u, "int8"),
                            .avg = (uint32_t)unit_knob(u, "avg"),
                            .hard = unit_knob(u, "hard") != 0,
                            .same = unit_knob(u, "same") != 0,
                            .data = (int)unit_knob(u, "data"),
                            .ideal = b->ideal};
    b->latency = (uint32_t)unit_knob(u, "latency");
    b->task_stall = unit_stall_make(u, "task");
    for (uint32_t c = 0; c < 2; c++) {
        unit_stall *const stalls[5] = {&b->ch[c].rreq, &b->ch[c].rdat, &b->ch[c].room, &b->ch[c].wreq, &b->ch[c].wdat};
        for (uint32_t i = 0; i < 5; i++) {
            *stalls[i] = unit_stall_nth(u, names[i], c);
        }
    }
}

static int run(unit *u) {
    bench *b = (bench *)u->state;
    b->image.now = b->memory;
    setup(u, b);
    unit_reset(u);
    for (uint32_t quiet = 0; quiet < QUIET && unit_ok(u); quiet += b->finished == (uint32_t)unit_knob(u, "tasks")) {
        drive(u, b);
        unit_settle(u);
        sample(u, b);
        unit_edge(u);
    }
    return 0;
}

UNIT_BENCH("pool", "maximum and average over windows, both DMA channels", knobs, TB_STATE(bench, PORTS),
           .constrain = constrain);
