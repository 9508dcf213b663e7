/* ifm_ld.c - check of the input loader: layout jobs, space in the ring of ifm_buf, progress. */
#include "score.h"
#include "num.h"

#include <inttypes.h>

#define RING 16384u
#define CHUNK 64u   /* pixels */
#define TASKS 8u    /* between offer and complete arrival, a power of two */
#define CHUNKS 256u /* handed out and not complete: at most the jobs in the layout units, a power of two */
#define PATIENCE 4u /* cycles for actions that depend on no other unit */

typedef struct map {
    bool int8;
    uint32_t addr, step, pixels, icb, last; /* last: channels of the last block */
    uint32_t icw;                           /* words of a pixel */
    uint32_t chunks, base;                  /* base: first word in the ring */
    uint64_t first;                         /* chunk in the sequence of all tasks */
} map;

#define PORTS                                                                                                          \
    task_valid_i, task_wide_i, task_nhwc_in_i, task_iw_i, task_ih_i, task_ic_i, task_ifm_addr_i, task_ifm_cstep_i,     \
        task_pop_o, busy_o, free_i, free_words_i, level_o, job_valid_o, job_ready_i, job_addr_o, job_nch_o, job_cnt_o, \
        job_waddr_o, job_stride_o, job_done_i, pix_ready_o, loaded_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    map ring[TASKS];
    uint64_t popped; /* tasks whose jobs are handed out: number of the one on offer */
    /* a task is on offer; space for its next chunk is reserved; a job was on offer and not accepted */
    bool on, begun, stood;
    uint32_t chunk, block;       /* next job */
    uint64_t sequence, complete; /* chunks of all tasks: handed out, arrived */
    uint64_t due[CHUNKS][2];     /* jobs of both units after which each chunk of the sequence is complete */
    uint64_t in[2], out[2];      /* jobs accepted and done by each unit */
    uint32_t base, used;         /* of the ring */
    uint64_t seen;               /* tasks loaded, by the unit's output */
    uint32_t pixels;             /* ready, by the unit's output */
    uint32_t late, late_job;
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->popped = s->sequence = s->complete = s->seen = 0;
    s->in[0] = s->in[1] = s->out[0] = s->out[1] = 0;
    s->chunk = s->block = s->base = s->used = s->pixels = s->late = s->late_job = 0;
    s->on = s->begun = s->stood = false;
    c->task = 0;
}

static int open(tb_check *c, char *err, size_t err_size) {
    const state *s = (const state *)c->state;
    const tb_sig sig[] = {s->task_valid_i, s->busy_o,      s->level_o, s->job_valid_o,
                          s->job_ready_i,  s->pix_ready_o, s->loaded_o};
    size_t i = 0;
    while (i < sizeof sig / sizeof *sig && tb_check_watch(c, sig[i], err, err_size) == 0) {
        i++;
    }
    return i == sizeof sig / sizeof *sig ? 0 : -1;
}

static map *map_of(state *s, uint64_t task) {
    return &s->ring[task % TASKS];
}

static void begin_task(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c), channels = (uint32_t)tb_get(s->task_ic_i);
    map *m = map_of(s, s->popped);
    m->int8 = tb_get(s->task_nhwc_in_i) != 0;
    m->addr = (uint32_t)tb_get(s->task_ifm_addr_i);
    m->step = (uint32_t)tb_get(s->task_ifm_cstep_i);
    m->pixels = (uint32_t)tb_get(s->task_iw_i) * (uint32_t)tb_get(s->task_ih_i);
    m->icb = tb_div_up(channels, n);
    m->icw = m->icb << tb_get(s->task_wide_i);
    m->last = channels - (m->icb - 1) * n;
    m->chunks = (m->pixels + CHUNK - 1) / CHUNK;
    m->base = s->base;
    m->first = s->sequence;
    s->on = true;
    s->begun = false;
    s->chunk = s->block = 0;
}

/* Words of the next chunk. */
static uint32_t chunk_words(state *s) {
    const map *m = map_of(s, s->popped);
    return tb_min_u32(CHUNK, m->pixels - s->chunk * CHUNK) * m->icw;
}

