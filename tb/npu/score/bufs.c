/*
 * bufs.c - checks of ifm_buf, wgt_buf and par_buf: read data against a copy of the written data.
 *
 * A reset does not change the memories, nor the copies. A word that was never written is not compared.
 */
#include "score.h"

#include <inttypes.h>

#define WORD 32u /* bytes at most */
#define IFM_WORDS 16384u
#define WGT_WORDS 4608u
#define PAR_WORDS 256u

/*
 * A memory with one write port. A read of the word that is written at the same edge returns the old one: the write
 * enters the copy a cycle later.
 */
typedef struct copy {
    uint32_t words, bytes; /* of a word */
    uint8_t *data;
    uint8_t *known;
    bool wrote; /* at the last edge */
    uint32_t at;
    uint8_t word[WORD];
} copy;

/* A read port: its request at the last edge. */
typedef struct port {
    const copy *from;
    uint32_t addr;
    uint64_t reads;
} port;

static int copy_open(copy *m, uint32_t words, uint32_t bytes, char *err, size_t err_size) {
    m->words = words;
    m->bytes = bytes;
    m->data = (uint8_t *)calloc(words, bytes);
    m->known = (uint8_t *)calloc(words, 1);
    if (bytes > WORD || m->data == NULL || m->known == NULL) {
        return opt_fail(err, err_size, "out of memory for a copy of %" PRIu32 " words of %" PRIu32 " bytes", words,
                        bytes);
    }
    return 0;
}

static void copy_close(copy *m) {
    free(m->data);
    free(m->known);
}

static void copy_settle(copy *m) {
    if (m->wrote) {
        npu_score_copy(&m->data[m->at * m->bytes], m->word, m->bytes);
        m->known[m->at] = 1;
        m->wrote = false;
    }
}

static void copy_write(tb_check *c, copy *m, tb_sig addr, tb_sig data) {
    m->at = (uint32_t)tb_get(addr);
    if (m->at >= m->words) {
        tb_check_failf(c, "write address", 0, "%" PRIu32 "|less than %" PRIu32, m->at, m->words);
        return;
    }
    m->wrote = true;
    npu_score_copy(m->word, data.ptr, m->bytes);
}

static void port_ask(port *p, const copy *from, tb_sig addr) {
    const uint32_t at = (uint32_t)tb_get(addr);
    p->from = at < from->words && from->known[at] != 0 ? from : NULL;
    p->addr = at;
    p->reads++;
}

__attribute__((cold)) static void wrong_data(tb_check *c, const port *p, const char *stream, const char *name,
                                             const uint8_t *have, const uint8_t *expected) {
    uint32_t i = 0;
    while (have[i] == expected[i]) {
        i++;
    }
    tb_check_failf(c, stream, p->reads - 1, "%s word %" PRIu32 ", byte %" PRIu32 "|0x%02x|0x%02x", name, p->addr, i,
                   have[i], expected[i]);
}

/* Call before the write of the same edge is copied. */
static inline void port_compare(tb_check *c, const port *p, const char *stream, const char *name, tb_sig got) {
    const uint8_t *expected = &p->from->data[p->addr * p->from->bytes], *have = (const uint8_t *)got.ptr;
    if (!npu_score_same(have, expected, p->from->bytes)) {
        wrong_data(c, p, stream, name, have, expected);
    }
}

/* ---- ifm_buf ---- */

#define IFM_PORTS we_i, waddr_i, wdata_i, re_i, raddr_i[2], rdata_o[2]
typedef struct ifm_state {
    TB_PORTS(ports, IFM_PORTS);
    copy mem;
    port port[2];
    bool asked;
} ifm_state;

static int ifm_open(tb_check *c, char *err, size_t err_size) {
    ifm_state *s = (ifm_state *)c->state;
    if (copy_open(&s->mem, IFM_WORDS, npu_score_n(c), err, err_size) != 0) {
        return -1;
    }
    return 0;
}

static void ifm_cycle(tb_check *c) {
    ifm_state *s = (ifm_state *)c->state;
    if (s->asked) {
        static const char *const streams[2] = {"data 0", "data 1"};
        for (uint32_t i = 0; i < 2; i++) {
            if (s->port[i].from != NULL) {
                port_compare(c, &s->port[i], streams[i], "ring", s->rdata_o[i]);
            }
        }
    }
    copy_settle(&s->mem);
    s->asked = *(const uint8_t *)s->re_i.ptr != 0;
    if (s->asked) {
        port_ask(&s->port[0], &s->mem, s->raddr_i[0]);
        port_ask(&s->port[1], &s->mem, s->raddr_i[1]);
    }
    if (*(const uint8_t *)s->we_i.ptr != 0) {
        copy_write(c, &s->mem, s->waddr_i, s->wdata_i);
    }
    c->again = s->asked || s->mem.wrote;
}

static void ifm_close(tb_check *c) {
    copy_close(&((ifm_state *)c->state)->mem);
}

const tb_check_ops npu_score_ifm_buf = {.unit = "ifm_buf",
                                        .inputs = (const char *const[]){"layout", NULL},
                                        TB_STATE(ifm_state, IFM_PORTS),
                                        .wake = "re_i, we_i",
                                        .open = ifm_open,
                                        .cycle = ifm_cycle,
                                        .close = ifm_close};

