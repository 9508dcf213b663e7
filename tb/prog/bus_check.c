/* bus_check.c - axi-check: the rules of AXI4-Stream and APB on a port of a waveform file. */
#include "bus_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../apb/apb.h"
#include "../case/hash.h"
#include "../stream/stream.h"
#include "../wave/edges.h"
#include "report/report.h"

#define RESET BUS_WORDS /* its place beside the words */
#define RULES 32u
#define VALID 0u /* of a stream */
#define READY 1u

enum { NO_MEMORY = -1 };

typedef struct broken {
    char rule[64];
    uint64_t times, first;
} broken;

typedef struct bus_check {
    check_run *run;
    const bus_port *port;
    tb_axi_wave_bus bus; /* clock and reset */
    char name[256], clock[600], reset[600];
    tb_stream stream;
    tb_apb apb;
    tb_wave_edges edges;
    /* of each word: its value, and beside it which bits are unknown */
    tb_sig value[BUS_WORDS];
    uint8_t *unknown[BUS_WORDS];
    bool in_reset, reset_known;
    uint64_t period, base, cycle, time, count, hash;
    uint64_t out_of_reset;
    broken broken[RULES];
    unsigned rules;
    uint64_t errors, printed, hidden;
    FILE *lines;
    char *text;
    size_t text_size;
} bus_check;

/* ---- violations ---- */

static void note(bus_check *c, const char *rule, const char *text) {
    unsigned i = 0;
    while (i < c->rules && strcmp(c->broken[i].rule, rule) != 0) {
        i++;
    }
    if (c->cycle < c->run->o->from) {
        return;
    }
    if (i == c->rules && i < RULES) {
        c->broken[c->rules++].first = c->cycle;
        snprintf(c->broken[i].rule, sizeof c->broken[i].rule, "%s", rule);
    }
    if (i < RULES) {
        c->broken[i].times++;
    }
    c->errors++;
    if (c->printed == c->run->o->max) {
        c->hidden++;
        return;
    }
    if (c->run->o->json) {
        fprintf(c->lines,
                "%s\n    {\"rule\": \"%s\", \"severity\": \"error\", \"cycle\": %" PRIu64 ", \"time\": %" PRIu64
                ", \"text\": ",
                c->printed > 0 ? "," : "", rule, c->cycle, c->time);
        rep_json(c->lines, text);
        fputs("}", c->lines);
    } else {
        fprintf(c->lines, "%s cycle=%" PRIu64 " port=%s time=%" PRIu64 ": %s\n", rule, c->cycle, c->name, c->time,
                text);
    }
    c->printed++;
}

/* What a monitor has found: "axi:RULE" and "NAME: text". It goes on as if nothing had been. */
static void take(bus_check *c, char *wrong, const char *text) {
    if (wrong[0] != '\0') {
        const char *rule = strchr(wrong, ':');
        note(c, rule != NULL ? rule + 1 : wrong, text + strlen(c->name) + 2);
        wrong[0] = '\0';
    }
}

static bool is_unknown(const bus_check *c, unsigned word) {
    const size_t bytes = c->unknown[word] != NULL ? (c->value[word].width + 7) / 8 : 0;
    for (size_t i = 0; i < bytes; i++) {
        if (c->unknown[word][i] != 0) {
            return true;
        }
    }
    return false;
}

/* A word with unknown bits where it counts. `side`: ERRM, or ERRS of what the other side drives. */
static void check_x(bus_check *c, unsigned word, const char *side) {
    char rule[64], name[16];
    snprintf(name, sizeof name, "%s", bus_words[c->port->kind][word]);
    for (char *p = name; *p != '\0'; p++) {
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    }
    snprintf(rule, sizeof rule, "%s_%s_%s_X", c->port->kind == BUS_STREAM ? "AXI4STREAM" : "APB", side, name);
    if (is_unknown(c, word)) {
        char text[64];
        snprintf(text, sizeof text, "%s has unknown bits", name);
        note(c, rule, text);
    }
}

/* Unknown bits in lanes whose TKEEP is 1. */
static void check_data_x(bus_check *c) {
    bool any = false;
    const tb_sig keep = c->value[3];
    for (uint32_t lane = 0; lane < (c->value[2].width + 7) / 8; lane++) {
        any = any || ((keep.ptr == NULL || tb_get_field(keep, lane, 1) != 0) && c->unknown[2][lane] != 0);
    }
    if (any) {
        note(c, "AXI4STREAM_ERRM_TDATA_X", "TDATA has unknown bits in a lane with TKEEP");
    }
}

