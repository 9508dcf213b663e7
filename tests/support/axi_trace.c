/* Rows of a text trace. */
#include "axi_trace_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CYCLE 1000000u
#define MAX_FILE (1u << 20)

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static const char *next_line(const char *at) {
    const char *end = strchr(at, '\n');
    return end != NULL ? end + 1 : at + strlen(at);
}

/* ---- values of signals ---- */

typedef struct value {
    uint8_t byte[TB_AXI_MAX_BYTES]; /* lowest first; 0 where unknown */
    uint8_t x[TB_AXI_MAX_BYTES];    /* 0xff, 0xf0 or 0x0f where digits are unknown */
    uint32_t bytes;
    bool any_x, all_x;
} value;

static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool unknown_digit(char c) {
    return c == 'x' || c == 'X' || c == 'z' || c == 'Z';
}

static bool parse_hex(const char *digits, value *v) {
    const size_t n = strlen(digits);
    if (n == 0 || n > 2 * sizeof v->byte) {
        return false;
    }
    v->bytes = (uint32_t)(n + 1) / 2;
    for (size_t i = 0; i < n; i++) {
        const char c = digits[n - 1 - i];
        const unsigned shift = (i & 1u) * 4;
        if (unknown_digit(c)) {
            v->x[i / 2] |= (uint8_t)(0xfu << shift);
            v->any_x = true;
        } else if (digit_of(c) < 0) {
            return false;
        } else {
            v->byte[i / 2] |= (uint8_t)((unsigned)digit_of(c) << shift);
        }
    }
    return true;
}

static bool parse_value(const char *text, value *v) {
    uint64_t number;
    memset(v, 0, sizeof *v);
    if (unknown_digit(text[0]) && text[1] == '\0') {
        memset(v->x, 0xff, sizeof v->x);
        v->bytes = 1;
        v->any_x = v->all_x = true;
        return true;
    }
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        return parse_hex(text + 2, v);
    }
    if (!axi_trace_number(text, &number)) {
        return false;
    }
    memcpy(v->byte, &number, sizeof number);
    v->bytes = sizeof number;
    return true;
}

/* Does the value fit into so many bits? */
static bool fits(const value *v, uint32_t bits) {
    for (uint32_t i = 0; i < v->bytes && !v->all_x; i++) {
        const uint32_t room = i * 8 >= bits ? 0 : bits - i * 8;
        if (room < 8 && ((v->byte[i] | v->x[i]) >> room) != 0 && (v->x[i] == 0 || room == 0)) {
            return false;
        }
    }
    return true;
}

/* ---- a signal of a sample ---- */

static void *place(tb_axi_sample *s, tb_axi_signal signal, uint32_t *bytes) {
    tb_axi_ax *ax = signal < TB_AXI_WVALID ? &s->aw : &s->ar;
    const struct {
        tb_axi_signal signal;
        void *at;
        uint32_t bytes;
    } all[] = {{TB_AXI_ARESETN, &s->reset_n, 1}, {TB_AXI_WVALID, &s->w.valid, 1},   {TB_AXI_WREADY, &s->w.ready, 1},
               {TB_AXI_WSTRB, s->w.strb, 16},    {TB_AXI_WLAST, &s->w.last, 1},     {TB_AXI_WUSER, &s->w.user, 8},
               {TB_AXI_BVALID, &s->b.valid, 1},  {TB_AXI_BREADY, &s->b.ready, 1},   {TB_AXI_BID, &s->b.id, 8},
               {TB_AXI_BRESP, &s->b.resp, 1},    {TB_AXI_BUSER, &s->b.user, 8},     {TB_AXI_RVALID, &s->r.valid, 1},
               {TB_AXI_RREADY, &s->r.ready, 1},  {TB_AXI_RID, &s->r.id, 8},         {TB_AXI_RRESP, &s->r.resp, 1},
               {TB_AXI_RLAST, &s->r.last, 1},    {TB_AXI_RUSER, &s->r.user, 8},     {TB_AXI_AWVALID, &ax->valid, 1},
               {TB_AXI_AWREADY, &ax->ready, 1},  {TB_AXI_AWADDR, &ax->addr, 8},     {TB_AXI_AWID, &ax->id, 8},
               {TB_AXI_AWLEN, &ax->len, 1},      {TB_AXI_AWSIZE, &ax->size, 1},     {TB_AXI_AWBURST, &ax->burst, 1},
               {TB_AXI_AWLOCK, &ax->lock, 1},    {TB_AXI_AWCACHE, &ax->cache, 1},   {TB_AXI_AWPROT, &ax->prot, 1},
               {TB_AXI_AWQOS, &ax->qos, 1},      {TB_AXI_AWREGION, &ax->region, 1}, {TB_AXI_AWUSER, &ax->user, 8}};
    const tb_axi_signal like = signal >= TB_AXI_ARVALID && signal <= TB_AXI_ARUSER
                                   ? (tb_axi_signal)(signal - TB_AXI_ARVALID + TB_AXI_AWVALID)
                                   : signal;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].signal == like) {
            *bytes = all[i].bytes;
            return all[i].at;
        }
    }
    *bytes = 0;
    return NULL;
}

