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

/* A memory with one write port. */
typedef struct copy {
    uint8_t *data;  /* of all addresses that the port can have */
    uint8_t *known; /* a bit for each of them: it has been written */
    uint32_t words; /* of the memory */
    uint32_t bytes; /* of a word */
} copy;

/*
 * A read port, and the place of the word that it must show after its request at the last edge. The place is the signal
 * itself where nothing is to be compared: there was no request, or the word had not been written.
 */
typedef struct port {
    const uint8_t *got, *word;
} port;

/* A word that was written at the edge at which a port read it: the port shows what it was before. */
typedef struct old {
    uint8_t word[WORD];
    uint32_t addr;
} old;

/* `count` copies. Addresses are those of a read port, of 8 bits for up to 256 words and of 16 at most. */
static int copy_open(const tb_check *c, copy *m, size_t count, uint32_t words, uint32_t bytes, tb_sig addr, char *err,
                     size_t err_size) {
    const size_t places = (size_t)1 << addr.width; /* words that do not exist are never known */
    const size_t data = places * bytes, known = (places + 7) / 8;
    if (addr.width > 16 || (addr.width > 8) != (words > 256) || words > places) {
        return opt_fail(err, err_size, "an address of %" PRIu32 " bits for %" PRIu32 " words", addr.width, words);
    }
    uint8_t *memory = (uint8_t *)tb_check_memory(c->all, count * (data + known));
    if (bytes > WORD || memory == NULL) {
        return opt_fail(err, err_size, "out of memory for a copy of %" PRIu32 " words of %" PRIu32 " bytes", words,
                        bytes);
    }
    for (size_t i = 0; i < count; i++) {
        m[i] = (copy){.data = memory + i * data, .known = memory + count * data + i * known, words, bytes};
    }
    return 0;
}

static bool is_known(const copy *m, uint32_t at) {
    return (m->known[at / 8] >> at % 8 & 1u) != 0;
}

/* A write to a place that does not exist, or to a word that is read at the same edge by one of the ports. */
__attribute__((noinline)) static void write_rare(tb_check *c, copy *m, uint32_t at, const void *data, port *p, old *o,
                                                 uint32_t ports) {
    if (at >= m->words) {
        tb_check_failf(c, "write address", 0, "%" PRIu32 "|less than %" PRIu32, at, m->words);
        return;
    }
    uint8_t *const word = &m->data[at * m->bytes];
    for (uint32_t i = 0; i < ports; i++) {
        if (p[i].word == word) {
            memcpy(o[i].word, word, m->bytes);
            o[i].addr = at;
            p[i].word = is_known(m, at) ? o[i].word : p[i].got;
        }
    }
    m->known[at / 8] |= (uint8_t)(1u << at % 8);
    memcpy(word, data, m->bytes);
}

/* Call it after the reads of the same edge: those of `ports` ports, each with a word to keep. */
static inline void copy_write(tb_check *c, copy *m, uint32_t words, uint32_t bytes, uint32_t at, const void *data,
                              port *p, old *o, uint32_t ports) {
    uint8_t *const word = &m->data[at * bytes];
    if (at >= words || p[0].word == word || p[ports - 1].word == word) {
        write_rare(c, m, at, data, p, o, ports);
        return;
    }
    m->known[at / 8] |= (uint8_t)(1u << at % 8);
    npu_score_copy(word, data, bytes);
}

/*
 * Does the word of a port differ from the copy? It is an error where that had been written. What a word holds that was
 * never written is noted, so that it does not differ each time. Then the port has been compared.
 */
__attribute__((cold, noinline)) static void find_wrong(tb_check *c, port *p, const old *o, copy *from, uint64_t number,
                                                       const char *stream, const char *name) {
    if (npu_score_same(p->got, p->word, from->bytes)) {
        return;
    }
    const uint32_t at = p->word == o->word ? o->addr : (uint32_t)(p->word - from->data) / from->bytes;
    if (is_known(from, at)) {
        uint32_t i = 0;
        while (p->got[i] == p->word[i]) {
            i++;
        }
        tb_check_failf(c, stream, number - 1, "%s word %" PRIu32 ", byte %" PRIu32 "|0x%02x|0x%02x", name, at, i,
                       p->got[i], p->word[i]);
    } else {
        memcpy(&from->data[at * from->bytes], p->got, from->bytes);
    }
    p->word = p->got;
}

/* ---- ifm_buf ---- */