static void judge_stream(bus_check *c) {
    check_x(c, VALID, "ERRM");
    check_x(c, READY, "ERRS");
    if (tb_get(c->value[VALID]) != 0) {
        check_data_x(c);
        for (unsigned word = 3; word < BUS_WORDS; word++) {
            check_x(c, word, "ERRM");
        }
    }
    tb_stream_sample(&c->stream, c->cycle, &c->hash);
    take(c, c->stream.wrong, c->stream.text);
}

static void judge_apb(bus_check *c) {
    check_x(c, 0, "ERRM");
    if (tb_get(c->value[0]) != 0) {
        const bool write = tb_get(c->value[3]) != 0, access = tb_get(c->value[1]) != 0;
        for (unsigned word = 1; word < BUS_WORDS; word++) {
            const bool data = word == 4 || word == 8 || word == 10, answer = word >= 5 && word <= 7;
            const bool last = access && (c->value[6].ptr == NULL || tb_get(c->value[6]) != 0);
            if (answer ? (word == 6 ? access : last && (word == 7 || !write)) : !data || write) {
                check_x(c, word, answer ? "ERRS" : "ERRM");
            }
        }
    }
    tb_apb_sample(&c->apb, c->cycle, &c->hash);
    take(c, c->apb.wrong, c->apb.text);
}

/* ---- the file ---- */

static void set(void *ctx, unsigned which, const char *bits, uint32_t width) {
    bus_check *c = (bus_check *)ctx;
    if (which == RESET) {
        c->reset_known = bits[0] == '0' || bits[0] == '1';
        c->in_reset = !c->reset_known || (bits[0] == '1') == c->bus.reset_high;
        return;
    }
    const tb_sig unknown = {.ptr = c->unknown[which], .width = width};
    for (uint32_t i = 0; i < width; i++) {
        const char bit = bits[width - 1 - i];
        tb_set_field(c->value[which], i, 1, bit == '1');
        tb_set_field(unknown, i, 1, bit != '0' && bit != '1');
    }
}

static int edge(void *ctx, uint64_t time) {
    bus_check *c = (bus_check *)ctx;
    c->time = time;
    c->base = c->count == 0 && c->period > 0 ? (time - 1) / c->period : c->base;
    c->cycle = c->base + c->count++;
    if (c->cycle > c->run->o->to) {
        c->count--;
        c->cycle--;
        return 1;
    }
    if (c->in_reset) {
        c->stream.first = true;
        c->stream.waits = c->stream.inside = false;
        c->apb.phase = TB_APB_IDLE;
        return 0;
    }
    c->out_of_reset++;
    if (c->port->kind == BUS_STREAM) {
        judge_stream(c);
    } else {
        judge_apb(c);
    }
    return 0;
}

/* Values and what is unknown of them; everything is unknown until the file says otherwise. False: out of memory. */
static bool make_values(bus_check *c) {
    for (unsigned i = 0; i < BUS_WORDS; i++) {
        c->edges.in[i].signal = c->port->signal[i];
        c->edges.in[i].at = c->port->at;
        c->edges.in[i].elements = c->port->elements;
        const uint32_t width = tb_wave_edges_width(&c->edges, i);
        const tb_sig sig = {.ptr = NULL, .width = width};
        const size_t bytes = (tb_sig_bytes(sig) + 7) / 8 * 8;
        if (width == 0) {
            continue;
        }
        c->value[i] = (tb_sig){.ptr = calloc(2, bytes), .width = width};
        if (c->value[i].ptr == NULL) {
            return false;
        }
        c->unknown[i] = (uint8_t *)c->value[i].ptr + bytes;
        memset(c->unknown[i], 0xff, (width + 7) / 8);
    }
    c->edges.in[RESET].signal = c->bus.reset;
    c->edges.clock = c->bus.clock;
    c->edges.ctx = c;
    c->edges.set = set;
    c->edges.edge = edge;
    return true;
}

