/*
 * store.c - checks of the store and of the order of passes.
 */
#include <inttypes.h>
#include <string.h>

#include "cm_fp.h"
#include "score.h"
#include "walk.h"

/* ---- sgemm_c_st ---- */

#define BEATS 64u /* on their way; a power of two */

#define ST_PORTS                                                                                                       \
    start_i, m_i, n_i, addr_i, ld_i, f16_i, zero_i, tile_i, free_o, done_o, re_o, half_o, bank_o, raddr_o, rdata_i,    \
        req_valid_o, req_ready_i, req_addr_o, req_bytes_o, dat_valid_o, dat_ready_i, dat_o, dim, r
typedef struct st {
    TB_PORTS(ports, ST_PORTS);
    walk read, job; /* tile of the next read, of the next job */
    uint32_t read_row, read_grp, job_row;
    bool half;
    uint64_t tiles;          /* complete and not read */
    bool word, word_end;     /* rdata_i has a word; the last one of its row */
    uint32_t lanes;          /* elements of that word */
    uint8_t beat[BEATS][16]; /* expected */
    uint32_t fill, bytes[BEATS];
    uint64_t in, out, jobs;
} st;

static void st_clear(tb_check *c) {
    st *s = (st *)c->state;
    s->read.on = s->job.on = s->half = s->word = false;
    s->tiles = s->in = s->out = 0;
    s->fill = 0;
}

/* The word that was read in the cycle before becomes bytes of a beat. */
static void st_word(st *s) {
    const uint32_t size = sgemm_score_b(s->f16_i) ? 2 : 4;
    uint8_t *beat = s->beat[s->in % BEATS];
    for (uint32_t l = 0; l < s->lanes; l++) {
        const uint32_t v = sgemm_score_b(s->zero_i) ? 0 : sgemm_score_bits(s->rdata_i, 32 * l, 32);
        const uint32_t bits = size == 2 ? cm_fp_to_f16(v) : v;
        memcpy(beat + s->fill, &bits, size);
        s->fill += size;
    }
    if (s->word_end || s->fill == 16) {
        s->bytes[s->in++ % BEATS] = s->fill;
        s->fill = 0;
    }
}

static bool st_beat(tb_check *c, st *s) {
    if (s->out == s->in) {
        tb_check_fail(c, "beat", s->out, NULL, "a beat", "none: nothing was read");
        return false;
    }
    const uint8_t *want = s->beat[s->out % BEATS], *got = (const uint8_t *)s->dat_o.ptr;
    for (uint32_t i = 0; i < s->bytes[s->out % BEATS]; i++) {
        if (got[i] != want[i]) {
            tb_check_failf(c, "data", s->out, "byte %" PRIu32 "|0x%02x|0x%02x", i, got[i], want[i]);
            return false;
        }
    }
    s->out++;
    return true;
}

static bool st_read(tb_check *c, st *s) {
    const uint32_t chains = (uint32_t)tb_get(s->r), nb = walk_size(&s->read, 1);
    if (!s->read.on || (s->tiles == 0 && !sgemm_score_b(s->zero_i))) {
        tb_check_fail(c, "read", s->in, NULL, "a read", "none: no tile is complete");
        return false;
    }
    s->word_end = 4 * s->read_grp + 4 >= nb;
    s->lanes = s->word_end ? nb - 4 * s->read_grp : 4;
    const bool tile_end = s->word_end && s->read_row == walk_size(&s->read, 0) - 1;
    if (!tb_check_value(c, "half", s->in, sgemm_score_b(s->half_o), s->half) ||
        !tb_check_value(c, "bank", s->in, tb_get(s->bank_o), s->read_row % chains) ||
        !tb_check_value(c, "word", s->in, tb_get(s->raddr_o),
                        s->read_row / chains * ((uint32_t)tb_get(s->dim) / 4) + s->read_grp) ||
        !tb_check_value(c, "free", s->in, sgemm_score_b(s->free_o), tile_end)) {
        return false;
    }
    s->read_grp = s->word_end ? 0 : s->read_grp + 1;
    s->read_row += s->word_end ? 1 : 0;
    if (tile_end) {
        s->read_row = 0;
        s->half = !s->half;
        s->tiles -= sgemm_score_b(s->zero_i) ? 0 : 1;
        walk_next(&s->read);
    }
    return true;
}

static bool st_job(tb_check *c, st *s) {
    const uint32_t size = sgemm_score_b(s->f16_i) ? 2 : 4;
    const uint64_t at = (uint64_t)(s->job.at[0] + s->job_row) * tb_get(s->ld_i) + s->job.at[1];
    if (!tb_check_value(c, "job", s->jobs, 1, s->job.on) ||
        !tb_check_value(c, "address", s->jobs, tb_get(s->req_addr_o), (uint32_t)(tb_get(s->addr_i) + at * size)) ||
        !tb_check_value(c, "bytes", s->jobs, tb_get(s->req_bytes_o), walk_size(&s->job, 1) * size)) {
        return false;
    }
    s->jobs++;
    if (++s->job_row == walk_size(&s->job, 0)) {
        s->job_row = 0;
        walk_next(&s->job);
    }
    return true;
}