static void begin_chunk(tb_check *c, state *s) {
    const uint32_t words = chunk_words(s);
    s->begun = true;
    s->used += words;
    if (s->used > RING) {
        tb_check_failf(c, "ring", s->in[0] + s->in[1],
                       "pixels from %" PRIu32 "|%" PRIu32 " words in use with the chunk's own %" PRIu32
                       "|at most 16384",
                       s->chunk * CHUNK, s->used, words);
    }
}

static void field(tb_check *c, const state *s, const char *stream, uint64_t got, uint64_t expected) {
    if (got != expected) {
        tb_check_failf(c, stream, s->in[0] + s->in[1],
                       "pixels from %" PRIu32 ", channel block %" PRIu32 "|0x%" PRIx64 "|0x%" PRIx64, s->chunk * CHUNK,
                       s->block, got, expected);
    }
}

static void compare_job(tb_check *c, state *s) {
    const uint32_t n = npu_score_n(c);
    const map *m = map_of(s, s->popped);
    const uint32_t pixel = s->chunk * CHUNK;
    const uint32_t offset = m->int8 ? pixel * m->step : s->block * n * m->step + 4 * pixel;
    field(c, s, "job address", tb_get(s->job_addr_o), (uint32_t)(m->addr + offset));
    field(c, s, "job channels", tb_get(s->job_nch_o), m->int8 || s->block + 1 == m->icb ? m->last : n);
    field(c, s, "job pixels", tb_get(s->job_cnt_o), tb_min_u32(CHUNK, m->pixels - pixel));
    field(c, s, "job word", tb_get(s->job_waddr_o), (m->base + pixel * m->icw + s->block * (m->icw / m->icb)) % RING);
    field(c, s, "job stride", tb_get(s->job_stride_o), m->icw % RING);
}

/* A job is accepted; true: the last one of the task. */
static bool take_job(tb_check *c, state *s, uint32_t unit) {
    const map *m = map_of(s, s->popped);
    s->in[unit]++;
    if (!m->int8 && ++s->block < m->icb) {
        return false;
    }
    if (s->sequence - s->complete >= CHUNKS) {
        tb_check_fail(c, "job", s->in[0] + s->in[1], NULL, "one more job", "none before jobs are done");
        return false;
    }
    s->due[s->sequence % CHUNKS][0] = s->in[0];
    s->due[s->sequence++ % CHUNKS][1] = s->in[1];
    s->block = 0;
    s->begun = false;
    return ++s->chunk == m->chunks;
}

/* The job on offer. True: the last one of the task is accepted. */
static bool see_job(tb_check *c, state *s) {
    const uint32_t valid = *(const uint8_t *)s->job_valid_o.ptr;
    const uint32_t unit = (uint32_t)(s->sequence + s->block) & 1u;
    if (!s->on) {
        tb_check_fail(c, "job", s->in[0] + s->in[1], NULL, "a job", "none: no task is on offer");
        return false;
    }
    if (valid != 1u << unit) {
        field(c, s, "job valid", valid, UINT64_C(1) << unit);
        return false;
    }
    if (!s->begun) {
        begin_chunk(c, s);
    }
    const bool taken = (*(const uint8_t *)s->job_ready_i.ptr & valid) != 0;
    if (taken || !s->stood) {
        compare_job(c, s);
    }
    s->stood = !taken;
    return taken && take_job(c, s, unit);
}

/*
 * No job is on offer: none may have been withdrawn, and one must appear soon when there is space. True: it must.
 */
static bool see_pause(tb_check *c, state *s) {
    if (s->stood) {
        tb_check_fail(c, "job", s->in[0] + s->in[1], NULL, "no job", "the one that was not accepted");
    }
    const bool due = s->on && (s->begun || s->used + chunk_words(s) <= RING);
    s->late_job = due ? s->late_job + 1 : 0;
    if (s->late_job > PATIENCE) {
        field(c, s, "job late", 0, 1);
    }
    return due;
}

