/*
 * predict_gemm.c - cycles of GEMM tasks: the order of work of docs/npu/npu.md section 4.2, tile by tile, with the waits
 * for rows, weights and space for sums. The model has two read channels that weights and input share, the ring of
 * ifm_buf, two banks of weights, and groups of tiles that post writes back.
 */
#include <stdlib.h>
#include <string.h>

#include "predict.h"

#define QUEUE 4u         /* tasks in gemm_queue */
#define IFM_WORDS 16384u /* of ifm_buf */
#define OFM_WORDS 1024u  /* tiles of ofm_buf: this / N */
#define CHUNK 64u        /* pixels that ifm_ld requests at once */
#define CHUNKS 1024u     /* of a task at most */
#define LOADS 1024u      /* blocks of weights whose time is kept, for each bank; a resident task has fewer */
#define BURSTS 16u       /* in flight on a channel */
#define PIECES 2u        /* requests of wgt_ld in flight, of PIECE_BEATS each; input uses the other bursts */
#define PIECE_BEATS 64u
#define LAYOUT_JOBS 5u /* jobs that layout has requested */
/* Latencies: the state machines from a task's start to its first request and through a DMA channel. */
#define START 14u         /* start, check, queue */
#define LOAD_LATENCY 10u  /* request to first data */
#define LAYOUT_LATENCY 7u /* last beat of a job to its last word, beyond one cycle a word */
#define TILE_SETUP 8u     /* im2col: states before the first tile of a task */
#define POST_START 4u     /* sums to the first results read */
#define POST_GAP 1u       /* between two groups, in addition */
#define POST_LATENCY 18u  /* last result read to the last write response */

typedef struct gemm_task {
    bool diagonal, nhwc, requant, psum, raw, fence, resident, keep, factors, bias, wide;
    /* span: rows of a window; words: of a block of weights; pixel: words of an input pixel; sum: bytes of a partial
     * sum */
    uint32_t ic, oc, icb, pixel, sum, ocb, iw, ih, ow, oh, sh, pad_t, span, group, words;
    uint64_t tile; /* cycles of one */
    /* first: number of the bank's load with its first block */
    uint32_t ofm_addr, ofm_cstep, first[2];
    uint32_t parity, writes;
} gemm_task;

/* A read channel and the bank of weights that it fills. */
typedef struct channel {
    uint64_t at;          /* simulated up to this cycle */
    uint32_t task, block; /* next or current load */
    bool busy, held;
    uint64_t from, left; /* of the current load: first possible cycle, and beats left */
    uint32_t loads;      /* finished */
    uint64_t done[LOADS];
} channel;

typedef struct gemm {
    const gemm_task *task;
    gemm_task *tasks;
    uint32_t n, count, current;
    channel ch[2];
    /* input */
    uint32_t in_task, in_chunk;
    uint64_t allocated, freed, room_at;
    bool blocked;
    uint64_t port; /* write port of ifm_buf */
    uint64_t arrive[QUEUE][CHUNKS];
    /* the rest of the pipeline */
    uint64_t mesh, post, started_tiles, begun; /* begun: the first tile, 0: not yet */
    uint64_t tile_free[OFM_WORDS];
} gemm;

/* ---- tasks ---- */