static void set_data(tb_axi_trace *t, tb_axi_signal signal, const value *v) {
    uint8_t *data = signal == TB_AXI_WDATA ? t->wdata : t->rdata;
    uint64_t *lanes = signal == TB_AXI_WDATA ? t->now.w_x : t->now.r_x;
    lanes[0] = lanes[1] = 0;
    for (uint32_t i = 0; i < t->cfg.bytes; i++) {
        data[i] = v->byte[i];
        lanes[i >> 6] |= v->x[i] != 0 ? UINT64_C(1) << (i & 63u) : 0;
    }
}

static void set_signal(tb_axi_trace *t, tb_axi_signal signal, const value *v) {
    t->now.x = (t->now.x & ~TB_AXI_X(signal)) | (v->any_x ? TB_AXI_X(signal) : 0);
    if (signal == TB_AXI_WDATA || signal == TB_AXI_RDATA) {
        set_data(t, signal, v);
        return;
    }
    uint32_t bytes;
    void *at = place(&t->now, signal, &bytes);
    memcpy(at, v->byte, bytes);
}

static uint32_t width_of(const tb_axi_trace *t, tb_axi_signal signal) {
    const uint32_t bits = tb_axi_signal_get(signal)->bits;
    return bits != 0                                          ? bits
           : signal == TB_AXI_WDATA || signal == TB_AXI_RDATA ? t->cfg.bytes * 8
           : signal == TB_AXI_WSTRB                           ? t->cfg.bytes
                                                              : 64;
}

/* SIGNAL=value */
static void assign(reader *r, char *text) {
    value v;
    char *equals = strchr(text, '=');
    if (equals == NULL) {
        axi_trace_complain(r, "expected SIGNAL=value, got %.60s", text);
        return;
    }
    *equals = '\0';
    for (unsigned i = 0; i < TB_AXI_SIGNALS; i++) {
        const tb_axi_signal_info *info = tb_axi_signal_get((tb_axi_signal)i);
        if (strcmp(info->name, text) != 0 || (r->t->cfg.lite && !info->lite)) {
            continue;
        }
        if (!parse_value(equals + 1, &v) || !fits(&v, width_of(r->t, (tb_axi_signal)i))) {
            axi_trace_complain(r, "%s: expected a value of at most %u bits, got %.60s", text,
                               width_of(r->t, (tb_axi_signal)i), equals + 1);
            return;
        }
        set_signal(r->t, (tb_axi_signal)i, &v);
        return;
    }
    axi_trace_complain(r, "%.60s: no signal of an %s port", text, r->t->cfg.lite ? "AXI4-Lite" : "AXI4");
}

/* ---- cycles ---- */

static void defaults(tb_axi_trace *t) {
    memset(&t->now, 0, sizeof t->now);
    memset(t->wdata, 0, sizeof t->wdata);
    memset(t->rdata, 0, sizeof t->rdata);
    t->now.reset_n = true;
    uint8_t size = 0;
    while ((1u << size) < t->cfg.bytes && size < 7) {
        size++;
    }
    t->now.aw.size = t->now.ar.size = size;
    t->now.aw.burst = t->now.ar.burst = TB_AXI_INCR;
    t->now.w.last = t->now.r.last = true;
    for (uint32_t i = 0; i < t->cfg.bytes && i < TB_AXI_MAX_BYTES; i++) {
        t->now.w.strb[i >> 6] |= UINT64_C(1) << (i & 63u);
    }
    t->now.w.data = t->wdata;
    t->now.r.data = t->rdata;
}

/* Skip empty lines and comments. */
static void to_row(tb_axi_trace *t) {
    char first[WORD];
    while (*t->at != '\0') {
        const char *p = t->at;
        if (axi_trace_word(&p, first)) {
            return;
        }
        t->at = next_line(t->at);
        t->line++;
    }
}