#define LAYOUT_PORTS wr_valid_o, wr_ready_i, wr_addr_o, wr_data_o
#define IFM_PORTS we_i, waddr_i, wdata_i, re_i, raddr_i[2], rdata_o[2]
typedef struct ifm_state {
    /* ---- members used in every cycle ---- */
    port port[2];
    const uint8_t *re, *we;
    const void *raddr[2];
    const uint8_t *valid[2], *ready[2]; /* of words of the layout units; without them `we` */
    const void *waddr, *wdata, *from_addr[2], *from_data[2];
    copy mem;
    uint64_t reads;
    tb_check *gemm; /* NULL: there are no layout units */
    TB_PORTS(ports, IFM_PORTS);
    old old[2];
} ifm_state;

/* A port shows another word than the copy has. */
__attribute__((cold, noinline)) static void ifm_differs(tb_check *c) {
    ifm_state *s = (ifm_state *)c->state;
    find_wrong(c, &s->port[0], &s->old[0], &s->mem, s->reads, "data 0", "ring");
    find_wrong(c, &s->port[1], &s->old[1], &s->mem, s->reads, "data 1", "ring");
    c->cycle(c);
}

/* The words that the layout units hand over, a bit for each unit. */
static inline uint32_t ifm_fire(const ifm_state *s) {
    return (uint32_t)(*s->valid[0] & *s->ready[0]) | (uint32_t)(*s->valid[1] & *s->ready[1]) << 1;
}

__attribute__((cold, noinline)) static void ifm_wrong_word(tb_check *c, ifm_state *s) {
    const uint32_t fire = ifm_fire(s), at = npu_score_half(s->waddr);
    npu_score_gemm_word(s->gemm, *s->valid[0] | (uint32_t)*s->valid[1] << 1, fire, *s->we != 0, at,
                        npu_score_half(s->from_addr[fire >> 1 & 1u]));
    if (*s->we != 0) {
        write_rare(c, &s->mem, at, s->wdata, s->port, s->old, 2);
    }
}

/* A word is on offer or written: just one of the layout units must hand it over. */
static inline void ifm_word(uint32_t bytes, tb_check *c, ifm_state *s) {
    const uint32_t at = npu_score_half(s->waddr);
    if (s->gemm != NULL) {
        const uint32_t fire = ifm_fire(s), from = fire >> 1;
        if ((fire != 1 && fire != 2) || *s->we == 0 || at != npu_score_half(s->from_addr[from]) ||
            !npu_score_same(s->wdata, s->from_data[from], bytes)) {
            ifm_wrong_word(c, s);
            return;
        }
    }
    copy_write(c, &s->mem, IFM_WORDS, bytes, at, s->wdata, s->port, s->old, 2);
}

/* Inlined with a constant number of bytes for N = 8. */
static inline void ifm_cycle_of(uint32_t bytes, tb_check *c) {
    ifm_state *s = (ifm_state *)c->state;
    if (!npu_score_same(s->port[0].got, s->port[0].word, bytes) ||
        !npu_score_same(s->port[1].got, s->port[1].word, bytes)) {
        ifm_differs(c);
        return;
    }
    if (*s->re != 0) {
        s->port[0].word = &s->mem.data[npu_score_half(s->raddr[0]) * bytes];
        s->port[1].word = &s->mem.data[npu_score_half(s->raddr[1]) * bytes];
        s->reads++;
        c->again = true;
    } else {
        s->port[0].word = s->port[0].got;
        s->port[1].word = s->port[1].got;
    }
    if ((*s->we | *s->valid[0] | *s->valid[1]) != 0) {
        ifm_word(bytes, c, s);
    }
}

__attribute__((hot)) static void ifm_cycle(tb_check *c) {
    ifm_cycle_of(((const ifm_state *)c->state)->mem.bytes, c);
}

__attribute__((hot)) static void ifm_cycle_8(tb_check *c) {
    ifm_cycle_of(8, c);
}

static int ifm_open(tb_check *c, char *err, size_t err_size) {
    ifm_state *s = (ifm_state *)c->state;
    const uint32_t n = npu_score_n(c);
    s->re = (const uint8_t *)s->re_i.ptr;
    s->we = (const uint8_t *)s->we_i.ptr;
    s->waddr = s->waddr_i.ptr;
    s->wdata = s->wdata_i.ptr;
    for (uint32_t i = 0; i < 2; i++) {
        s->valid[i] = s->we;
        s->raddr[i] = s->raddr_i[i].ptr;
        s->port[i].got = s->port[i].word = (const uint8_t *)s->rdata_o[i].ptr;
    }
    c->cycle = n == 8 ? ifm_cycle_8 : ifm_cycle;
    return copy_open(c, &s->mem, 1, IFM_WORDS, n, s->raddr_i[0], err, err_size);
}

