/* device_ports.c - requests of the command device to ports: registers, streams, AXI slaves. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "device_priv.h"
#include "report/report.h"

#define PAGE 4096u /* that no burst crosses */

/* ---- registers, through AXI4-Lite or APB ---- */

static bool named(const char *name, const char *wanted) {
    return strcmp(name, wanted) == 0 || strcmp(wanted, "-") == 0;
}

/* Number of the AXI4-Lite slave, or (*apb) APB completer, of the design with this name, or of the first one; or -1. */
static int registers_of(const device *d, const char *name, bool *apb) {
    *apb = false;
    for (unsigned i = 0; i < d->r->ports; i++) {
        const tb_run_port_cfg *c = &d->r->port[i]->cfg;
        if (c->mem == NULL && c->shadow == NULL && named(c->name, name)) {
            return (int)i;
        }
    }
    *apb = true;
    for (unsigned i = 0; i < d->r->apbs; i++) {
        if (!d->r->apb[i]->cfg.requester && named(d->r->apb[i]->cfg.name, name)) {
            return (int)i;
        }
    }
    return -1;
}

void device_read(device *d) {
    bool apb;
    const int port = registers_of(d, d->word[1], &apb);
    uint32_t value = 0;
    if (port < 0) {
        device_bad(d, "the design has no AXI4-Lite or APB slave of this name");
        return;
    }
    if (apb) {
        (void)tb_run_apb_read(d->r, (unsigned)port, d->number[1], &value, NULL);
    } else {
        (void)tb_run_read(d->r, (unsigned)port, d->number[1], &value);
    }
    device_number(d, value);
}

void device_write(device *d) {
    bool apb;
    const int port = registers_of(d, d->word[1], &apb);
    if (port < 0) {
        device_bad(d, "the design has no AXI4-Lite or APB slave of this name");
        return;
    }
    if (apb && d->number[3] != 0xf) {
        device_bad(d, "a write through APB has all strobes");
        return;
    }
    if (apb) {
        (void)tb_run_apb_write(d->r, (unsigned)port, d->number[1], (uint32_t)d->number[2], NULL);
    } else {
        (void)tb_run_write_part(d->r, (unsigned)port, d->number[1], (uint32_t)d->number[2], (uint8_t)d->number[3]);
    }
    device_done(d, "");
}

/* The bytes behind a request, number[1 or 2] of them. NULL: noted. */
static uint8_t *body_of(device *d, uint64_t size) {
    uint8_t *data = size <= MAX_BYTES ? (uint8_t *)malloc(size + 1) : NULL;
    if (data == NULL || fread(data, 1, size, d->in) != size) {
        free(data);
        device_bad(d, "too many bytes, or too few of them came");
        d->over = true; /* the next line cannot be found */
        return NULL;
    }
    return data;
}

/* ---- streams ---- */

/* A transfer out of the design. */
static void keep(void *ctx, const tb_stream *s) {
    device_out *o = (device_out *)ctx;
    uint8_t bytes[TB_STREAM_BYTES];
    const size_t n = tb_stream_bytes(s, bytes);
    if (o->size + n > o->room) {
        const size_t room = 2 * (o->size + n) + 4096;
        uint8_t *grown = (uint8_t *)realloc(o->bytes, room);
        o->full = o->full || grown == NULL;
        o->bytes = grown != NULL ? grown : o->bytes;
        o->room = grown != NULL ? room : o->room;
    }
    if (o->packets == o->slots) {
        size_t *grown = (size_t *)realloc(o->length, (2 * o->slots + 64) * sizeof *grown);
        o->full = o->full || grown == NULL;
        o->length = grown != NULL ? grown : o->length;
        o->slots = grown != NULL ? 2 * o->slots + 64 : o->slots;
    }
    if (o->full) {
        return;
    }
    memcpy(o->bytes + o->size, bytes, n);
    o->size += n;
    o->open += n;
    if (tb_stream_ends(s)) {
        o->length[o->packets++] = o->open;
        o->open = 0;
    }
}