static void make_monitors(bus_check *c) {
    tb_stream *s = &c->stream;
    s->cfg = (tb_stream_cfg){.name = c->name, .prefix = "", .source = true};
    s->valid = c->value[VALID];
    s->ready = c->value[READY];
    for (unsigned i = 2; c->port->kind == BUS_STREAM && bus_words[BUS_STREAM][i] != NULL; i++) {
        if (c->value[i].ptr != NULL) {
            s->field[s->fields++] = (tb_stream_field){
                .kind = (tb_stream_kind)(i - 2), .name = bus_words[BUS_STREAM][i], .sig = c->value[i]};
        }
    }
    tb_sig *const v = c->value;
    const tb_sig data = v[4].ptr != NULL ? v[4] : v[5];
    c->apb = (tb_apb){.cfg = {.name = c->name, .prefix = "", .requester = true},
                      .sel = v[0],
                      .enable = v[1],
                      .addr = v[2],
                      .write = v[3],
                      .wdata = data,
                      .rdata = v[5].ptr != NULL ? v[5] : data,
                      .ready = v[6],
                      .slverr = v[7],
                      .strb = v[8].ptr != NULL ? v[8] : v[10],
                      .prot = v[9],
                      .bytes = data.width / 8};
}

/* ---- what was found ---- */

static uint64_t moved(const bus_check *c) {
    return c->port->kind == BUS_STREAM ? c->stream.transfers : c->apb.transfers;
}

static void print_text(const bus_check *c) {
    char kind[64];
    FILE *out = c->run->said;
    bus_kind_text(c->port, kind, sizeof kind);
    fwrite(c->text, 1, c->text_size, c->run->out);
    for (unsigned i = 0; i < c->rules; i++) {
        fprintf(out, "%s: %s %" PRIu64 " time%s, error, first in cycle %" PRIu64 "\n", c->name, c->broken[i].rule,
                c->broken[i].times, c->broken[i].times == 1 ? "" : "s", c->broken[i].first);
    }
    fprintf(out, "%s: %s, cycles %" PRIu64 "..%" PRIu64 ", clock %s, ", c->name, kind, c->base, c->cycle, c->clock);
    if (c->bus.reset != NULL) {
        fprintf(out, "reset %s active %s; ", c->reset, c->bus.reset_high ? "high" : "low");
    } else {
        fputs("no reset in the file (never in reset); ", out);
    }
    if (c->port->kind == BUS_STREAM) {
        fprintf(out, "%" PRIu64 " transfers, %" PRIu64 " packets, %" PRIu64 " cycles without TREADY; ",
                c->stream.transfers, c->stream.packets, c->stream.stalled);
    } else {
        fprintf(out, "%" PRIu64 " writes, %" PRIu64 " reads, %" PRIu64 " wait states; ", c->apb.stores,
                c->apb.transfers - c->apb.stores, c->apb.waits);
    }
    if (c->errors > 0) {
        fprintf(out, "%" PRIu64 " error%s", c->errors, c->errors == 1 ? "" : "s");
    }
    if (moved(c) == 0) {
        fprintf(out, "%sno transaction (nothing moved on the port)", c->errors > 0 ? ", " : "");
        if (c->port->kind == BUS_STREAM && c->stream.waits) {
            fprintf(out, "; TVALID has waited for TREADY since cycle %" PRIu64, c->stream.since);
        }
    } else if (c->errors == 0) {
        fputs("clean", out);
    }
    if (c->hidden > 0) {
        fprintf(out, ", %" PRIu64 " more not printed (--max)", c->hidden);
    }
    fputc('\n', out);
}

static void print_json(const bus_check *c) {
    char kind[64];
    FILE *out = c->run->out;
    bus_kind_text(c->port, kind, sizeof kind);
    kind[strcspn(kind, ",")] = '\0';
    fputs(c->run->o->all && c->run->checked > 0 ? ",\n{\n" : "{\n", out);
    fputs("  \"file\": ", out);
    rep_json(out, c->run->o->file);
    fputs(",\n  \"port\": ", out);
    rep_json(out, c->name);
    fputs(",\n  \"clock\": ", out);
    rep_json(out, c->clock);
    fputs(",\n  \"reset\": ", out);
    if (c->bus.reset != NULL) {
        rep_json(out, c->reset);
    } else {
        fputs("null", out);
    }
    fprintf(out,
            ",\n  \"protocol\": \"%s\",\n  \"first_cycle\": %" PRIu64 ",\n  \"last_cycle\": %" PRIu64
            ",\n  \"transfers\": %" PRIu64 ",\n",
            kind, c->base, c->cycle, moved(c));
    if (c->port->kind == BUS_STREAM) {
        fprintf(out, "  \"packets\": %" PRIu64 ",\n", c->stream.packets);
    }
    fprintf(out,
            "  \"errors\": %" PRIu64 ",\n  \"warnings\": 0,\n  \"notes\": 0,\n  \"not_printed\": %" PRIu64
            ",\n  \"rules\": [",
            c->errors, c->hidden);
    for (unsigned i = 0; i < c->rules; i++) {
        fprintf(out,
                "%s\n    {\"rule\": \"%s\", \"severity\": \"error\", \"count\": %" PRIu64 ", \"first_cycle\": %" PRIu64
                "}",
                i > 0 ? "," : "", c->broken[i].rule, c->broken[i].times, c->broken[i].first);
    }
    fprintf(out, "%s],\n  \"violations\": [", c->rules > 0 ? "\n  " : "");
    fwrite(c->text, 1, c->text_size, out);
    fprintf(out, "%s]\n}%s", c->printed > 0 ? "\n  " : "", c->run->o->all ? "" : "\n");
}

