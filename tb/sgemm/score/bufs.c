/*
 * bufs.c - checks of the buffers: what is read is what was written there last.
 */
#include <inttypes.h>
#include <string.h>

#include "score.h"

/* ---- sgemm_blk_buf ---- */

#define BLOCK_WORDS (SGEMM_SCORE_MAX / 2) /* of a bank, both halves */

#define BLK_PORTS                                                                                                      \
    along_k_i, wr_valid_i, wr_half_i, wr_seg_i, wr_grp_i, wr_mask_i, wr_data_i, lane_i, rd_data_o, dim, vec, elemw,    \
        wordlsb
typedef struct blk {
    TB_PORTS(ports, BLK_PORTS);
    uint32_t value[SGEMM_SCORE_MAX][BLOCK_WORDS][4];
    uint8_t known[SGEMM_SCORE_MAX][BLOCK_WORDS]; /* elements that were ever written, a bit each */
    uint8_t read[SGEMM_SCORE_MAX];               /* in the cycle before: number of the word + 1, or 0 */
    uint64_t reads;
} blk;

static void blk_clear(tb_check *c) {
    blk *s = (blk *)c->state;
    memset(s->read, 0, sizeof s->read);
}

static bool blk_look(tb_check *c, blk *s) {
    const uint32_t width = (uint32_t)tb_get(s->elemw);
    for (uint32_t k = 0; k < (uint32_t)tb_get(s->vec); k++) {
        const uint32_t word = s->read[k];
        for (uint32_t e = 0; e < 4 && word != 0; e++) {
            const uint32_t got = sgemm_score_bits(s->rd_data_o, (4 * k + e) * width, width);
            if ((s->known[k][word - 1] >> e & 1) != 0 && got != s->value[k][word - 1][e]) {
                tb_check_failf(c, "data", s->reads,
                               "bank %" PRIu32 ", word %" PRIu32 ", element %" PRIu32 "|0x%" PRIx32 "|0x%" PRIx32, k,
                               word - 1, e, got, s->value[k][word - 1][e]);
                return false;
            }
        }
        s->reads += word != 0;
    }
    return true;
}

static void blk_put(blk *s, uint32_t bank, uint32_t word, uint32_t e, uint32_t value) {
    s->value[bank][word][e] = value;
    s->known[bank][word] |= (uint8_t)(1u << e);
}

static void blk_write(blk *s) {
    const uint32_t width = (uint32_t)tb_get(s->elemw), seg = (uint32_t)tb_get(s->wr_seg_i);
    const uint32_t grp = (uint32_t)tb_get(s->wr_grp_i), mask = (uint32_t)tb_get(s->wr_mask_i);
    const uint32_t half = sgemm_score_b(s->wr_half_i) ? (uint32_t)tb_get(s->dim) / 4 : 0;
    for (uint32_t l = 0; l < 4; l++) {
        const uint32_t v = sgemm_score_bits(s->wr_data_i, width * l, width);
        if ((mask >> l & 1) != 0 && sgemm_score_b(s->along_k_i)) {
            blk_put(s, 4 * grp + l, half + seg / 4, seg % 4, v);
        } else if ((mask >> l & 1) != 0) {
            blk_put(s, seg, half + grp, l, v);
        }
    }
}

__attribute__((hot)) static void blk_cycle(tb_check *c) {
    blk *s = (blk *)c->state;
    if (!blk_look(c, s)) {
        return;
    }
    for (uint32_t k = 0; k < (uint32_t)tb_get(s->vec); k++) {
        const uint32_t entry = sgemm_score_bits(s->lane_i, 32 * k, 32);
        const uint32_t word = entry >> tb_get(s->wordlsb) & 31;
        const bool reads = (entry & 1) != 0 && k < (entry >> 16 & 127);
        s->read[k] = (uint8_t)(reads ? 1 + word + ((entry >> 1 & 1) != 0 ? tb_get(s->dim) / 4 : 0) : 0);
    }
    if (sgemm_score_b(s->wr_valid_i)) {
        blk_write(s);
    }
}

static const char *const blk_inputs[] = {"sgemm_ld", NULL};
const tb_check_ops sgemm_score_blk_buf = {
    .unit = "sgemm_blk_buf", .inputs = blk_inputs, TB_STATE(blk, BLK_PORTS), .cycle = blk_cycle, .clear = blk_clear};

/* ---- sgemm_c_buf ---- */

#define TILE_WORDS (SGEMM_SCORE_MAX * SGEMM_SCORE_MAX / 4)
#define BANKS 4u