/* ---- wgt_buf ---- */

#define WGT_PORTS we_i, waddr_i[2], wdata_i[2], re_i, rbank_i, raddr_i, rdata_o
typedef struct wgt_state {
    TB_PORTS(ports, WGT_PORTS);
    copy bank[2];
    port port;
    bool asked;
} wgt_state;

static int wgt_open(tb_check *c, char *err, size_t err_size) {
    wgt_state *s = (wgt_state *)c->state;
    if (copy_open(&s->bank[0], WGT_WORDS, npu_score_n(c), err, err_size) != 0 ||
        copy_open(&s->bank[1], WGT_WORDS, npu_score_n(c), err, err_size) != 0) {
        return -1;
    }
    return 0;
}

static void wgt_cycle(tb_check *c) {
    wgt_state *s = (wgt_state *)c->state;
    if (s->asked && s->port.from != NULL) {
        port_compare(c, &s->port, "data", s->port.from == &s->bank[1] ? "bank 1" : "bank 0", s->rdata_o);
    }
    copy_settle(&s->bank[0]);
    copy_settle(&s->bank[1]);
    s->asked = *(const uint8_t *)s->re_i.ptr != 0;
    if (s->asked) {
        port_ask(&s->port, &s->bank[tb_get(s->rbank_i) & 1u], s->raddr_i);
    }
    const uint8_t we = *(const uint8_t *)s->we_i.ptr;
    for (uint32_t i = 0; we != 0 && i < 2; i++) {
        if ((we >> i & 1u) != 0) {
            copy_write(c, &s->bank[i], s->waddr_i[i], s->wdata_i[i]);
        }
    }
    c->again = s->asked || s->bank[0].wrote || s->bank[1].wrote;
}

static void wgt_close(tb_check *c) {
    wgt_state *s = (wgt_state *)c->state;
    copy_close(&s->bank[0]);
    copy_close(&s->bank[1]);
}

const tb_check_ops npu_score_wgt_buf = {.unit = "wgt_buf",
                                        .inputs = (const char *const[]){"wgt_ld", NULL},
                                        TB_STATE(wgt_state, WGT_PORTS),
                                        .wake = "re_i, we_i",
                                        .open = wgt_open,
                                        .cycle = wgt_cycle,
                                        .close = wgt_close};

/* ---- par_buf ---- */

#define PAR_PORTS we_i, waddr_i[2], wdata_i[2], re_i, raddr_i[2], oscale_o[2], bias_o[2]
typedef struct par_state {
    TB_PORTS(ports, PAR_PORTS);
    copy mem[2]; /* scales, biases */
    port port[2][2];
    uint8_t asked; /* a bit for each port */
} par_state;

static int par_open(tb_check *c, char *err, size_t err_size) {
    par_state *s = (par_state *)c->state;
    return copy_open(&s->mem[0], PAR_WORDS, 16, err, err_size) != 0 ||
                   copy_open(&s->mem[1], PAR_WORDS, 16, err, err_size) != 0
               ? -1
               : 0;
}

static void par_cycle(tb_check *c) {
    static const char *const streams[2][2] = {{"oscale 0", "bias 0"}, {"oscale 1", "bias 1"}};
    par_state *s = (par_state *)c->state;
    for (uint32_t i = 0; s->asked != 0 && i < 4; i++) {
        const port *p = &s->port[i / 2][i % 2];
        if ((s->asked >> i / 2 & 1u) != 0 && p->from != NULL) {
            port_compare(c, p, streams[i / 2][i % 2], i % 2 == 0 ? "scale" : "bias",
                         (i % 2 == 0 ? s->oscale_o : s->bias_o)[i / 2]);
        }
    }
    copy_settle(&s->mem[0]);
    copy_settle(&s->mem[1]);
    s->asked = *(const uint8_t *)s->re_i.ptr;
    for (uint32_t i = 0; s->asked != 0 && i < 4; i++) {
        if ((s->asked >> i / 2 & 1u) != 0) {
            port_ask(&s->port[i / 2][i % 2], &s->mem[i % 2], s->raddr_i[i / 2]);
        }
    }
    const uint8_t we = *(const uint8_t *)s->we_i.ptr;
    for (uint32_t i = 0; we != 0 && i < 2; i++) {
        if ((we >> i & 1u) != 0) {
            copy_write(c, &s->mem[i], s->waddr_i[i], s->wdata_i[i]);
        }
    }
    c->again = s->asked != 0 || s->mem[0].wrote || s->mem[1].wrote;
}

static void par_close(tb_check *c) {
    par_state *s = (par_state *)c->state;
    copy_close(&s->mem[0]);
    copy_close(&s->mem[1]);
}

const tb_check_ops npu_score_par_buf = {.unit = "par_buf",
                                        .inputs = (const char *const[]){"par_ld", "dma_rd", NULL},
                                        TB_STATE(par_state, PAR_PORTS),
                                        .wake = "re_i, we_i",
                                        .open = par_open,
                                        .cycle = par_cycle,
                                        .close = par_close};