int npu_score_ifm_words(tb_check *gemm, char *err, size_t err_size) {
    tb_check *c = npu_score_check_of(gemm, &npu_score_ifm_buf);
    if (c == NULL) {
        return opt_fail(err, err_size, "gemm: the design has no tap of ifm_buf");
    }
    ifm_state *s = (ifm_state *)c->state;
    for (uint32_t i = 0; i < 2; i++) {
        TB_SIGNALS(from, LAYOUT_PORTS);
        if (tb_taps_ports(&c->all->taps, "layout", i, TB_PORTS_OF(from, LAYOUT_PORTS), err, err_size) != 0 ||
            tb_check_wake(c, from.wr_valid_o, err, err_size) != 0) {
            return -1;
        }
        s->valid[i] = (const uint8_t *)from.wr_valid_o.ptr;
        s->ready[i] = (const uint8_t *)from.wr_ready_i.ptr;
        s->from_addr[i] = from.wr_addr_o.ptr;
        s->from_data[i] = from.wr_data_o.ptr;
    }
    s->gemm = gemm;
    return 0;
}

const tb_check_ops npu_score_ifm_buf = {.unit = "ifm_buf",
                                        .inputs = (const char *const[]){"layout", NULL},
                                        TB_STATE(ifm_state, IFM_PORTS),
                                        .wake = "re_i, we_i",
                                        .open = ifm_open,
                                        .cycle = ifm_cycle};

/* ---- wgt_buf ---- */

#define WGT_PORTS we_i, waddr_i[2], wdata_i[2], re_i, rbank_i, raddr_i, rdata_o
typedef struct wgt_state {
    /* ---- members used in every cycle ---- */
    port port;
    const uint8_t *re, *we, *rbank;
    const void *raddr;
    const uint8_t *data[2]; /* of both banks */
    uint64_t reads;
    uint32_t read_bank; /* at the last edge */
    copy bank[2];
    TB_PORTS(ports, WGT_PORTS);
    old old;
} wgt_state;

/* The port shows another word than the copy has. */
__attribute__((cold, noinline)) static void wgt_differs(tb_check *c) {
    wgt_state *s = (wgt_state *)c->state;
    find_wrong(c, &s->port, &s->old, &s->bank[s->read_bank], s->reads, "data", s->read_bank == 1 ? "bank 1" : "bank 0");
    c->cycle(c);
}

__attribute__((noinline)) static void wgt_write(tb_check *c, wgt_state *s) {
    for (uint32_t i = 0; i < 2; i++) {
        if ((*s->we >> i & 1u) != 0) {
            copy_write(c, &s->bank[i], WGT_WORDS, s->bank[i].bytes, npu_score_h(s->waddr_i[i]), s->wdata_i[i].ptr,
                       &s->port, &s->old, 1);
        }
    }
}

/* Inlined with a constant number of bytes for N = 8. */
static inline void wgt_cycle_of(uint32_t bytes, tb_check *c) {
    wgt_state *s = (wgt_state *)c->state;
    if (!npu_score_same(s->port.got, s->port.word, bytes)) {
        wgt_differs(c);
        return;
    }
    if (*s->re != 0) {
        s->read_bank = *s->rbank & 1u;
        s->port.word = &s->data[s->read_bank][npu_score_half(s->raddr) * bytes];
        s->reads++;
        c->again = true;
    } else {
        s->port.word = s->port.got;
    }
    if (*s->we != 0) {
        wgt_write(c, s);
    }
}

__attribute__((hot)) static void wgt_cycle(tb_check *c) {
    wgt_cycle_of(((const wgt_state *)c->state)->bank[0].bytes, c);
}

__attribute__((hot)) static void wgt_cycle_8(tb_check *c) {
    wgt_cycle_of(8, c);
}

static int wgt_open(tb_check *c, char *err, size_t err_size) {
    wgt_state *s = (wgt_state *)c->state;
    const uint32_t n = npu_score_n(c);
    s->re = (const uint8_t *)s->re_i.ptr;
    s->we = (const uint8_t *)s->we_i.ptr;
    s->rbank = (const uint8_t *)s->rbank_i.ptr;
    s->raddr = s->raddr_i.ptr;
    s->port.got = s->port.word = (const uint8_t *)s->rdata_o.ptr;
    c->cycle = n == 8 ? wgt_cycle_8 : wgt_cycle;
    if (copy_open(c, s->bank, 2, WGT_WORDS, n, s->raddr_i, err, err_size) != 0) {
        return -1;
    }
    s->data[0] = s->bank[0].data;
    s->data[1] = s->bank[1].data;
    return 0;
}