static void st_begin(tb_check *c, st *s) {
    c->task++;
    s->read.dim = s->job.dim = (uint32_t)tb_get(s->dim);
    s->read.vec = s->job.vec = 1;
    walk_begin(&s->read, (uint32_t)tb_get(s->m_i), (uint32_t)tb_get(s->n_i), 1);
    walk_begin(&s->job, (uint32_t)tb_get(s->m_i), (uint32_t)tb_get(s->n_i), 1);
    s->read_row = s->read_grp = s->job_row = 0;
    s->half = false;
}

__attribute__((hot)) static void st_cycle(tb_check *c) {
    st *s = (st *)c->state;
    bool ok = true;
    if (s->word) {
        st_word(s);
    }
    s->word = sgemm_score_b(s->re_o);
    if (sgemm_score_b(s->dat_valid_o) && sgemm_score_b(s->dat_ready_i)) {
        ok = st_beat(c, s);
    }
    if (ok && s->word) {
        ok = st_read(c, s);
    }
    if (ok && sgemm_score_b(s->req_valid_o) && sgemm_score_b(s->req_ready_i)) {
        ok = st_job(c, s);
    }
    s->tiles += sgemm_score_b(s->tile_i) ? 1 : 0;
    if (ok && sgemm_score_b(s->done_o)) {
        ok = tb_check_value(c, "done", s->jobs, s->read.on || s->job.on || s->in != s->out, 0);
    }
    if (sgemm_score_b(s->start_i)) {
        st_begin(c, s);
    }
}

static void st_finish(tb_check *c) {
    const st *s = (const st *)c->state;
    tb_check_value(c, "tiles left", s->jobs, s->read.on || s->job.on || s->in != s->out, 0);
}

static const char *const st_inputs[] = {"sgemm_c_buf", NULL};
const tb_check_ops sgemm_score_c_st = {.unit = "sgemm_c_st",
                                       .inputs = st_inputs,
                                       TB_STATE(st, ST_PORTS),
                                       .cycle = st_cycle,
                                       .clear = st_clear,
                                       .finish = st_finish};

/* ---- sgemm_seq ---- */

#define SEQ_PORTS                                                                                                      \
    start_i, m_i, n_i, k_i, c_zero_i, a_loaded_i, b_loaded_i, c_loaded_i, c_free_i, pass_valid_o, pass_ready_i,        \
        pass_mb_o, pass_nb_o, pass_kb_o, pass_half_o, pass_c_half_o, pass_c_zero_o, pass_last_o, dim, vec
typedef struct seq {
    TB_PORTS(ports, SEQ_PORTS);
    walk next;
    uint32_t a, b, c, free; /* loaded blocks and tiles, free halves of the C buffer */
    bool half, c_half;
    uint64_t passes;
} seq;

static void seq_clear(tb_check *c) {
    seq *s = (seq *)c->state;
    s->next.on = false;
    s->a = s->b = s->c = 0;
    s->free = 2;
}

static bool seq_pass(tb_check *c, seq *s) {
    const bool first = walk_first(&s->next), zero = sgemm_score_b(s->c_zero_i);
    const bool there = s->next.on && s->a > 0 && s->b > 0 && (!first || (zero ? s->free > 0 : s->c > 0));
    if (!there) {
        tb_check_fail(c, "pass", s->passes, NULL, "a pass", "none: its blocks are not there");
        return false;
    }
    if (!tb_check_value(c, "rows", s->passes, tb_get(s->pass_mb_o), walk_size(&s->next, 0)) ||
        !tb_check_value(c, "columns", s->passes, tb_get(s->pass_nb_o), walk_size(&s->next, 1)) ||
        !tb_check_value(c, "k", s->passes, tb_get(s->pass_kb_o), walk_size(&s->next, 2)) ||
        !tb_check_value(c, "half", s->passes, sgemm_score_b(s->pass_half_o), s->half) ||
        !tb_check_value(c, "c half", s->passes, sgemm_score_b(s->pass_c_half_o), s->c_half) ||
        !tb_check_value(c, "c zero", s->passes, sgemm_score_b(s->pass_c_zero_o), first && zero) ||
        !tb_check_value(c, "last", s->passes, sgemm_score_b(s->pass_last_o), walk_last(&s->next))) {
        return false;
    }
    s->a--;
    s->b--;
    s->c -= first && !zero ? 1 : 0;
    s->free -= first && zero ? 1 : 0;
    s->half = !s->half;
    s->c_half ^= walk_last(&s->next);
    s->passes++;
    walk_next(&s->next);
    return true;
}