void device_listen(device *d) {
    d->stream = (device_out *)calloc(TB_RUN_STREAMS, sizeof *d->stream);
    for (unsigned i = 0; d->stream != NULL && i < d->r->streams; i++) {
        if (d->r->stream[i]->cfg.source) {
            d->r->stream[i]->log = keep;
            d->r->stream[i]->log_ctx = &d->stream[i];
        }
    }
}

void device_free(device *d) {
    for (unsigned i = 0; d->stream != NULL && i < TB_RUN_STREAMS; i++) {
        free(d->stream[i].bytes);
        free(d->stream[i].length);
    }
    free(d->stream);
}

/* The stream with this name, or the first one, of this direction; NULL: there is none, noted. */
static tb_stream *stream_of(device *d, bool source, unsigned *number) {
    for (unsigned i = 0; i < d->r->streams; i++) {
        if (d->r->stream[i]->cfg.source == source && named(d->r->stream[i]->cfg.name, d->word[1])) {
            *number = i;
            return d->r->stream[i];
        }
    }
    device_bad(d, source ? "there is no such stream out of the design" : "there is no such stream into the design");
    return NULL;
}

/* send STREAM BYTES: a packet, which is sent while the design is stepped. */
void device_send(device *d) {
    char err[200];
    unsigned number;
    uint8_t *data = body_of(d, d->number[1]);
    tb_stream *s = data != NULL ? stream_of(d, false, &number) : NULL;
    if (s != NULL && tb_stream_give(s, data, d->number[1], err, sizeof err) != 0) {
        device_bad(d, err);
    } else if (s != NULL) {
        device_done(d, "");
    }
    free(data);
}

/* take STREAM: the packets that have come out since the last time: their lengths as text, and their bytes. */
void device_take(device *d) {
    unsigned number = 0;
    char *text = NULL;
    size_t size = 0, bytes = 0;
    if (stream_of(d, true, &number) == NULL) {
        return;
    }
    device_out *o = d->stream != NULL ? &d->stream[number] : NULL;
    FILE *out = o != NULL && !o->full ? rep_memory(&text, &size) : NULL;
    for (size_t i = 0; out != NULL && i < o->packets; i++) {
        fprintf(out, "%s%zu", i > 0 ? "," : "", o->length[i]);
        bytes += o->length[i];
    }
    if (out == NULL || fclose(out) != 0) {
        device_bad(d, "out of memory");
    } else if (tb_run_failed(d->r)) {
        device_done(d, "");
    } else {
        device_answer(d, "ok", text, o->bytes, bytes);
        if (o->open > 0) {
            memmove(o->bytes, o->bytes + bytes, o->open);
        }
        o->size = o->open;
        o->packets = 0;
    }
    free(text);
}

/* stall NAME PERCENT: of the cycles in which the bench stands on a stream or an APB port. */
void device_stall(device *d) {
    bool found = false;
    if (d->number[1] > 99) {
        device_bad(d, "expected at most 99 percent");
        return;
    }
    for (unsigned i = 0; i < d->r->streams; i++) {
        if (strcmp(d->r->stream[i]->cfg.name, d->word[1]) == 0) {
            d->r->stream[i]->stall = (unsigned)d->number[1];
            found = true;
        }
    }
    for (unsigned i = 0; i < d->r->apbs; i++) {
        if (strcmp(d->r->apb[i]->cfg.name, d->word[1]) == 0) {
            d->r->apb[i]->stall = (unsigned)d->number[1];
            found = true;
        }
    }
    if (found) {
        device_done(d, "");
    } else {
        device_bad(d, "there is no such stream or APB port");
    }
}

/* ---- AXI slaves of the design ---- */

/* A burst that was answered. */
typedef struct answer {
    uint8_t *bytes; /* of a read: where they go */
    uint64_t addr;
    size_t size;
    unsigned width; /* of the bus in bytes */
    bool done;
} answer;