static gemm_task decode(const net_task *t, uint32_t n) {
    const uint32_t op = TASK_GET(t, GEMM_CTRL, OP);
    const bool ext = TASK_GET(t, GEMM_CTRL, EXT) != 0;
    const uint32_t kw = ext ? TASK_GET(t, GEMM_EXT_KERNEL, KW) : TASK_GET(t, GEMM_CTRL, KERNEL);
    const uint32_t kh = ext ? TASK_GET(t, GEMM_EXT_KERNEL, KH) : kw;
    gemm_task g = {.diagonal = op != NPU_GEMM_CTRL_OP_CONV,
                   .nhwc = TASK_GET(t, GEMM_CTRL, LAYOUT) == 0,
                   .requant = TASK_GET(t, GEMM_CTRL, REQUANT) != 0,
                   .psum = TASK_GET(t, GEMM_CTRL, PSUM_ADD) != 0,
                   .fence = TASK_GET(t, GEMM_CTRL, FENCE) != 0,
                   .resident = TASK_GET(t, GEMM_CTRL, WGT_RES) != 0,
                   .keep = TASK_GET(t, GEMM_CTRL, WGT_KEEP) != 0,
                   .raw = TASK_GET(t, GEMM_CTRL, DIV_IC) != 0,
                   .wide = TASK_GET(t, GEMM_CTRL, WIDE) != 0,
                   .factors = TASK_GET(t, GEMM_CTRL, OSCALE) != 0,
                   .bias = TASK_GET(t, GEMM_CTRL, BIAS) != 0,
                   .ic = TASK_GET(t, GEMM_CHANNELS, IC),
                   .oc = TASK_GET(t, GEMM_CHANNELS, OC),
                   .iw = TASK_GET(t, GEMM_IFM_SIZE, IW),
                   .ih = TASK_GET(t, GEMM_IFM_SIZE, IH),
                   .ow = TASK_GET(t, GEMM_OFM_SIZE, OW),
                   .oh = TASK_GET(t, GEMM_OFM_SIZE, OH),
                   .sh = ext ? TASK_GET(t, GEMM_EXT_STRIDE, SH) : TASK_GET(t, GEMM_CTRL, STRIDE),
                   .pad_t = ext ? TASK_GET(t, GEMM_EXT_PAD, TOP) : TASK_GET(t, GEMM_CTRL, PAD_TOP),
                   .ofm_addr = TASK_REG(t, GEMM_OFM_ADDR),
                   .ofm_cstep = TASK_REG(t, GEMM_OFM_CSTEP),
                   .writes = t->writes};
    g.span = (kh - 1) * (ext ? TASK_GET(t, GEMM_EXT_KERNEL, DH) : 1) + 1;
    g.icb = (uint32_t)tb_div_up_u64(g.ic, n);
    g.ocb = (uint32_t)tb_div_up_u64(g.oc, n);
    g.pixel = g.icb << g.wide;
    g.sum = 4u << g.wide;
    g.group = (uint32_t)tb_max_u64(tb_min_u64(TASK_GET(t, GEMM_GROUP, TILES), OFM_WORDS / 2 / n >> g.wide), 1);
    g.tile = (uint64_t)kw * kh * (g.diagonal ? 1 : g.icb) * n << g.wide;
    g.words = op == NPU_GEMM_CTRL_OP_CONVERT ? 0 : kw * kh * (g.diagonal ? 1 : g.icb * n) << g.wide;
    return g;
}

static uint32_t pixels_of(const gemm_task *t) {
    return t->ow * t->oh;
}

/* ---- weights ---- */

static bool in_bank(const gemm_task *t, uint32_t block, uint32_t bank) {
    return ((t->resident ? 0 : t->parity) + block) % 2 == bank;
}

/* Of a block: 16 bytes or one word a cycle. */
static uint64_t load_cycles(const gemm *m, const gemm_task *t) {
    return tb_max_u64(tb_div_up_u64((uint64_t)t->words * m->n, 16), t->words);
}

/* The loader's next load, if its bank is free. */
static void start_load(gemm *m, uint32_t c, uint64_t at) {
    channel *h = &m->ch[c];
    while (!h->held && h->task < m->count && h->task < m->current + QUEUE) {
        gemm_task *t = &m->tasks[h->task];
        while (h->block < t->ocb && !in_bank(t, h->block, c)) {
            h->block++;
        }
        if (t->words == 0 || (!t->resident && h->block >= t->ocb)) {
            h->task++;
            h->block = 0;
            continue;
        }
        if (h->block <= 1) {
            t->first[c] = t->keep && h->task > 0 ? m->tasks[h->task - 1].first[c] : h->loads;
        }
        h->held = true;
        h->busy = !t->keep && h->block < t->ocb;
        h->from = at + LOAD_LATENCY;
        h->left = load_cycles(m, t);
        if (!h->busy) {
            h->task++;
            h->block = 0;
        }
        return;
    }
}

