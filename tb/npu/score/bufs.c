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
#define PAR_BYTES 16u

/*
 * A memory with one write port. A read of the word that is written at the same edge returns the old one: a cycle copies
 * the words that are read before it writes.
 */
typedef struct copy {
    uint8_t *data;  /* of all addresses that the port can have */
    uint32_t words; /* of the memory */
    uint32_t bytes; /* of a word */
    uint8_t *known;
    /* the last word that became known, and the number of reads that had begun when it did: the last one saw the word
     * that had not been written */
    uint32_t fresh;
    uint64_t fresh_reads;
} copy;

/* A read port: its request at the last edge. */
typedef struct port {
    uint8_t word[WORD]; /* that the copy had */
    uint64_t addr;
} port;

/* Addresses are those of a read port, of 8 bits for up to 256 words and of 16 at most. */
static int copy_open(copy *m, uint32_t words, uint32_t bytes, tb_sig addr, char *err, size_t err_size) {
    const size_t places = (size_t)1 << addr.width; /* words that do not exist are never known */
    if (addr.width > 16 || (addr.width > 8) != (words > 256) || words > places) {
        return opt_fail(err, err_size, "an address of %" PRIu32 " bits for %" PRIu32 " words", addr.width, words);
    }
    m->words = words;
    m->bytes = bytes;
    m->data = (uint8_t *)calloc(places, bytes);
    m->known = (uint8_t *)calloc(places, 1);
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

__attribute__((cold, noinline)) static void wrong_address(tb_check *c, const copy *m, uint32_t at) {
    tb_check_failf(c, "write address", 0, "%" PRIu32 "|less than %" PRIu32, at, m->words);
}

/* Call it after the reads of the same edge, of which `reads` have begun in all. */
static inline void copy_write(tb_check *c, copy *m, uint32_t bytes, uint64_t reads, uint32_t at, tb_sig data) {
    if (at >= m->words) {
        wrong_address(c, m, at);
        return;
    }
    npu_score_copy(&m->data[at * bytes], data.ptr, bytes);
    if (m->known[at] == 0) {
        m->known[at] = 1;
        m->fresh = at;
        m->fresh_reads = reads;
    }
}

static inline void port_ask(port *p, const copy *from, uint32_t bytes, uint32_t addr) {
    p->addr = addr;
    npu_score_copy(p->word, &from->data[addr * bytes], bytes);
}

/*
 * A word differs from the copy: an error where that was known as read number `reads` began, number `number` of the
 * port. What a word holds that was never written is noted, so that it does not differ each time.
 */
__attribute__((cold, noinline)) static void wrong_data(tb_check *c, const port *p, copy *from, uint64_t reads,
                                                       uint64_t number, const char *stream, const char *name,
                                                       tb_sig data) {
    const uint8_t *got = (const uint8_t *)data.ptr;
    if (from->known[p->addr] == 0) {
        memcpy(&from->data[p->addr * from->bytes], got, from->bytes);
        return;
    }
    if (from->fresh == p->addr && from->fresh_reads == reads) {
        return;
    }
    uint32_t i = 0;
    while (got[i] == p->word[i]) {
        i++;
    }
    tb_check_failf(c, stream, number - 1, "%s word %" PRIu64 ", byte %" PRIu32 "|0x%02x|0x%02x", name, p->addr, i,
                   got[i], p->word[i]);
}

/* ---- ifm_buf ---- */

#define IFM_PORTS we_i, waddr_i, wdata_i, re_i, raddr_i[2], rdata_o[2]
typedef struct ifm_state {
    TB_PORTS(ports, IFM_PORTS);
    uint64_t reads;
    bool asked;
    port port[2];
    copy mem;
} ifm_state;

/* Inlined with a constant number of bytes where the time of a simulation matters. */
static inline void ifm_cycle_of(uint32_t bytes, tb_check *c) {
    ifm_state *s = (ifm_state *)c->state;
    for (uint32_t i = 0; s->asked && i < 2; i++) {
        if (!npu_score_same(s->rdata_o[i].ptr, s->port[i].word, bytes)) {
            wrong_data(c, &s->port[i], &s->mem, s->reads, s->reads, i == 0 ? "data 0" : "data 1", "ring",
                       s->rdata_o[i]);
        }
    }
    s->asked = npu_score_b(s->re_i) != 0;
    if (s->asked) {
        port_ask(&s->port[0], &s->mem, bytes, npu_score_h(s->raddr_i[0]));
        port_ask(&s->port[1], &s->mem, bytes, npu_score_h(s->raddr_i[1]));
        s->reads++;
    }
    c->again = s->asked;
    if (npu_score_b(s->we_i) != 0) {
        copy_write(c, &s->mem, bytes, s->reads, npu_score_h(s->waddr_i), s->wdata_i);
    }
}

static void ifm_cycle(tb_check *c) {
    ifm_cycle_of(((const ifm_state *)c->state)->mem.bytes, c);
}

static void ifm_cycle_8(tb_check *c) {
    ifm_cycle_of(8, c);
}

static void ifm_cycle_32(tb_check *c) {
    ifm_cycle_of(32, c);
}

static int ifm_open(tb_check *c, char *err, size_t err_size) {
    ifm_state *s = (ifm_state *)c->state;
    const uint32_t n = npu_score_n(c);
    c->cycle = n == 8 ? ifm_cycle_8 : n == 32 ? ifm_cycle_32 : ifm_cycle;
    return copy_open(&s->mem, IFM_WORDS, n, s->raddr_i[0], err, err_size);
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
    uint64_t reads;
    bool asked;
    uint8_t asked_bank;
    port port;
    copy bank[2];
} wgt_state;

/* Inlined with a constant number of bytes where the time of a simulation matters. */
static inline void wgt_cycle_of(uint32_t bytes, tb_check *c) {
    wgt_state *s = (wgt_state *)c->state;
    if (s->asked && !npu_score_same(s->rdata_o.ptr, s->port.word, bytes)) {
        wrong_data(c, &s->port, &s->bank[s->asked_bank], s->reads, s->reads, "data",
                   s->asked_bank == 1 ? "bank 1" : "bank 0", s->rdata_o);
    }
    s->asked = npu_score_b(s->re_i) != 0;
    if (s->asked) {
        const uint32_t bank = npu_score_b(s->rbank_i) & 1u;
        s->asked_bank = (uint8_t)bank;
        port_ask(&s->port, &s->bank[bank], bytes, npu_score_h(s->raddr_i));
        s->reads++;
    }
    c->again = s->asked;
    const uint32_t we = npu_score_b(s->we_i);
    for (uint32_t i = 0; we != 0 && i < 2; i++) {
        if ((we >> i & 1u) != 0) {
            copy_write(c, &s->bank[i], bytes, s->reads, npu_score_h(s->waddr_i[i]), s->wdata_i[i]);
        }
    }
}

static void wgt_cycle(tb_check *c) {
    wgt_cycle_of(((const wgt_state *)c->state)->bank[0].bytes, c);
}

static void wgt_cycle_8(tb_check *c) {
    wgt_cycle_of(8, c);
}

static void wgt_cycle_32(tb_check *c) {
    wgt_cycle_of(32, c);
}

static int wgt_open(tb_check *c, char *err, size_t err_size) {
    wgt_state *s = (wgt_state *)c->state;
    const uint32_t n = npu_score_n(c);
    c->cycle = n == 8 ? wgt_cycle_8 : n == 32 ? wgt_cycle_32 : wgt_cycle;
    return copy_open(&s->bank[0], WGT_WORDS, n, s->raddr_i, err, err_size) != 0 ||
                   copy_open(&s->bank[1], WGT_WORDS, n, s->raddr_i, err, err_size) != 0
               ? -1
               : 0;
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
    uint8_t asked;      /* a bit for each port */
    port port[2][2];    /* [port][memory] */
    copy mem[2];        /* scales, biases */
    uint64_t cycles;    /* in which the check was called */
    uint64_t number[2]; /* reads of each port */
} par_state;

static int par_open(tb_check *c, char *err, size_t err_size) {
    par_state *s = (par_state *)c->state;
    return copy_open(&s->mem[0], PAR_WORDS, PAR_BYTES, s->raddr_i[0], err, err_size) != 0 ||
                   copy_open(&s->mem[1], PAR_WORDS, PAR_BYTES, s->raddr_i[0], err, err_size) != 0
               ? -1
               : 0;
}

/* Do the words of a port differ from what it asked for? */
static inline bool par_differs(const par_state *s, uint32_t i) {
    return !npu_score_same(s->oscale_o[i].ptr, s->port[i][0].word, PAR_BYTES) ||
           !npu_score_same(s->bias_o[i].ptr, s->port[i][1].word, PAR_BYTES);
}

__attribute__((cold, noinline)) static void par_wrong(tb_check *c, par_state *s, uint32_t i) {
    static const char *const streams[2][2] = {{"oscale 0", "bias 0"}, {"oscale 1", "bias 1"}};
    for (uint32_t m = 0; m < 2; m++) {
        const tb_sig got = m == 0 ? s->oscale_o[i] : s->bias_o[i];
        if (!npu_score_same(got.ptr, s->port[i][m].word, PAR_BYTES)) {
            wrong_data(c, &s->port[i][m], &s->mem[m], s->cycles, s->number[i], streams[i][m], m == 0 ? "scale" : "bias",
                       got);
        }
    }
}

static inline void par_ask(par_state *s, uint32_t i) {
    const uint32_t addr = npu_score_b(s->raddr_i[i]);
    port_ask(&s->port[i][0], &s->mem[0], PAR_BYTES, addr);
    port_ask(&s->port[i][1], &s->mem[1], PAR_BYTES, addr);
    s->number[i]++;
}

__attribute__((noinline)) static void par_write(tb_check *c, par_state *s) {
    const uint32_t we = npu_score_b(s->we_i);
    for (uint32_t i = 0; i < 2; i++) {
        if ((we >> i & 1u) != 0) {
            copy_write(c, &s->mem[i], PAR_BYTES, s->cycles, npu_score_b(s->waddr_i[i]), s->wdata_i[i]);
        }
    }
}

static void par_cycle(tb_check *c) {
    par_state *s = (par_state *)c->state;
    const uint32_t asked = s->asked, re = npu_score_b(s->re_i);
    if ((asked & 1u) != 0 && par_differs(s, 0)) {
        par_wrong(c, s, 0);
    }
    if ((asked & 2u) != 0 && par_differs(s, 1)) {
        par_wrong(c, s, 1);
    }
    if ((re & 1u) != 0) {
        par_ask(s, 0);
    }
    if ((re & 2u) != 0) {
        par_ask(s, 1);
    }
    s->asked = (uint8_t)re;
    s->cycles++;
    c->again = re != 0;
    if (npu_score_b(s->we_i) != 0) {
        par_write(c, s);
    }
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
