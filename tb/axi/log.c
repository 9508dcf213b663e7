#include "log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int tb_axi_log_init(tb_axi_log *log, const char *name, uint32_t bytes, uint64_t cap) {
    *log = (tb_axi_log){.name = name, .bytes = bytes, .cap = cap > 0 ? cap : 1};
    log->ring = (tb_axi_burst *)calloc((size_t)log->cap, sizeof *log->ring);
    log->asked[0] = log->asked[1] = TB_AXI_LOG_NEVER;
    return log->ring != NULL ? 0 : -1;
}

void tb_axi_log_free(tb_axi_log *log) {
    free(log->ring);
    log->ring = NULL;
    log->count = 0;
}

static tb_axi_burst *at(tb_axi_log *log, uint64_t number) {
    return &log->ring[number % log->cap];
}

static tb_axi_burst *add(tb_axi_log *log, bool write) {
    tb_axi_burst *b = at(log, log->count++);
    *b = (tb_axi_burst){.write = write,
                        .asked = TB_AXI_LOG_NEVER,
                        .taken = TB_AXI_LOG_NEVER,
                        .first = TB_AXI_LOG_NEVER,
                        .last = TB_AXI_LOG_NEVER,
                        .end = TB_AXI_LOG_NEVER};
    return b;
}

/* The oldest write whose address is missing (want_addr) or whose data is not complete; NULL: none that is kept. */
static tb_axi_burst *next_write(tb_axi_log *log, bool want_addr) {
    const uint64_t kept = tb_axi_log_first(log);
    uint64_t i = want_addr ? log->open[1] : log->fill;
    for (i = i > kept ? i : kept; i < log->count; i++) {
        tb_axi_burst *b = at(log, i);
        if (b->write && (want_addr ? !b->has_addr : b->last == TB_AXI_LOG_NEVER)) {
            log->fill = want_addr ? log->fill : i;
            return b;
        }
    }
    return NULL;
}

/* The oldest unfinished burst of an ID; a write also needs its address and all its data. */
static tb_axi_burst *find_open(tb_axi_log *log, bool write, uint64_t id) {
    const uint64_t kept = tb_axi_log_first(log);
    bool all_ended = true;
    for (uint64_t i = log->open[write] > kept ? log->open[write] : kept; i < log->count; i++) {
        tb_axi_burst *b = at(log, i);
        if (b->write != write || b->end != TB_AXI_LOG_NEVER) {
            log->open[write] = all_ended ? i + 1 : log->open[write];
            continue;
        }
        all_ended = false;
        if (b->id == id && (!write || (b->has_addr && b->last != TB_AXI_LOG_NEVER))) {
            return b;
        }
    }
    return NULL;
}

static void take_address(tb_axi_log *log, const tb_axi_sample *s, bool write) {
    const tb_axi_ax *ax = write ? &s->aw : &s->ar;
    if (!ax->valid) {
        log->asked[write] = TB_AXI_LOG_NEVER;
        return;
    }
    if (log->asked[write] == TB_AXI_LOG_NEVER) {
        log->asked[write] = s->cycle;
    }
    if (!ax->ready) {
        return;
    }
    tb_axi_burst *b = write ? next_write(log, true) : NULL;
    b = b != NULL ? b : add(log, write);
    b->has_addr = true;
    b->addr = ax->addr;
    b->id = ax->id;
    b->len = ax->len;
    b->size = ax->size;
    b->type = ax->burst;
    b->asked = log->asked[write];
    b->taken = s->cycle;
    log->asked[write] = TB_AXI_LOG_NEVER;
}

static void take_beat(const tb_axi_log *log, tb_axi_burst *b, const uint8_t *data, bool last, uint64_t cycle) {
    if (b->beats++ == 0) {
        b->first = cycle;
        memcpy(&b->data, data, log->bytes < sizeof b->data ? log->bytes : sizeof b->data);
    }
    b->last = last ? cycle : b->last;
}

void tb_axi_log_step(tb_axi_log *log, const tb_axi_sample *s) {
    take_address(log, s, false);
    take_address(log, s, true);
    if (s->w.valid && s->w.ready) {
        tb_axi_burst *b = next_write(log, false);
        take_beat(log, b != NULL ? b : add(log, true), s->w.data, s->w.last, s->cycle);
    }
    if (s->r.valid && s->r.ready) {
        tb_axi_burst *b = find_open(log, false, s->r.id);
        if (b == NULL) {
            log->strays++;
        } else {
            take_beat(log, b, s->r.data, s->r.last, s->cycle);
            b->resp = s->r.resp > b->resp ? s->r.resp : b->resp;
            b->end = s->r.last ? s->cycle : b->end;
        }
    }
    if (s->b.valid && s->b.ready) {
        tb_axi_burst *b = find_open(log, true, s->b.id);
        if (b == NULL) {
            log->strays++;
        } else {
            b->resp = s->b.resp;
            b->end = s->cycle;
        }
    }
}

bool tb_axi_burst_during(const tb_axi_burst *b, uint64_t from, uint64_t to) {
    uint64_t begin = b->asked < b->taken ? b->asked : b->taken;
    begin = b->first < begin ? b->first : begin;
    return begin <= to && b->end >= from;
}

uint32_t tb_axi_burst_bytes(const tb_axi_log *log, const tb_axi_burst *b) {
    uint32_t beat = 1u << (b->size & 7u);
    beat = beat < log->bytes ? beat : log->bytes;
    const uint32_t skipped = b->type == TB_AXI_INCR ? (uint32_t)(b->addr & (beat - 1)) : 0;
    return (b->len + 1u) * beat - skipped;
}

const char *tb_axi_resp_name(unsigned resp) {
    static const char *const names[] = {"OKAY", "EXOKAY", "SLVERR", "DECERR"};
    return names[resp & 3u];
}

void tb_axi_burst_text(const tb_axi_log *log, const tb_axi_burst *b, char *dst, size_t size) {
    char addr[96] = "no address yet";
    char data[64] = "no data";
    char end[48] = "no response";
    if (b->has_addr) {
        snprintf(addr, sizeof addr, "0x%08" PRIx64 ", %u bytes in %u beat%s, id %" PRIu64 ": address %" PRIu64, b->addr,
                 tb_axi_burst_bytes(log, b), b->len + 1u, b->len > 0 ? "s" : "", b->id, b->taken);
    }
    if (b->last != TB_AXI_LOG_NEVER && b->last == b->first) {
        snprintf(data, sizeof data, "data %" PRIu64, b->first);
    } else if (b->last != TB_AXI_LOG_NEVER) {
        snprintf(data, sizeof data, "data %" PRIu64 "..%" PRIu64, b->first, b->last);
    } else if (b->first != TB_AXI_LOG_NEVER) {
        snprintf(data, sizeof data, "data from %" PRIu64 ", %u beats so far", b->first, b->beats);
    }
    if (b->end != TB_AXI_LOG_NEVER) {
        snprintf(end, sizeof end, "%s at %" PRIu64, tb_axi_resp_name(b->resp), b->end);
    } else if (b->resp != TB_AXI_OKAY) {
        snprintf(end, sizeof end, "%s so far", tb_axi_resp_name(b->resp));
    }
    snprintf(dst, size, "%s %s, %s, %s", b->write ? "write" : "read ", addr, data, end);
}