/* Chunks of a task that have arrived. */
static uint32_t lead(state *s, uint64_t task) {
    const map *m = map_of(s, task);
    if (task > s->popped || (task == s->popped && !s->on) || s->complete <= m->first) {
        return 0;
    }
    return s->complete - m->first < m->chunks ? (uint32_t)(s->complete - m->first) : m->chunks;
}

/* Progress must not run ahead of the jobs that were done up to the last cycle, nor lag behind for long. True: it lags.
 */
static bool see_progress(tb_check *c, state *s) {
    const uint32_t got = (uint32_t)tb_get(s->pix_ready_o), loaded = (uint32_t)tb_get(s->loaded_o);
    bool moved = false;
    if (loaded != s->seen % 8) {
        const bool whole = (s->seen < s->popped || s->on) && lead(s, s->seen) == map_of(s, s->seen)->chunks;
        if (!tb_check_value(c, "loaded", s->seen, loaded, (s->seen + whole) % 8)) {
            return false;
        }
        s->seen++;
        s->pixels = 0;
        moved = true;
    }
    const uint32_t most = lead(s, s->seen) * CHUNK;
    if (got > most || got < s->pixels) {
        tb_check_failf(c, "pixels ready", s->seen, "%" PRIu32 " after %" PRIu32 "|at most %" PRIu32 " pixels", got,
                       s->pixels, most);
    }
    const bool behind = got < most || (most > 0 && most == map_of(s, s->seen)->chunks * CHUNK);
    s->late = behind && !moved && got == s->pixels ? s->late + 1 : 0;
    if (s->late > PATIENCE) {
        tb_check_value(c, "pixels ready late", s->seen, got, most);
    }
    s->pixels = got;
    return behind;
}

static void note_done(state *s, uint32_t done) {
    s->out[0] += done & 1u;
    s->out[1] += done >> 1;
    while (s->complete < s->sequence) {
        const uint64_t *due = s->due[s->complete % CHUNKS];
        if (s->out[0] < due[0] || s->out[1] < due[1]) {
            break;
        }
        s->complete++;
    }
}

__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (!s->on && *(const uint8_t *)s->task_valid_i.ptr != 0) {
        begin_task(c, s);
    }
    const bool job = *(const uint8_t *)s->job_valid_o.ptr != 0;
    const uint32_t done = *(const uint8_t *)s->job_done_i.ptr;
    const bool works = job || s->in[0] != s->out[0] || s->in[1] != s->out[1];
    if ((*(const uint8_t *)s->busy_o.ptr != 0) != works) {
        tb_check_value(c, "busy", s->popped, !works, works);
    }
    bool pending = see_progress(c, s), last = false;
    if (job) {
        s->late_job = 0;
        last = see_job(c, s);
        pending = pending || !s->stood;
    } else if (see_pause(c, s)) {
        pending = true;
    }
    if (*(const uint8_t *)s->task_pop_o.ptr != last) {
        tb_check_value(c, "pop", s->popped, !last, last);
    }
    if (tb_get(s->level_o) != s->used) {
        tb_check_value(c, "level", s->popped, tb_get(s->level_o), s->used);
    }
    if (last) {
        const map *m = map_of(s, s->popped);
        s->base = (s->base + m->pixels * m->icw) % RING;
        s->on = false;
        s->popped++;
        c->task++;
    }
    if (done != 0) {
        note_done(s, done);
        pending = true;
    }
    if (*(const uint8_t *)s->free_i.ptr != 0) {
        s->used -= (uint32_t)tb_get(s->free_words_i);
        pending = true;
    }
    c->again = pending; /* else nothing can be due before a signal changes */
}

static void finish(tb_check *c) {
    const state *s = (const state *)c->state;
    if (s->on || s->seen != s->popped) {
        tb_check_failf(c, "loaded", s->seen, "%" PRIu64 " tasks|%" PRIu64, s->seen, s->popped + s->on);
    }
}

const tb_check_ops npu_score_ifm_ld = {.unit = "ifm_ld",
                                       .inputs = (const char *const[]){"gemm_queue", NULL},
                                       TB_STATE(state, PORTS),
                                       .wake = "job_done_i, free_i, task_pop_o",
                                       .open = open,
                                       .clear = clear,
                                       .cycle = cycle,
                                       .finish = finish};