static void load_done(gemm *m, uint32_t c) {
    channel *h = &m->ch[c];
    const gemm_task *t = &m->task[h->task];
    h->done[h->loads++ % LOADS] = h->at;
    h->block += 2;
    h->left = load_cycles(m, t);
    h->busy = t->resident && h->block < t->ocb;
    if (h->block >= t->ocb) {
        h->task++;
        h->block = 0;
    }
}

/* Only weights on the channel until then. */
static void weights_until(gemm *m, uint32_t c, uint64_t to) {
    channel *h = &m->ch[c];
    while (h->at < to) {
        const uint64_t start = h->busy ? tb_max_u64(h->at, h->from) : to;
        if (start >= to) {
            h->at = to;
            return;
        }
        const uint64_t run = tb_min_u64(to - start, h->left);
        h->at = start + run;
        h->left -= run;
        if (h->left == 0) {
            load_done(m, c);
        }
    }
}

static void release(gemm *m, uint32_t c, uint64_t at) {
    m->ch[c].held = false;
    start_load(m, c, at);
}

/* ---- input ---- */

/*
 * Beats of input on the channel. A block of weights that im2col may wait for is requested at once and has priority; of
 * the others only PIECES requests are in flight, together with `others` beats of input.
 */
static void input_beats(gemm *m, uint32_t c, uint64_t start, uint64_t beats, uint64_t others) {
    channel *h = &m->ch[c];
    weights_until(m, c, start);
    while (beats > 0) {
        const bool first = h->busy && (!m->task[h->task].resident || h->block <= 1);
        uint64_t run = beats;
        if (h->busy && h->from > h->at) {
            run = tb_min_u64(run, h->from - h->at);
        } else if (first) {
            h->at += h->left;
            h->left = 0;
            run = 0;
        } else if (h->busy) {
            const uint64_t theirs = (uint64_t)PIECES * PIECE_BEATS;
            const uint64_t weights = tb_min_u64(tb_div_up_u64(beats * theirs, others), h->left);
            run = tb_min_u64(tb_div_up_u64(weights * others, theirs), beats);
            h->at += weights;
            h->left -= weights;
        }
        h->at += run;
        beats -= run;
        if (h->busy && h->left == 0) {
            load_done(m, c);
        }
    }
}

/* The cycle in which the next chunk can be requested, if it can. */
static bool chunk_start(gemm *m, uint64_t *start) {
    if (m->in_task >= m->count || m->in_task >= m->current + QUEUE - 1) {
        return false;
    }
    const gemm_task *t = &m->task[m->in_task];
    const uint64_t pixels = tb_min_u64(CHUNK, (uint64_t)t->iw * t->ih - (uint64_t)m->in_chunk * CHUNK);
    if (m->allocated + pixels * t->pixel > m->freed + IFM_WORDS) {
        m->blocked = true;
        return false;
    }
    *start = tb_max_u64(tb_min_u64(m->ch[0].at, m->ch[1].at), m->blocked ? m->room_at + LOAD_LATENCY : 0);
    return true;
}

