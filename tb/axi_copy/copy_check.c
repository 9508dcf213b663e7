#include "copy_check.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdio.h>

#define WORD 16u  /* bytes of the widest word */
#define WORDS 64u /* of the deepest FIFO; a power of two */

static bool one(tb_sig s) {
    return *(const uint8_t *)s.ptr != 0;
}

/* ---- fifo: words come out in the order in which they went in, and none enters a full one ---- */

#define FIFO_PORTS depth, wvalid_i, wready_o, wdata_i, rvalid_o, rready_i, rdata_o
typedef struct fifo {
    TB_PORTS(ports, FIFO_PORTS);
    uint64_t in, out;
    uint8_t word[WORDS][WORD];
} fifo;

static int fifo_open(tb_check *c, char *err, size_t err_size) {
    fifo *s = (fifo *)c->state;
    if (tb_sig_bytes(s->wdata_i) > WORD) {
        return opt_fail(err, err_size, "%s: words of more than %u bytes", c->tap->path, WORD);
    }
    return 0;
}

static void fifo_clear(tb_check *c) {
    fifo *s = (fifo *)c->state;
    s->in = s->out = 0;
}

static void fifo_cycle(tb_check *c) {
    fifo *s = (fifo *)c->state;
    uint8_t word[WORD];
    const uint64_t level = s->in - s->out;
    const bool full = level == tb_get(s->depth);
    if (!tb_check_value(c, "room", s->in, one(s->wready_o), !full) ||
        !tb_check_value(c, "valid", s->out, one(s->rvalid_o), level > 0)) {
        return;
    }
    if (one(s->wvalid_i) && full) {
        tb_check_fail(c, "overflow", s->in, NULL, "a word", "none: it is full");
        return;
    }
    if (one(s->rvalid_o) && one(s->rready_i)) {
        tb_get_bytes(s->rdata_o, word);
        const uint8_t *expected = s->word[s->out % WORDS];
        for (size_t i = 0; i < tb_sig_bytes(s->rdata_o); i++) {
            char where[16];
            snprintf(where, sizeof where, "byte %zu", i);
            if (word[i] != expected[i]) {
                tb_check_failf(c, "data", s->out, "%s|0x%02x|0x%02x", where, word[i], expected[i]);
                return;
            }
        }
        s->out++;
    }
    if (one(s->wvalid_i)) {
        tb_get_bytes(s->wdata_i, s->word[s->in++ % WORDS]);
    }
}

static void fifo_finish(tb_check *c) {
    const fifo *s = (const fifo *)c->state;
    tb_check_value(c, "words left", s->out, s->in - s->out, 0);
}

static const tb_check_ops fifo_ops = {.unit = "fifo",
                                      TB_STATE(fifo, FIFO_PORTS),
                                      .open = fifo_open,
                                      .clear = fifo_clear,
                                      .cycle = fifo_cycle,
                                      .finish = fifo_finish};

/* ---- align: the bytes of a copy, from the lanes of the source to those of the destination ---- */

#define ALIGN_PORTS                                                                                                    \
    start_i, src_lane_i, dst_lane_i, bytes_i, in_valid_i, in_ready_o, in_data_i, out_valid_o, out_ready_i, out_data_o, \
        out_strb_o
typedef struct align {
    TB_PORTS(ports, ALIGN_PORTS);
    uint32_t lanes;
    uint32_t src, dst;       /* next lane on each side */
    uint64_t length;         /* of the copy */
    uint64_t in, out;        /* bytes of the copy received and sent */
    uint8_t queue[4 * WORD]; /* byte number i at index i % size */
} align;

static int align_open(tb_check *c, char *err, size_t err_size) {
    align *s = (align *)c->state;
    (void)err, (void)err_size;
    s->lanes = s->in_data_i.width / 8;
    return 0;
}

static void align_clear(tb_check *c) {
    align *s = (align *)c->state;
    s->length = s->in = s->out = 0;
}

static void align_output(tb_check *c, align *s) {
    const uint8_t *data = (const uint8_t *)s->out_data_o.ptr;
    const uint64_t left = s->length - s->out;
    const uint64_t count = left < s->lanes - s->dst ? left : s->lanes - s->dst;
    if (count == 0) {
        tb_check_fail(c, "beat", s->out, NULL, "a beat", "none: the copy is complete");
        return;
    }
    if (!tb_check_value(c, "strobe", s->out, tb_get(s->out_strb_o), ((UINT64_C(1) << count) - 1) << s->dst)) {
        return;
    }
    for (uint64_t i = 0; i < count; i++, s->out++) {
        char where[48], got[8], want[32] = "none: its input has not arrived";
        const uint8_t expected = s->queue[s->out % sizeof s->queue];
        if (s->out < s->in && data[s->dst + i] == expected) {
            continue;
        }
        snprintf(where, sizeof where, "lane %" PRIu64, s->dst + i);
        snprintf(got, sizeof got, "0x%02x", data[s->dst + i]);
        if (s->out < s->in) {
            snprintf(want, sizeof want, "0x%02x", expected);
        }
        tb_check_fail(c, "data", s->out, where, got, want);
        return;
    }
    s->dst = 0;
}

static void align_cycle(tb_check *c) {
    align *s = (align *)c->state;
    if (one(s->in_valid_i) && one(s->in_ready_o)) {
        for (; s->src < s->lanes && s->in < s->length; s->src++) {
            s->queue[s->in++ % sizeof s->queue] = ((const uint8_t *)s->in_data_i.ptr)[s->src];
        }
        s->src = 0;
    }
    if (one(s->out_valid_o) && one(s->out_ready_i)) {
        align_output(c, s);
    }
    if (one(s->start_i)) {
        tb_check_value(c, "bytes left", s->out, s->length - s->out, 0);
        s->length = tb_get(s->bytes_i);
        s->src = (uint32_t)tb_get(s->src_lane_i);
        s->dst = (uint32_t)tb_get(s->dst_lane_i);
        s->in = s->out = 0;
        c->task++;
    }
}

static void align_finish(tb_check *c) {
    const align *s = (const align *)c->state;
    tb_check_value(c, "bytes left", s->out, s->length - s->out, 0);
}

static const tb_check_ops align_ops = {.unit = "align",
                                       .inputs = (const char *const[]){"fifo", NULL},
                                       TB_STATE(align, ALIGN_PORTS),
                                       .open = align_open,
                                       .clear = align_clear,
                                       .cycle = align_cycle,
                                       .finish = align_finish};

const tb_check_ops *const copy_checks[] = {&fifo_ops, &align_ops};
const size_t copy_check_count = sizeof copy_checks / sizeof *copy_checks;