#define C_PORTS                                                                                                        \
    m_re_i, m_rhalf_i, m_raddr_i, m_rdata_o, m_we_i, m_whalf_i, m_waddr_i, m_wsel_i, m_wdata_i, l_we_i, l_half_i,      \
        l_bank_i, l_addr_i, l_mask_i, l_data_i, s_re_i, s_half_i, s_bank_i, s_addr_i, s_rdata_o, r
typedef struct cbuf {
    TB_PORTS(ports, C_PORTS);
    uint32_t value[2][BANKS][TILE_WORDS][4];
    uint8_t known[2][BANKS][TILE_WORDS];
    struct {
        bool on;
        uint32_t half, bank, word, value[4], known;
    } was[BANKS + 1]; /* reads of the cycle before: of the lanes, a bank each, and of the store */
    uint64_t reads;
} cbuf;

static void c_clear(tb_check *c) {
    cbuf *s = (cbuf *)c->state;
    for (uint32_t i = 0; i <= BANKS; i++) {
        s->was[i].on = false;
    }
}

/* Read number i of the cycle before has these data. */
static bool c_same(tb_check *c, cbuf *s, uint32_t i, const char *stream, tb_sig data, uint32_t lsb) {
    for (uint32_t e = 0; e < 4 && s->was[i].on; e++) {
        const uint32_t got = sgemm_score_bits(data, lsb + 32 * e, 32);
        if ((s->was[i].known >> e & 1) != 0 && got != s->was[i].value[e]) {
            tb_check_failf(c, stream, s->reads,
                           "half %" PRIu32 ", bank %" PRIu32 ", word %" PRIu32 ", element %" PRIu32 "|0x%08" PRIx32
                           "|0x%08" PRIx32,
                           s->was[i].half, s->was[i].bank, s->was[i].word, e, got, s->was[i].value[e]);
            return false;
        }
    }
    s->reads += s->was[i].on;
    return true;
}

/* A read has the word as it is before the writes of the same cycle. */
static void c_read(cbuf *s, uint32_t i, bool on, uint32_t half, uint32_t bank, uint32_t word) {
    s->was[i].on = on;
    if (on) {
        s->was[i].half = half;
        s->was[i].bank = bank;
        s->was[i].word = word;
        s->was[i].known = s->known[half][bank][word];
        memcpy(s->was[i].value, s->value[half][bank][word], sizeof s->was[i].value);
    }
}

static void c_put(cbuf *s, uint32_t half, uint32_t bank, uint32_t word, uint32_t e, uint32_t value) {
    s->value[half][bank][word][e] = value;
    s->known[half][bank][word] |= (uint8_t)(1u << e);
}

static void c_write(cbuf *s) {
    for (uint32_t r = 0; r < tb_get(s->r); r++) {
        for (uint32_t e = 0; e < 4 && (tb_get(s->m_we_i) >> r & 1) != 0; e++) {
            if ((tb_get(s->m_wsel_i) >> e & 1) != 0) {
                c_put(s, sgemm_score_b(s->m_whalf_i), r, (uint32_t)tb_get(s->m_waddr_i), e,
                      sgemm_score_bits(s->m_wdata_i, 32 * r, 32));
            }
        }
    }
    for (uint32_t e = 0; e < 4 && sgemm_score_b(s->l_we_i); e++) {
        if ((tb_get(s->l_mask_i) >> e & 1) != 0) {
            c_put(s, sgemm_score_b(s->l_half_i), (uint32_t)tb_get(s->l_bank_i), (uint32_t)tb_get(s->l_addr_i), e,
                  sgemm_score_bits(s->l_data_i, 32 * e, 32));
        }
    }
}

__attribute__((hot)) static void c_cycle(tb_check *c) {
    cbuf *s = (cbuf *)c->state;
    const uint32_t banks = (uint32_t)tb_get(s->r);
    for (uint32_t r = 0; r < banks; r++) {
        if (!c_same(c, s, r, "lanes", s->m_rdata_o, 128 * r)) {
            return;
        }
    }
    if (!c_same(c, s, BANKS, "store", s->s_rdata_o, 0)) {
        return;
    }
    for (uint32_t r = 0; r < banks; r++) {
        c_read(s, r, sgemm_score_b(s->m_re_i), sgemm_score_b(s->m_rhalf_i), r, (uint32_t)tb_get(s->m_raddr_i));
    }
    c_read(s, BANKS, sgemm_score_b(s->s_re_i), sgemm_score_b(s->s_half_i), (uint32_t)tb_get(s->s_bank_i),
           (uint32_t)tb_get(s->s_addr_i));
    c_write(s);
}

static const char *const c_inputs[] = {"sgemm_ld", "sgemm_mac", NULL};
const tb_check_ops sgemm_score_c_buf = {
    .unit = "sgemm_c_buf", .inputs = c_inputs, TB_STATE(cbuf, C_PORTS), .cycle = c_cycle, .clear = c_clear};