static void load_chunk(gemm *m, uint64_t start) {
    const gemm_task *t = &m->task[m->in_task];
    const uint64_t pixels = tb_min_u64(CHUNK, (uint64_t)t->iw * t->ih - (uint64_t)m->in_chunk * CHUNK);
    const uint32_t jobs = t->nhwc ? 1 : t->icb;
    uint64_t end = 0;
    for (uint32_t j = 0; j < jobs; j++) {
        const uint32_t c = (m->in_chunk + j) % 2;
        const uint64_t words = t->nhwc ? pixels * t->pixel : pixels << t->wide;
        const uint64_t row = t->nhwc ? PIECE_BEATS : tb_div_up_u64(pixels * 4, 16);
        const uint64_t beats = t->nhwc ? tb_div_up_u64(words * m->n, 16) : row * tb_min_u64(m->n, t->ic - j * m->n);
        input_beats(m, c, tb_max_u64(start, m->ch[c].at), t->nhwc ? tb_max_u64(beats, words) : beats,
                    tb_min_u64((BURSTS - PIECES) * row, LAYOUT_JOBS * beats));
        m->port = tb_max_u64(m->port, t->nhwc ? m->ch[c].at - tb_min_u64(m->ch[c].at, words) : m->ch[c].at) + words;
        end = m->port + LAYOUT_LATENCY;
    }
    m->arrive[m->in_task % QUEUE][m->in_chunk] = end;
    m->allocated += pixels * t->pixel;
    m->blocked = false;
    m->in_chunk++;
    if ((uint64_t)m->in_chunk * CHUNK >= (uint64_t)t->iw * t->ih) {
        m->in_task++;
        m->in_chunk = 0;
    }
}

/* Advances the loaders until then. */
static void load_until(gemm *m, uint64_t to) {
    uint64_t start = 0;
    while (chunk_start(m, &start) && start < to) {
        load_chunk(m, start);
    }
    for (uint32_t c = 0; c < 2; c++) {
        weights_until(m, c, to);
    }
}

static void free_words(gemm *m, uint64_t at, uint64_t words) {
    if (words > 0) {
        load_until(m, at);
        m->freed += words;
        m->room_at = at;
    }
}

/* The cycle in which so many pixels of the current task have arrived. */
static uint64_t rows_there(gemm *m, uint64_t pixels) {
    const uint32_t chunks = (uint32_t)tb_div_up_u64(pixels, CHUNK);
    uint64_t start = 0;
    while (chunks != 0 && (m->in_task < m->current || (m->in_task == m->current && m->in_chunk < chunks)) &&
           chunk_start(m, &start)) {
        load_chunk(m, start);
    }
    return chunks == 0 ? 0 : m->arrive[m->current % QUEUE][chunks - 1];
}

/* The cycle in which this block of weights of the current task has been loaded. */
static uint64_t weights_there(gemm *m, const gemm_task *t, uint32_t block) {
    const uint32_t c = (t->resident ? block : t->parity + block) % 2;
    channel *h = &m->ch[c];
    if (t->words == 0 || (t->keep && m->current == 0)) { /* none, or kept since before the fence */
        return 0;
    }
    const uint32_t number = t->first[c] + block / 2;
    uint64_t start = 0;
    while (h->loads <= number && h->busy) {
        const bool chunk = chunk_start(m, &start);
        if (chunk && start <= h->at) {
            load_chunk(m, start);
        } else {
            weights_until(m, c, tb_max_u64(h->at, h->from) + (chunk ? tb_min_u64(h->left, start - h->at) : h->left));
        }
    }
    return h->done[number % LOADS];
}

/* ---- mesh and post ---- */

/* Input rows that must have arrived before a tile that ends with this pixel. */
static uint64_t rows_for(const gemm_task *t, uint64_t last) {
    const uint64_t end = last / t->ow * t->sh + t->span;
    return tb_min_u64(end > t->pad_t ? end - t->pad_t : 0, t->ih);
}

/* Cycles in which post reads the results of some pixels of a block of output channels: as long as one channel takes to
 * write them. */
static uint64_t post_cycles(const gemm *m, const gemm_task *t, uint32_t block, uint64_t first, uint64_t pixels) {
    const uint64_t channels = tb_min_u64(m->n, t->oc - block * m->n);
    if (t->requant) {
        const uint64_t columns = m->n >= 16 ? 4 : m->n / 4;
        const uint64_t tiles = tb_div_up_u64(pixels, 2ull * m->n);
        const uint64_t beats = tiles * m->n * tb_div_up_u64(m->n, 16);
        const uint64_t passes = t->psum ? (uint64_t)m->n * m->n / 2 : m->n / columns * m->n / 4;
        return tb_max_u64(tiles * passes, t->ofm_cstep == m->n ? tiles * m->n * m->n / 16 : beats);
    }
    const uint32_t bytes = t->raw || t->psum ? t->sum : 4;
    const uint64_t row = net_beats((uint32_t)(t->ofm_addr + first * bytes), pixels * bytes);
    return tb_div_up_u64(channels, 2) * tb_max_u64(row, 3);
}

