/* pool_line.c - the line memory of a POOL channel and its table: reads must return the data of the read jobs. */
#include "fields.h"
#include "pool_walk.h"

#include <inttypes.h>

#define LANES NPU_SCORE_POOL_LANES
#define LINE NPU_SCORE_POOL_LINE
#define TABLE 256u
#define JOBS 32u
#define BEAT 4u    /* words */
#define PLACES 16u /* entries for jobs, at least */

typedef struct job {
    bool table, one, last;
    uint32_t addr, lane, lanes, words;
} job;

#define PORTS                                                                                                          \
    job_tab_i, job_one_i, job_last_i, job_addr_i, job_lane_i, job_lanes_i, job_words_i, tab_addr_i, tab_o, tab_re_i,   \
        job_valid_i, job_ready_o, row_done_o, tab_done_o, dat_valid_i, dat_i, re_i, raddr_i, rdata_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    /* reads of the cycle before */
    bool read, table_read;
    uint8_t mask; /* lanes to compare */
    bool empty;   /* nothing is known */
    uint32_t read_addr, expected[LANES];
    uint64_t reads;
    /* beats to come, of the oldest job, whose words are all in one lane at successive addresses from `addr` on */
    uint32_t plain, lane, addr;
    uint32_t word; /* next word of the oldest job */
    uint64_t pushed, popped;
    job ring[JOBS];
    uint32_t mem[LINE][LANES];
    uint8_t known[LINE]; /* a bit for each lane: written since reset */
    uint32_t table[TABLE];
    bool table_known[TABLE];
    uint32_t factor, factor_addr;
    uint64_t factors;
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->pushed = s->popped = 0;
    s->word = s->plain = 0;
    s->read = s->table_read = false;
    if (!s->empty) {
        memset(s->known, 0, sizeof s->known);
        memset(s->table_known, 0, sizeof s->table_known);
        s->empty = true;
    }
}

/* The read of the cycle before. */
static void compare_read(tb_check *c, const state *s) {
    if (!npu_score_rows_differ(s->rdata_o.ptr, s->expected)) {
        return;
    }
    for (uint32_t l = 0; l < LANES; l++) {
        uint32_t got;
        memcpy(&got, (const uint8_t *)s->rdata_o.ptr + 4 * l, 4);
        if ((s->mask >> l & 1u) != 0 && got != s->expected[l]) {
            tb_check_failf(c, "line", s->reads,
                           "line memory, lane %" PRIu32 ", word %" PRIu32 "|0x%08" PRIx32 "|0x%08" PRIx32, l,
                           s->read_addr, got, s->expected[l]);
            return;
        }
    }
}

static void compare_factor(tb_check *c, const state *s) {
    if (npu_score_w(s->tab_o) != s->factor) {
        tb_check_failf(c, "factor", s->factors, "table, word %" PRIu32 "|0x%08" PRIx64 "|0x%08" PRIx32, s->factor_addr,
                       tb_get(s->tab_o), s->factor);
    }
}

static inline void take_read(state *s) {
    s->read = npu_score_b(s->re_i) != 0;
    if (s->read) {
        const uint32_t addr = npu_score_h(s->raddr_i);
        memcpy(s->expected, s->mem[addr], sizeof s->expected);
        s->mask = s->known[addr];
        s->read_addr = addr;
        s->reads++;
    }
}

static void take_table_read(state *s) {
    s->factor_addr = npu_score_b(s->tab_addr_i);
    s->factor = s->table[s->factor_addr];
    s->table_read = s->table_known[s->factor_addr];
    s->factors++;
}

/* Word k of a job is in lane k mod lanes at address k / lanes, or all of them are in one lane. */
__attribute__((noinline)) static void write_beat(state *s, const job *j) {
    uint32_t beat[BEAT];
    memcpy(beat, s->dat_i.ptr, sizeof beat);
    /* the division only once a beat: it would take longer than all the rest */
    const uint32_t first = j->one ? 0 : j->lane + s->word;
    uint32_t lane = j->one ? j->lane : first % j->lanes, addr = j->addr + (j->one ? s->word : first / j->lanes);
    for (uint32_t i = 0; i < BEAT; i++) {
        const uint32_t k = s->word + i;
        if (j->table) {
            s->table[(j->addr + k) % TABLE] = beat[i];
            s->table_known[(j->addr + k) % TABLE] = k < j->words; /* beyond the job: undefined */
        } else if (k < j->words) {
            s->mem[addr % LINE][lane % LANES] = beat[i];
            s->known[addr % LINE] = (uint8_t)(s->known[addr % LINE] | 1u << lane % LANES);
        }
        if (j->one || ++lane == j->lanes) {
            lane = j->one ? lane : 0;
            addr++;
        }
    }
    s->empty = false;
}