/* Apply the row of a cycle, if there is one. */
static void apply(reader *r, uint64_t cycle) {
    tb_axi_trace *t = r->t;
    char text[WORD];
    uint64_t number;
    to_row(t);
    const char *p = t->at;
    r->line = t->line;
    if (!axi_trace_word(&p, text)) {
        return;
    }
    if (!axi_trace_number(text, &number) || number > MAX_CYCLE) {
        axi_trace_complain(r, "expected the number of a cycle, at most %u, got %.60s", MAX_CYCLE, text);
    } else if (number < cycle) {
        axi_trace_complain(r, "cycle %" PRIu64 " comes after a later one", number);
    } else if (number == cycle) {
        t->last = cycle > t->last ? cycle : t->last;
        while (!r->failed && axi_trace_word(&p, text)) {
            if (strcmp(text, "finish") == 0) {
                t->finish = true;
            } else if (strcmp(text, "end") != 0) {
                assign(r, text);
            }
        }
        t->at = next_line(t->at);
        t->line++;
    }
}

static void rewind_rows(tb_axi_trace *t) {
    t->at = t->rows;
    t->line = t->rows_line;
    t->cycle = 0;
    defaults(t);
}

bool tb_axi_trace_next(tb_axi_trace *t, tb_axi_sample *s) {
    reader r = {.t = t, .path = "", .err = (char[1]){0}, .err_size = 1}; /* all of it has been read before */
    if (t->cycle > t->last) {
        return false;
    }
    apply(&r, t->cycle);
    t->now.cycle = t->cycle++;
    *s = t->now;
    return true;
}

int tb_axi_trace_run(tb_axi_trace *t, tb_axi_monitor *mon) {
    tb_axi_sample s;
    rewind_rows(t);
    if (tb_axi_mon_init(mon, &t->cfg) != 0) {
        return mon->violations > 0 ? 0 : -1;
    }
    while (tb_axi_trace_next(t, &s)) {
        tb_axi_mon_step(mon, &s);
    }
    if (t->finish) {
        tb_axi_mon_finish(mon, t->last + 1);
    }
    return 0;
}

static void read_title(tb_axi_trace *t) {
    const char *p = t->text;
    while (*p == '#' || is_space(*p)) {
        p++;
    }
    const size_t n = strcspn(p, "\r\n");
    if (t->text[0] == '#') {
        snprintf(t->title, sizeof t->title, "%.*s", (int)(n < sizeof t->title ? n : sizeof t->title - 1), p);
    }
}

static void read_all(reader *r) {
    tb_axi_trace *t = r->t;
    char name[WORD];
    char extra[WORD];
    read_title(t);
    t->at = t->text;
    t->line = 1;
    for (to_row(t); *t->at != '\0' && !r->failed; to_row(t)) {
        const char *p = t->at;
        r->line = t->line;
        axi_trace_word(&p, name);
        if (name[0] >= '0' && name[0] <= '9') {
            break;
        }
        axi_trace_directive(r, name, &p);
        if (!r->failed && axi_trace_word(&p, extra)) {
            axi_trace_complain(r, "%s: %.60s is more than expected", name, extra);
        }
        t->at = next_line(t->at);
        t->line++;
    }
    t->rows = t->at;
    t->rows_line = t->line;
    rewind_rows(t);
    for (uint64_t cycle = 0; !r->failed; cycle++) {
        to_row(t);
        if (*t->at == '\0') {
            break;
        }
        apply(r, cycle);
    }
    if (!r->failed && t->nothing == (t->expects > 0)) {
        axi_trace_complain(r, "expected either `expect nothing` or some `expect RULE cycle=N`");
    }
    rewind_rows(t);
}

int tb_axi_trace_open(tb_axi_trace *t, const char *path, char *err, size_t err_size) {
    memset(t, 0, sizeof *t);
    t->cfg.name = "port";
    t->cfg.bytes = 4;
    reader r = {.t = t, .path = path, .err = err, .err_size = err_size};
    FILE *f = fopen(path, "rb");
    t->text = (char *)calloc(1, MAX_FILE + 1);
    if (f == NULL || t->text == NULL) {
        snprintf(err, err_size, "%s: %s", path, f == NULL ? strerror(errno) : "out of memory");
        r.failed = true;
    } else if (fread(t->text, 1, MAX_FILE, f) == MAX_FILE || ferror(f) != 0) {
        snprintf(err, err_size, "%s: not readable, or larger than %u bytes", path, MAX_FILE);
        r.failed = true;
    } else {
        read_all(&r);
    }
    if (f != NULL) {
        fclose(f);
    }
    if (r.failed) {
        tb_axi_trace_close(t);
        return -1;
    }
    return 0;
}

void tb_axi_trace_close(tb_axi_trace *t) {
    free(t->text);
    t->text = NULL;
}