/* The sums of a group are complete. */
static void write_group(gemm *m, const gemm_task *t, uint32_t block, uint64_t first, uint64_t pixels, uint64_t sums) {
    const uint64_t cycles = post_cycles(m, t, block, first, pixels);
    uint64_t start = tb_max_u64(m->post, sums) + POST_START;
    if (t->psum) { /* partial sums are read over the read channels */
        load_until(m, start);
        for (uint32_t c = 0; c < 2; c++) {
            m->ch[c].at = tb_max_u64(m->ch[c].at, start) + cycles;
        }
        start += LOAD_LATENCY;
    }
    m->post = start + cycles + POST_GAP;
    for (uint64_t p = 0; p < pixels; p += 2ull * m->n) {
        m->tile_free[m->started_tiles++ % (OFM_WORDS / m->n >> t->wide)] = start + cycles;
    }
}

/* A block of output channels over some tiles; first: its first pixel. Returns the cycle in which the last one has left
 * the weight stage. */
static void run_segment(gemm *m, const gemm_task *t, uint32_t block, uint64_t first, uint64_t pixels) {
    const uint64_t room = OFM_WORDS / m->n >> t->wide;
    uint64_t in_group = 0;
    uint64_t group_first = first;
    for (uint64_t p = first; p < first + pixels; p += 2ull * m->n) {
        const uint64_t size = tb_min_u64(2ull * m->n, first + pixels - p);
        const uint64_t tile = m->started_tiles + in_group;
        uint64_t start = tb_max_u64(m->mesh, tile >= room ? m->tile_free[tile % room] : 0);
        start = tb_max_u64(start, rows_there(m, rows_for(t, p + size - 1) * t->iw));
        start = tb_max_u64(start, weights_there(m, t, block));
        m->begun = m->begun == 0 ? start : m->begun;
        m->mesh = start + t->tile;
        in_group++;
        if (in_group == t->group || p + size == first + pixels) {
            write_group(m, t, block, group_first, p + size - group_first, m->mesh + 3ull * m->n);
            group_first = p + size;
            in_group = 0;
        }
    }
    if (!t->resident && t->words != 0) {
        release(m, (t->parity + block) % 2, m->mesh);
    }
}

static void run_resident(gemm *m, const gemm_task *t) {
    const uint64_t pixels = pixels_of(t);
    const uint64_t step = (uint64_t)t->group * 2 * m->n;
    uint64_t gone = 0;
    for (uint64_t p = 0; p < pixels; p += step) {
        const uint64_t top = p / t->ow * t->sh;
        const uint64_t rows = tb_min_u64(top > t->pad_t ? top - t->pad_t : 0, t->ih);
        if (rows > gone && m->mesh > 0) {
            free_words(m, m->mesh, (rows - gone) * t->iw * t->pixel);
            gone = rows;
        }
        for (uint32_t b = 0; b < t->ocb; b++) {
            run_segment(m, t, b, p, tb_min_u64(step, pixels - p));
        }
    }
    for (uint32_t c = 0; c < 2 && t->words != 0; c++) {
        release(m, c, m->mesh);
    }
    (void)rows_there(m, (uint64_t)t->iw * t->ih);
    free_words(m, m->mesh + m->n, (t->ih - gone) * t->iw * t->pixel);
}