/* ---- a port ---- */

static int judge(bus_check *c) {
    const axi_check_options *o = c->run->o;
    char err[512];
    const int rc = tb_wave_edges_read(c->run->wave, &c->edges, err, sizeof err);
    if (rc < 0) {
        return axi_check_complain(c->run, "%s", err);
    }
    if (c->count == 0) {
        return axi_check_complain(c->run, "%s: clock %s never rises", c->run->file, c->clock);
    }
    if (c->out_of_reset == 0) {
        return axi_check_complain(
            c->run, "%s: always in reset, so nothing can be judged: reset %s active %s (--reset, --reset-level)",
            c->run->file, c->reset, c->bus.reset_high ? "high" : "low");
    }
    if (rc == 0 && !o->have_to && !o->open_end && c->port->kind == BUS_STREAM) {
        tb_stream_finish(&c->stream);
        take(c, c->stream.wrong, c->stream.text);
    }
    const bool whole = fclose(c->lines) == 0;
    c->lines = NULL;
    if (!whole) {
        return NO_MEMORY;
    }
    (o->json ? print_json : print_text)(c);
    c->run->count[TB_AXI_SEV_ERROR] += c->errors;
    c->run->idle += moved(c) == 0 ? 1 : 0;
    c->run->checked++;
    return 0;
}

static int prepare(bus_check *c, const tb_axi_wave_port *port) {
    const axi_check_options *o = c->run->o;
    const tb_wave_signal **found[] = {&c->bus.clock, &c->bus.reset};
    char *const path[] = {c->clock, c->reset};
    char err[1024];
    if (tb_axi_wave_clock(c->run->wave, port, o->clock, &c->bus, err, sizeof err) != 0 ||
        tb_axi_wave_reset(c->run->wave, port, o->reset, o->reset_level, &c->bus, err, sizeof err) != 0) {
        return axi_check_complain(c->run, "%s: %s", c->run->file, err);
    }
    for (unsigned i = 0; i < 2; i++) {
        const tb_wave_signal *s = *found[i];
        if (s != NULL) {
            snprintf(path[i], sizeof c->clock, "%.400s%s%.180s", s->scope, s->scope[0] != '\0' ? "." : "", s->name);
        }
    }
    snprintf(c->name, sizeof c->name, "%s", o->prefix != NULL && !o->all ? o->prefix : port->path);
    c->in_reset = c->bus.reset != NULL;
    if (tb_wave_period(c->run->wave, c->clock, &c->period, err, sizeof err) != 0) {
        return axi_check_complain(c->run, "%s", err);
    }
    return 0;
}

int bus_check_port(check_run *run, size_t index) {
    int status = NO_MEMORY;
    bus_check *c = (bus_check *)calloc(1, sizeof *c);
    if (c == NULL) {
        return status;
    }
    c->run = run;
    c->port = &run->others->port[index];
    c->hash = TB_HASH_INIT;
    c->lines = rep_memory(&c->text, &c->text_size);
    if (c->lines != NULL) {
        status = prepare(c, &run->others->name.port[index]);
    }
    if (status == 0) {
        status = NO_MEMORY;
        if (make_values(c)) {
            make_monitors(c);
            status = judge(c);
        }
    }
    if (c->lines != NULL) {
        fclose(c->lines);
    }
    for (unsigned i = 0; i < BUS_WORDS; i++) {
        free(c->value[i].ptr);
    }
    free(c->text);
    free(c);
    return status;
}