static void answered(void *ctx, const tb_axi_request *burst, const uint8_t *data, uint8_t resp) {
    answer *a = (answer *)ctx;
    (void)resp; /* an error is a failure of the run */
    for (size_t i = 0; !burst->write && i < a->size; i++) {
        a->bytes[i] = data[(a->addr - a->addr / a->width * a->width) + i];
    }
    a->done = true;
}

/* One INCR burst of at most 16 beats (AXI4-Lite: one) from addr on; how many bytes it has, 0: the run has failed. */
static size_t burst(device *d, tb_run_port *p, bool write, uint64_t addr, uint8_t *data, size_t size) {
    const unsigned width = p->axi.bytes, first = (unsigned)(addr % width);
    const size_t most = (p->cfg.lite ? 1u : 16u) * width - first, page = PAGE - addr % PAGE;
    const size_t bytes = size < most ? size < page ? size : page : most < page ? most : page;
    const uint32_t beats = (uint32_t)((first + bytes + width - 1) / width);
    uint8_t beat[16 * 128] = {0};
    uint64_t strb[16 * 2] = {0};
    for (size_t i = 0; i < bytes; i++) {
        const size_t lane = (first + i) % width, at = (first + i) / width;
        beat[first + i] = write ? data[i] : 0;
        strb[2 * at + lane / 64] |= UINT64_C(1) << lane % 64;
    }
    answer a = {.bytes = data, .addr = addr, .size = bytes, .width = width};
    const tb_axi_request b = {.write = write,
                              .len = (uint8_t)(beats - 1),
                              .size = (uint8_t)p->axi.size_max,
                              .burst = TB_AXI_INCR,
                              .addr = addr};
    p->master.cfg.done = answered;
    p->master.cfg.done_ctx = &a;
    bool sent = false, go = true;
    while (go && !a.done) {
        sent = sent || tb_axi_master_start(&p->master, &b, beat, strb);
        go = tb_run_step(d->r);
    }
    p->master.cfg.done = NULL;
    return a.done && !tb_run_failed(d->r) ? bytes : 0;
}

static tb_run_port *slave_of(device *d) {
    for (unsigned i = 0; i < d->r->ports; i++) {
        if (d->r->port[i]->cfg.shadow != NULL && named(d->r->port[i]->cfg.name, d->word[1])) {
            return d->r->port[i];
        }
    }
    device_bad(d, "there is no such AXI slave that the bench drives with bursts");
    return NULL;
}

/* Bytes through a slave; false: the run has failed. */
static bool bursts(device *d, tb_run_port *p, bool write, uint64_t addr, uint8_t *data, size_t size) {
    for (size_t at = 0, n = 0; at < size; at += n) {
        n = burst(d, p, write, addr + at, data + at, size - at);
        if (n == 0) {
            return false;
        }
    }
    return true;
}

/* store SLAVE ADDR BYTES */
void device_store(device *d) {
    uint8_t *data = body_of(d, d->number[2]);
    tb_run_port *p = data != NULL ? slave_of(d) : NULL;
    if (p != NULL) {
        (void)bursts(d, p, true, d->number[1], data, d->number[2]);
        device_done(d, "");
    }
    free(data);
}

/* retrieve SLAVE ADDR BYTES */
void device_retrieve(device *d) {
    const uint64_t size = d->number[2];
    uint8_t *data = size <= MAX_BYTES ? (uint8_t *)malloc(size + 1) : NULL;
    tb_run_port *p = data != NULL ? slave_of(d) : NULL;
    if (data == NULL) {
        device_bad(d, "too many bytes");
    } else if (p != NULL && bursts(d, p, false, d->number[1], data, size)) {
        device_answer(d, "ok", "", data, size);
    } else if (p != NULL) {
        device_done(d, "");
    }
    free(data);
}