/* The rest of the oldest job: how many of its beats are plain. */
__attribute__((hot)) static void count_plain(state *s) {
    const job *j = &s->ring[s->popped % JOBS];
    s->plain = 0;
    if (s->popped != s->pushed && j->one && !j->table && s->word < j->words) {
        s->lane = j->lane;
        s->addr = (j->addr + s->word) % LINE;
        s->plain = tb_min_u32((j->words - s->word) / BEAT, (LINE - s->addr) / BEAT);
        s->empty = s->empty && s->plain == 0;
    }
}

/* write_beat() for a plain one. */
static inline void write_plain(state *s) {
    uint32_t beat[BEAT], *to = &s->mem[s->addr][s->lane], known;
    memcpy(beat, s->dat_i.ptr, sizeof beat);
    for (size_t i = 0; i < BEAT; i++) {
        to[i * LANES] = beat[i];
    }
    memcpy(&known, &s->known[s->addr], sizeof known);
    known |= 0x01010101u << s->lane;
    memcpy(&s->known[s->addr], &known, sizeof known);
    s->plain--;
    s->addr += BEAT;
    s->word += BEAT;
}

static inline void take_data(tb_check *c, state *s) {
    const job *j = &s->ring[s->popped % JOBS];
    if (s->popped == s->pushed) {
        return; /* data without a request: an error of the read channel */
    }
    if (s->plain != 0) {
        write_plain(s);
    } else {
        write_beat(s, j);
        s->word += BEAT;
    }
    const bool end = s->word >= j->words, row = end && j->last, table = end && j->table;
    if ((npu_score_b(s->row_done_o) != row) | (npu_score_b(s->tab_done_o) != table)) {
        tb_check_value(c, "row done", s->popped, tb_get(s->row_done_o), row);
        tb_check_value(c, "table done", s->popped, tb_get(s->tab_done_o), table);
    }
    if (end) {
        s->word = 0;
        s->popped++;
    }
    if (s->plain == 0) {
        count_plain(s);
    }
}

static void take_job(tb_check *c, state *s) {
    if (s->pushed - s->popped == JOBS) {
        tb_check_fail(c, "job", s->pushed, NULL, "one more job accepted", "none: 32 jobs wait for their data");
        return;
    }
    job *j = &s->ring[s->pushed++ % JOBS];
    j->table = npu_score_b(s->job_tab_i) != 0;
    j->one = npu_score_b(s->job_one_i) != 0;
    j->last = npu_score_b(s->job_last_i) != 0;
    j->addr = npu_score_h(s->job_addr_i);
    j->lane = npu_score_b(s->job_lane_i);
    j->lanes = npu_score_b(s->job_lanes_i);
    j->words = npu_score_h(s->job_words_i);
    if (j->lanes == 0) { /* not used for a job of one lane */
        j->lanes = 1;
    }
    if (s->pushed - s->popped == 1) {
        count_plain(s);
    }
}

__attribute__((noinline, hot)) static void any_cycle(tb_check *c, state *s) {
    if (s->read) {
        compare_read(c, s);
    }
    if (s->table_read) {
        s->table_read = false;
        compare_factor(c, s);
    }
    /* before the data: a read in the cycle of a write returns the old word */
    take_read(s);
    if (npu_score_b(s->tab_re_i) != 0) {
        take_table_read(s);
    }
    if (npu_score_b(s->dat_valid_i) != 0) {
        take_data(c, s);
    } else if ((npu_score_b(s->row_done_o) | npu_score_b(s->tab_done_o)) != 0) {
        tb_check_fail(c, "done", s->popped, NULL, "1", "0: no data arrive");
    }
    if (npu_score_b(s->job_ready_o) == 0 && s->pushed - s->popped < PLACES) {
        tb_check_fail(c, "job", s->pushed, NULL, "a job refused", "it accepted: less than 16 jobs wait for their data");
    }
    if (npu_score_fire(s->job_valid_i, s->job_ready_o)) {
        take_job(c, s);
    }
    c->again = s->read || s->table_read;
}

/*
 * In most cycles the read of the cycle before was right, a read comes, and a plain beat that does not end its job.
 */
__attribute__((hot)) static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    const uint32_t data = npu_score_b(s->dat_valid_i);
    const uint32_t rare = npu_score_b(s->job_valid_i) | npu_score_b(s->tab_re_i) | s->table_read |
                          npu_score_b(s->row_done_o) | npu_score_b(s->tab_done_o);
    if (rare != 0 || npu_score_b(s->job_ready_o) == 0 || 2 * data > s->plain ||
        (s->read && npu_score_rows_differ(s->rdata_o.ptr, s->expected))) {
        any_cycle(c, s);
        return;
    }
    take_read(s);
    if (data != 0) {
        write_plain(s);
    }
    c->again = s->read;
}

const tb_check_ops npu_score_pool_line = {.unit = "pool_line",
                                          .inputs = (const char *const[]){"pool_ld", "dma_rd", "pool_seq", NULL},
                                          TB_STATE(state, PORTS),
                                          .wake = "job_valid_i, dat_valid_i, row_done_o, tab_done_o, re_i, tab_re_i",
                                          .clear = clear,
                                          .cycle = cycle};