__attribute__((hot)) static void seq_cycle(tb_check *c) {
    seq *s = (seq *)c->state;
    if (sgemm_score_b(s->pass_valid_o) && sgemm_score_b(s->pass_ready_i) && !seq_pass(c, s)) {
        return;
    }
    s->a += sgemm_score_b(s->a_loaded_i);
    s->b += sgemm_score_b(s->b_loaded_i);
    s->c += sgemm_score_b(s->c_loaded_i);
    s->free += sgemm_score_b(s->c_free_i);
    if (sgemm_score_b(s->start_i)) {
        c->task++;
        s->next.dim = (uint32_t)tb_get(s->dim);
        s->next.vec = (uint32_t)tb_get(s->vec);
        walk_begin(&s->next, (uint32_t)tb_get(s->m_i), (uint32_t)tb_get(s->n_i), (uint32_t)tb_get(s->k_i));
        s->free = 2;
        s->half = s->c_half = false;
    }
}

static void seq_finish(tb_check *c) {
    const seq *s = (const seq *)c->state;
    tb_check_value(c, "passes left", s->passes, s->next.on, 0);
}

static const char *const seq_inputs[] = {"sgemm_ld", NULL};
const tb_check_ops sgemm_score_seq = {.unit = "sgemm_seq",
                                      .inputs = seq_inputs,
                                      TB_STATE(seq, SEQ_PORTS),
                                      .cycle = seq_cycle,
                                      .clear = seq_clear,
                                      .finish = seq_finish};

/* ---- sgemm_check ---- */

#define CHECK_PORTS                                                                                                    \
    clr_i, start_i, a_addr_i, b_addr_i, c_addr_i, lda_i, ldb_i, ldc_i, m_i, n_i, k_i, mode_i, no_ab_i, done_o, ok_o,   \
        en_half, half_buf
typedef struct verdict {
    TB_PORTS(ports, CHECK_PORTS);
    uint32_t left; /* cycles to the verdict; 0: none is due */
    bool good;
    uint64_t number;
} verdict;

static void check_clear(tb_check *c) {
    ((verdict *)c->state)->left = 0;
}

static bool matrix_good(uint64_t addr, uint64_t ld, uint64_t rows, uint64_t cols, bool f16) {
    const uint64_t size = f16 ? 2 : 4;
    return addr % size == 0 && ld >= cols && ld < 1u << 24 &&
           addr + ((rows - 1) * ld + cols) * size <= UINT64_C(1) << 32;
}

/* Rules of docs/sgemm/sgemm.md, section 4. Bits of START: 1, 2 transposes, 3, 4, 5 binary16, 6 HALF. */
static bool task_good(const verdict *s) {
    const uint64_t m = tb_get(s->m_i), n = tb_get(s->n_i), k = tb_get(s->k_i), mode = tb_get(s->mode_i);
    const bool ta = (mode >> 1 & 1) != 0, tb = (mode >> 2 & 1) != 0;
    if (m == 0 || n == 0 || k > 65535 || mode >> 7 != 0 || (tb_get(s->en_half) == 0 && (mode >> 3 & 15) != 0) ||
        (tb_get(s->half_buf) != 0 && (mode >> 6 & 1) == 0)) {
        return false;
    }
    return matrix_good(tb_get(s->c_addr_i), tb_get(s->ldc_i), m, n, (mode >> 5 & 1) != 0) &&
           (sgemm_score_b(s->no_ab_i) ||
            (matrix_good(tb_get(s->a_addr_i), tb_get(s->lda_i), ta ? k : m, ta ? m : k, (mode >> 3 & 1) != 0) &&
             matrix_good(tb_get(s->b_addr_i), tb_get(s->ldb_i), tb ? n : k, tb ? k : n, (mode >> 4 & 1) != 0)));
}

__attribute__((hot)) static void check_cycle(tb_check *c) {
    verdict *s = (verdict *)c->state;
    const bool due = s->left == 1;
    if (!tb_check_value(c, "done", s->number, sgemm_score_b(s->done_o), due) ||
        (due && !tb_check_value(c, "verdict", s->number, sgemm_score_b(s->ok_o), s->good))) {
        return;
    }
    s->number += due;
    s->left -= s->left > 0 ? 1 : 0;
    if (sgemm_score_b(s->clr_i)) {
        s->left = 0;
    } else if (sgemm_score_b(s->start_i)) {
        s->left = 4;
        s->good = task_good(s);
    }
}

const tb_check_ops sgemm_score_check = {
    .unit = "sgemm_check", TB_STATE(verdict, CHECK_PORTS), .cycle = check_cycle, .clear = check_clear};