const tb_check_ops npu_score_wgt_buf = {.unit = "wgt_buf",
                                        .inputs = (const char *const[]){"wgt_ld", NULL},
                                        TB_STATE(wgt_state, WGT_PORTS),
                                        .wake = "re_i, we_i",
                                        .open = wgt_open,
                                        .cycle = wgt_cycle};

/* ---- par_buf ---- */

#define PAR_PORTS we_i, waddr_i[2], wdata_i[2], re_i, raddr_i[2], oscale_o[2], bias_o[2]
typedef struct par_state {
    /* ---- members used in every cycle ---- */
    port port[2][2]; /* [memory][port]; the memories are scales and biases */
    const uint8_t *re, *we, *raddr[2];
    uint64_t number[2]; /* reads of each port */
    copy mem[2];
    TB_PORTS(ports, PAR_PORTS);
    old old[2][2];
} par_state;

static int par_open(tb_check *c, char *err, size_t err_size) {
    par_state *s = (par_state *)c->state;
    s->re = (const uint8_t *)s->re_i.ptr;
    s->we = (const uint8_t *)s->we_i.ptr;
    for (uint32_t i = 0; i < 2; i++) {
        s->raddr[i] = (const uint8_t *)s->raddr_i[i].ptr;
        s->port[0][i].got = s->port[0][i].word = (const uint8_t *)s->oscale_o[i].ptr;
        s->port[1][i].got = s->port[1][i].word = (const uint8_t *)s->bias_o[i].ptr;
    }
    return copy_open(c, s->mem, 2, PAR_WORDS, PAR_BYTES, s->raddr_i[0], err, err_size);
}

static inline npu_score_four par_difference(const port *p) {
    return *(const npu_score_four *)p->got ^ *(const npu_score_four *)p->word;
}

/* A port shows another word than a copy has. */
__attribute__((cold, noinline)) static void par_differs(tb_check *c) {
    static const char *const streams[2][2] = {{"oscale 0", "oscale 1"}, {"bias 0", "bias 1"}};
    par_state *s = (par_state *)c->state;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t p = i / 2, m = i % 2;
        find_wrong(c, &s->port[m][p], &s->old[m][p], &s->mem[m], s->number[p], streams[m][p],
                   m == 0 ? "scale" : "bias");
    }
    c->cycle(c);
}

static inline void par_ask(par_state *s, uint32_t i, bool asks) {
    const uint32_t at = *s->raddr[i] * PAR_BYTES;
    s->port[0][i].word = asks ? &s->mem[0].data[at] : s->port[0][i].got;
    s->port[1][i].word = asks ? &s->mem[1].data[at] : s->port[1][i].got;
    s->number[i] += asks;
}

__attribute__((noinline)) static void par_write(tb_check *c, par_state *s) {
    for (uint32_t i = 0; i < 2; i++) {
        if ((*s->we >> i & 1u) != 0) {
            copy_write(c, &s->mem[i], PAR_WORDS, PAR_BYTES, npu_score_b(s->waddr_i[i]), s->wdata_i[i].ptr, s->port[i],
                       s->old[i], 2);
        }
    }
}

__attribute__((hot)) static void par_cycle(tb_check *c) {
    par_state *s = (par_state *)c->state;
    if (npu_score_any(par_difference(&s->port[0][0]) | par_difference(&s->port[0][1]) | par_difference(&s->port[1][0]) |
                      par_difference(&s->port[1][1]))) {
        par_differs(c);
        return;
    }
    const uint32_t re = *s->re;
    par_ask(s, 0, (re & 1u) != 0);
    par_ask(s, 1, (re & 2u) != 0);
    c->again = re != 0;
    if (*s->we != 0) {
        par_write(c, s);
    }
}

const tb_check_ops npu_score_par_buf = {.unit = "par_buf",
                                        .inputs = (const char *const[]){"par_ld", "dma_rd", NULL},
                                        TB_STATE(par_state, PAR_PORTS),
                                        .wake = "re_i, we_i",
                                        .open = par_open,
                                        .cycle = par_cycle};
