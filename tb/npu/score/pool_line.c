/* pool_line.c - the line memory of a POOL channel and its table: reads must return the data of the read jobs. */
#include "pool_walk.h"

#include <inttypes.h>

#define LANES NPU_SCORE_POOL_LANES
#define LINE NPU_SCORE_POOL_LINE
#define TABLE 256u
#define JOBS 32u
#define PLACES 16u /* entries for jobs, at least */

typedef struct job {
    bool table, one, last;
    uint32_t addr, lane, lanes, words;
} job;

#define PORTS                                                                                                          \
    job_valid_i, job_ready_o, job_tab_i, job_one_i, job_last_i, job_addr_i, job_lane_i, job_lanes_i, job_words_i,      \
        dat_valid_i, dat_i, row_done_o, tab_done_o, re_i, raddr_i, rdata_o, tab_re_i, tab_addr_i, tab_o
typedef struct state {
    TB_PORTS(ports, PORTS);
    job ring[JOBS];
    uint64_t pushed, popped;
    uint32_t word; /* next word of the oldest job */
    uint32_t mem[LINE][LANES];
    uint8_t known[LINE]; /* a bit for each lane: written since reset */
    uint32_t table[TABLE];
    bool table_known[TABLE];
    bool empty; /* nothing is known */
    /* reads of the cycle before */
    bool read, table_read;
    uint32_t expected[LANES], read_addr, factor, factor_addr;
    uint8_t mask; /* lanes to compare */
    uint64_t reads, factors;
} state;

static void clear(tb_check *c) {
    state *s = (state *)c->state;
    s->pushed = s->popped = 0;
    s->word = 0;
    s->read = s->table_read = false;
    if (!s->empty) {
        memset(s->known, 0, sizeof s->known);
        memset(s->table_known, 0, sizeof s->table_known);
        s->empty = true;
    }
}

/* The read of the cycle before. */
static void compare_reads(tb_check *c, state *s) {
    if (s->read && s->mask != 0 && memcmp(s->rdata_o.ptr, s->expected, sizeof s->expected) != 0) {
        for (uint32_t l = 0; l < LANES; l++) {
            uint32_t got;
            memcpy(&got, (const uint8_t *)s->rdata_o.ptr + 4 * l, 4);
            if ((s->mask >> l & 1u) != 0 && got != s->expected[l]) {
                tb_check_failf(c, "line", s->reads,
                               "line memory, lane %" PRIu32 ", word %" PRIu32 "|0x%08" PRIx32 "|0x%08" PRIx32, l,
                               s->read_addr, got, s->expected[l]);
                break;
            }
        }
    }
    if (s->table_read && (uint32_t)tb_get(s->tab_o) != s->factor) {
        tb_check_failf(c, "factor", s->factors, "table, word %" PRIu32 "|0x%08" PRIx64 "|0x%08" PRIx32, s->factor_addr,
                       tb_get(s->tab_o), s->factor);
    }
    s->read = s->table_read = false;
}

static void take_reads(state *s) {
    if (npu_score_b(s->re_i) != 0) {
        s->read_addr = (uint32_t)tb_get(s->raddr_i);
        memcpy(s->expected, s->mem[s->read_addr], sizeof s->expected);
        s->mask = s->known[s->read_addr];
        s->read = true;
        s->reads++;
    }
    if (npu_score_b(s->tab_re_i) != 0) {
        s->factor_addr = (uint32_t)tb_get(s->tab_addr_i);
        s->factor = s->table[s->factor_addr];
        s->table_read = s->table_known[s->factor_addr];
        s->factors++;
    }
}

/* Word k of a job is in lane k mod lanes at address k / lanes, or all of them are in one lane. */
static void write_beat(state *s, const job *j) {
    uint32_t beat[4];
    memcpy(beat, s->dat_i.ptr, sizeof beat);
    /* the division only once a beat: it would take longer than all the rest */
    const uint32_t first = j->one ? 0 : j->lane + s->word;
    uint32_t lane = j->one ? j->lane : first % j->lanes, addr = j->addr + (j->one ? s->word : first / j->lanes);
    for (uint32_t i = 0; i < 4; i++) {
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

static void take_data(tb_check *c, state *s) {
    const job *j = &s->ring[s->popped % JOBS];
    if (s->popped == s->pushed) {
        return; /* data without a request: an error of the read channel */
    }
    write_beat(s, j);
    s->word += 4;
    const bool end = s->word >= j->words;
    tb_check_value(c, "row done", s->popped, tb_get(s->row_done_o), end && j->last);
    tb_check_value(c, "table done", s->popped, tb_get(s->tab_done_o), end && j->table);
    if (end) {
        s->word = 0;
        s->popped++;
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
    j->addr = (uint32_t)tb_get(s->job_addr_i);
    j->lane = (uint32_t)tb_get(s->job_lane_i);
    j->lanes = (uint32_t)tb_get(s->job_lanes_i);
    j->words = (uint32_t)tb_get(s->job_words_i);
    if (j->lanes == 0) { /* not used for a job of one lane */
        j->lanes = 1;
    }
}

static void cycle(tb_check *c) {
    state *s = (state *)c->state;
    if (s->read || s->table_read) {
        compare_reads(c, s);
    }
    take_reads(s); /* before the data: a read in the cycle of a write returns the old word */
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

const tb_check_ops npu_score_pool_line = {.unit = "pool_line",
                                          .inputs = (const char *const[]){"pool_ld", "dma_rd", "pool_seq", NULL},
                                          TB_STATE(state, PORTS),
                                          .wake = "job_valid_i, dat_valid_i, row_done_o, tab_done_o, re_i, tab_re_i",
                                          .clear = clear,
                                          .cycle = cycle};