static void run_task(gemm *m, const gemm_task *t) {
    if (t->resident) {
        run_resident(m, t);
    } else {
        for (uint32_t b = 0; b < t->ocb; b++) {
            run_segment(m, t, b, 0, pixels_of(t));
        }
        (void)rows_there(m, (uint64_t)t->iw * t->ih);
        free_words(m, m->mesh + m->n, (uint64_t)t->iw * t->ih * t->pixel);
    }
    m->mesh += m->n + TILE_SETUP + 2ull * m->n / t->ow; /* the next task's first tile */
    m->post += POST_LATENCY;                            /* which is not written back before this one is complete */
}

/* Tasks up to the next fence, beginning with an idle unit. Returns the end of the last one. */
static uint64_t run_epoch(gemm *m, uint64_t from, net_rt_estimate *e) {
    const uint64_t start = from + (uint64_t)m->task[0].writes * REG_WRITE + START;
    m->in_task = m->in_chunk = 0;
    m->allocated = m->freed = m->room_at = m->started_tiles = 0;
    m->blocked = false;
    m->port = m->post = start;
    m->mesh = start + TILE_SETUP + 2ull * m->n / m->task[0].ow;
    memset(m->tile_free, 0, sizeof m->tile_free);
    for (uint32_t c = 0; c < 2; c++) {
        channel *h = &m->ch[c];
        h->at = start + LOAD_LATENCY;
        h->task = h->block = h->loads = 0;
        h->busy = h->held = false;
    }
    m->current = 0;
    start_load(m, 0, start);
    start_load(m, 1, start);
    for (m->current = 0; m->current < m->count; m->current++) {
        const gemm_task *t = &m->task[m->current];
        const uint64_t factors = (t->factors ? tb_div_up_u64(t->oc, 4) : 0) + (t->bias ? tb_div_up_u64(t->oc, 4) : 0);
        m->ch[0].at += factors / 2;
        m->ch[1].at += factors / 2;
        for (uint32_t c = 0; c < 2; c++) {
            start_load(m, c, m->mesh);
        }
        run_task(m, t);
    }
    e->drain = m->post > m->mesh ? m->post - m->mesh : 0;
    return m->post;
}

static void add_bounds(const gemm_task *t, uint32_t n, net_rt_estimate *e) {
    const uint64_t in = (uint64_t)t->iw * t->ih * (t->nhwc ? t->pixel * n : t->ic * 4);
    const uint64_t weights = t->keep ? 0 : (uint64_t)t->ocb * t->words * n;
    const uint64_t outputs = (uint64_t)pixels_of(t) * t->oc;
    const uint64_t factors = (uint64_t)t->oc * ((t->factors ? 4u : 0u) + (t->bias ? 4u : 0u));
    e->mesh += tb_div_up_u64(pixels_of(t), 2ull * n) * t->ocb * t->tile;
    e->read += tb_div_up_u64(in + weights + factors + (t->psum ? outputs * t->sum : 0), 32);
    e->write += tb_div_up_u64(
        t->requant ? ((uint64_t)pixels_of(t) * t->ocb * n) << t->wide : outputs * (t->raw ? t->sum : 4), 32);
}

uint64_t net_predict_gemm(const net_task *task, uint32_t count, uint32_t n, net_rt_estimate *e) {
    gemm *m = calloc(1, sizeof *m);
    gemm_task *t = calloc((size_t)count + 1, sizeof *t);
    uint64_t end = 0;
    for (uint32_t i = 0; m != NULL && t != NULL && i < count; i++) {
        t[i] = decode(&task[i], n);
        t[i].parity = i == 0 ? 0 : (t[i - 1].parity + (t[i - 1].resident ? 0 : t[i - 1].ocb)) % 2;
        add_bounds(&t[i], n, e);
    }
    for (uint32_t i = 0; m != NULL && t != NULL && i < count; i += m->count) {
        m->n = n;
        m->task = m->tasks = t + i;
        for (m->count = 1; i + m->count < count && !t[i + m->count].fence; m->count++) {
        }
        end = run_epoch(m, end, e);
        e->fill = i == 0 ? m->begun : e->fill;
    }
    free(t);
    free(m);
    return end;
}
