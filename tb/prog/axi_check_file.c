/*
 * axi_check_file.c - axi-check in the guarded child: find the port, sample and check it, print the result. Nothing is
 * printed before the whole file was read.
 */
#include "axi_check.h"
#include "report/report.h"
#include "opt/opt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STOP = 1 };

typedef struct check {
    const axi_check_options *o;
    tb_wave *wave;
    tb_axi_wave_ports ports;
    const tb_axi_wave_port *port;
    tb_axi_wave_bus bus;
    tb_axi_wave_seen seen;
    char name[256];              /* of the port, in lines */
    char clock[600], reset[600]; /* full paths */
    uint64_t period, base;       /* number of the first edge */
    tb_axi_monitor *mon;
    bool made, bad_width, late; /* late: the file begins in the middle of traffic */
    uint64_t time;              /* of this edge */
    uint64_t last, edges;       /* that were judged: cycle of the last one, number */
    uint64_t out_of_reset;
    uint64_t count[TB_AXI_SEV_ERROR + 1u];
    uint64_t printed, hidden;
    FILE *lines; /* collected output */
    char *text;
    size_t text_size;
} check;

/* ---- one violation ---- */

static void line_json(const check *c, const tb_axi_violation *v) {
    fprintf(c->lines,
            "%s\n    {\"rule\": \"%s\", \"severity\": \"%s\", \"cycle\": %" PRIu64 ", \"time\": %" PRIu64
            ", \"channel\": \"%s\"",
            c->printed > 0 ? "," : "", tb_axi_rule_name(v->rule), tb_axi_severity_name(v->severity), v->cycle, c->time,
            tb_axi_channel_name(v->channel));
    if (v->has_burst) {
        fprintf(c->lines,
                ", \"%s\": %" PRIu64 ", \"id\": %" PRIu64 ", \"addr\": \"0x%" PRIx64 "\", \"since\": %" PRIu64,
                v->write ? "write" : "read", v->number, v->id, v->addr, v->since);
    }
    if (v->beat > 0) {
        fprintf(c->lines, ", \"beat\": %u, \"beat_addr\": \"0x%" PRIx64 "\"", v->beat, v->beat_addr);
    }
    fputs(", \"text\": ", c->lines);
    rep_json(c->lines, v->text);
    fputs("}", c->lines);
}

static void line_text(const check *c, const tb_axi_violation *v) {
    fprintf(c->lines, "%s cycle=%" PRIu64 " port=%s time=%" PRIu64 " channel=%s", tb_axi_rule_name(v->rule), v->cycle,
            c->name, c->time, tb_axi_channel_name(v->channel));
    if (v->severity != TB_AXI_SEV_ERROR) {
        fprintf(c->lines, " severity=%s", tb_axi_severity_name(v->severity));
    }
    if (v->has_burst) {
        fprintf(c->lines, " %s=%" PRIu64, v->write ? "write" : "read", v->number);
        if (c->bus.widths.id > 0 && !c->bus.lite) {
            fprintf(c->lines, " id=%" PRIu64, v->id);
        }
        fprintf(c->lines, " addr=0x%" PRIx64 " since=%" PRIu64, v->addr, v->since);
    }
    if (v->beat > 0 && !c->bus.lite) {
        fprintf(c->lines, " beat=%u beat_addr=0x%" PRIx64, v->beat, v->beat_addr);
    }
    fprintf(c->lines, ": %s\n", v->text);
}

static void report(void *ctx, const tb_axi_monitor *mon, const tb_axi_violation *v) {
    check *c = (check *)ctx;
    (void)mon;
    if (v->cycle < c->o->from) {
        return;
    }
    c->count[v->severity]++;
    if (v->severity == TB_AXI_SEV_NOTE && !c->o->notes) {
        return;
    }
    if (c->printed == c->o->max) {
        c->hidden++;
        return;
    }
    (c->o->json ? line_json : line_text)(c, v);
    c->printed++;
}

/* ---- samples ---- */

/* At the first edge, which shows where the file begins. 0, or -1: no monitor. */
static int begin(check *c) {
    const axi_check_options *o = c->o;
    uint64_t first;
    uint64_t last;
    int exponent;
    tb_wave_times(c->wave, &first, &last, &exponent);
    /* the values just before the edge belong to the cycle that ends with it */
    c->base = c->period > 0 ? (c->time - 1) / c->period : 0;
    c->late = !c->seen.reset_before && (o->running || (!o->at_rest && c->period > 0 && first > 2 * c->period));
    tb_axi_mon_cfg cfg = {.name = c->name,
                          .lite = c->bus.lite,
                          .bytes = c->bus.bytes,
                          .widths = c->bus.widths,
                          .max_waits = (uint32_t)o->max_waits,
                          .strict_data = o->strict,
                          .error_data_x = o->error_data_x,
                          .running = c->late,
                          .report = report,
                          .report_ctx = c};
    memcpy(cfg.severity, o->severity, sizeof cfg.severity);
    if (o->project_rules != NULL) {
        o->project_rules(&cfg);
    }
    for (uint32_t i = 0; i < o->projects; i++) {
        tb_axi_project_set(&cfg.proj, o->project[i].name, o->project[i].value);
    }
    if (o->ranges > 0) {
        cfg.proj.on = true;
        cfg.proj.ranges = o->range;
        cfg.proj.range_count = o->ranges;
    }
    if (tb_axi_mon_init(c->mon, &cfg) != 0) {
        c->bad_width = c->count[TB_AXI_SEV_ERROR] > 0;
        return -1;
    }
    c->made = true;
    /* the reset may already be over; without one it is unknown which edge is the first one after it */
    if (c->seen.reset_before) {
        tb_axi_mon_reset(c->mon);
    }
    return 0;
}

static int edge(void *ctx, tb_axi_sample *s, uint64_t time) {
    check *c = (check *)ctx;
    c->time = time;
    if (s->cycle == 0 && begin(c) != 0) {
        return STOP;
    }
    s->cycle += c->base;
    if (s->cycle > c->o->to) {
        return STOP;
    }
    tb_axi_mon_step(c->mon, s);
    c->last = s->cycle;
    c->edges += s->cycle >= c->o->from ? 1 : 0;
    c->out_of_reset += s->cycle >= c->o->from && s->reset_n && (s->x & TB_AXI_X(TB_AXI_ARESETN)) == 0 ? 1 : 0;
    return c->mon->oom ? STOP : 0;
}

/* ---- summary ---- */

static void full_path(const tb_wave_signal *s, char *dst, size_t size) {
    snprintf(dst, size, "%.400s%s%.180s", s->scope, s->scope[0] != '\0' ? "." : "", s->name);
}

static uint64_t bursts(const check *c, bool write) {
    return c->made ? c->mon->number[write] : 0;
}

static void print_summary(const check *c) {
    static const char *const plural[] = {"s", ""};
    const uint64_t *n = c->count;
    fprintf(stderr, "%s: %s, %u bits%s, cycles %" PRIu64 "..%" PRIu64 ", clock %s, ", c->name,
            c->bus.lite ? "AXI4-Lite" : "AXI4", 8 * c->bus.bytes,
            c->bus.writes && c->bus.reads ? ""
            : c->bus.writes               ? ", write only"
                                          : ", read only",
            c->base > c->o->from ? c->base : c->o->from, c->last, c->clock);
    if (c->bus.reset != NULL) {
        fprintf(stderr, "reset %s active %s", c->reset, c->bus.reset_high ? "high" : "low");
    } else {
        fputs("no reset in the file (never in reset)", stderr);
    }
    fprintf(stderr, "%s; %" PRIu64 " write%s, %" PRIu64 " read%s; ", c->late ? ", begins in the middle of traffic" : "",
            bursts(c, true), plural[bursts(c, true) == 1], bursts(c, false), plural[bursts(c, false) == 1]);
    if (n[TB_AXI_SEV_ERROR] == 0 && n[TB_AXI_SEV_WARNING] == 0) {
        fputs("clean", stderr);
    } else {
        fprintf(stderr, "%" PRIu64 " error%s, %" PRIu64 " warning%s", n[TB_AXI_SEV_ERROR],
                plural[n[TB_AXI_SEV_ERROR] == 1], n[TB_AXI_SEV_WARNING], plural[n[TB_AXI_SEV_WARNING] == 1]);
    }
    if (n[TB_AXI_SEV_NOTE] > 0) {
        fprintf(stderr, ", %" PRIu64 " note%s%s", n[TB_AXI_SEV_NOTE], plural[n[TB_AXI_SEV_NOTE] == 1],
                c->o->notes ? "" : " (--notes)");
    }
    if (c->hidden > 0) {
        fprintf(stderr, ", %" PRIu64 " more not printed (--max)", c->hidden);
    }
    if (c->port->second != NULL) {
        fprintf(stderr, "; two signals for one place, left out: %.200s", c->port->second->name);
    }
    fputc('\n', stderr);
}

static void json_path(const char *key, const char *text, bool there) {
    printf("  \"%s\": ", key);
    if (there) {
        rep_json(stdout, text);
    } else {
        fputs("null", stdout);
    }
    fputs(",\n", stdout);
}

static void print_json(const check *c) {
    char path[256];
    tb_axi_wave_port_name(c->port, path, sizeof path);
    fputs("{\n", stdout);
    json_path("file", c->o->file, true);
    json_path("port", c->name, true);
    json_path("path", path, true);
    json_path("clock", c->clock, true);
    json_path("reset", c->reset, c->bus.reset != NULL);
    printf("  \"reset_level\": %s,\n", c->bus.reset == NULL ? "null" : c->bus.reset_high ? "1" : "0");
    printf("  \"protocol\": \"%s\",\n  \"data_bits\": %u,\n  \"id_bits\": %u,\n", c->bus.lite ? "AXI4-Lite" : "AXI4",
           8 * c->bus.bytes, c->bus.widths.id);
    printf("  \"first_cycle\": %" PRIu64 ",\n  \"last_cycle\": %" PRIu64 ",\n  \"running\": %s,\n", c->base, c->last,
           c->late ? "true" : "false");
    printf("  \"writes\": %" PRIu64 ",\n  \"reads\": %" PRIu64 ",\n  \"errors\": %" PRIu64 ",\n  \"warnings\": %" PRIu64
           ",\n  \"notes\": %" PRIu64 ",\n  \"not_printed\": %" PRIu64 ",\n  \"violations\": [",
           bursts(c, true), bursts(c, false), c->count[TB_AXI_SEV_ERROR], c->count[TB_AXI_SEV_WARNING],
           c->count[TB_AXI_SEV_NOTE], c->hidden);
    fwrite(c->text, 1, c->text_size, stdout);
    printf("%s],\n  \"stats\": ", c->printed > 0 ? "\n  " : "");
    if (c->made) {
        tb_axi_stats_json(c->mon, c->last + 1, stdout);
    } else {
        fputs("null", stdout);
    }
    fputs("\n}\n", stdout);
}

/* The exit status. */
static int print_all(const check *c) {
    if (c->o->json) {
        print_json(c);
    } else {
        fwrite(c->text, 1, c->text_size, stdout);
        if (c->o->stats && c->made) {
            tb_axi_stats_print(c->mon, c->last + 1, stdout);
        }
    }
    /* now, so that the summary comes last even if both go to the same file */
    if (!rep_flush()) {
        return 1;
    }
    if (!c->o->json) {
        print_summary(c);
    }
    return c->count[TB_AXI_SEV_ERROR] > 0 ? 1 : 0;
}

static int print_list(const check *c) {
    char name[256];
    char err[512];
    tb_axi_wave_bus bus;
    for (size_t i = 0; i < c->ports.count; i++) {
        const tb_axi_wave_port *p = &c->ports.port[i];
        tb_axi_wave_port_name(p, name, sizeof name);
        if (tb_axi_wave_bind(p, c->o->protocol, &bus, err, sizeof err) != 0) {
            printf("%s\n", err);
        } else {
            printf("%s: %s, %u bits%s\n", name, bus.lite ? "AXI4-Lite" : "AXI4", 8 * bus.bytes,
                   bus.writes && bus.reads ? ""
                   : bus.writes            ? ", write only"
                                           : ", read only");
        }
    }
    return c->ports.count > 0
               ? 0
               : opt_bad(c->o->prog, "%s: no AXI port: no signal awvalid or arvalid, whatever the prefix", c->o->file);
}

/* ---- main ---- */

/* The port, its clock and reset. 0, or the exit status. */
static int find_port(check *c) {
    const axi_check_options *o = c->o;
    char err[1024];
    c->port = tb_axi_wave_ports_get(&c->ports, o->prefix, o->side, o->file, err, sizeof err);
    if (c->port == NULL) {
        return opt_bad(o->prog, "%s", err);
    }
    if (tb_axi_wave_bind(c->port, o->protocol, &c->bus, err, sizeof err) != 0 ||
        tb_axi_wave_clock(c->wave, c->port, o->clock, &c->bus, err, sizeof err) != 0 ||
        tb_axi_wave_reset(c->wave, c->port, o->reset, o->reset_level, &c->bus, err, sizeof err) != 0) {
        return opt_bad(o->prog, "%s: %s", o->file, err);
    }
    full_path(c->bus.clock, c->clock, sizeof c->clock);
    if (c->bus.reset != NULL) {
        full_path(c->bus.reset, c->reset, sizeof c->reset);
    }
    snprintf(c->name, sizeof c->name, "%s",
             o->prefix != NULL          ? o->prefix
             : c->port->path[0] != '\0' ? c->port->path
                                        : "axi");
    for (char *p = c->name; *p != '\0'; p++) {
        *p = *p == '"' || *p == '\\' || (unsigned char)*p <= ' ' ? '_' : *p;
    }
    if (tb_wave_period(c->wave, c->clock, &c->period, err, sizeof err) != 0) {
        return opt_bad(o->prog, "%s", err);
    }
    return 0;
}

static int judge(check *c) {
    const axi_check_options *o = c->o;
    char err[512];
    const int rc = tb_axi_wave_samples(c->wave, &c->bus, edge, c, &c->seen, err, sizeof err);
    if (rc < 0) {
        return opt_bad(o->prog, "%s", err);
    }
    if ((c->made && c->mon->oom) || (c->seen.edges > 0 && !c->made && !c->bad_width)) {
        return opt_bad(o->prog, "out of memory");
    }
    if (c->seen.edges == 0) {
        return opt_bad(o->prog, "%s: clock %s never rises", o->file, c->clock);
    }
    if (!c->bad_width && c->edges == 0) {
        return opt_bad(o->prog, "%s: no cycle between --from and --to; the file has %" PRIu64 "..%" PRIu64, o->file,
                       c->base, c->base + c->seen.edges - 1);
    }
    if (!c->bad_width && c->out_of_reset == 0) {
        return opt_bad(o->prog,
                       "%s: always in reset, so nothing can be judged: reset %s active %s (--reset, --reset-level)",
                       o->file, c->reset, c->bus.reset_high ? "high" : "low");
    }
    if (c->made && rc == 0 && !o->have_to && !o->open_end && !c->late) {
        tb_axi_mon_finish(c->mon, c->last + 1);
    }
    if (fclose(c->lines) != 0) {
        c->lines = NULL;
        return opt_bad(o->prog, "out of memory");
    }
    c->lines = NULL;
    return print_all(c);
}

static int work(check *c) {
    char err[512];
    c->wave = tb_wave_open(c->o->file, err, sizeof err);
    if (c->wave == NULL) {
        return opt_bad(c->o->prog, "%s", err);
    }
    c->lines = rep_memory(&c->text, &c->text_size);
    c->mon = (tb_axi_monitor *)calloc(1, sizeof *c->mon);
    if (c->lines == NULL || c->mon == NULL || tb_axi_wave_ports_find(c->wave, &c->ports) != 0) {
        return opt_bad(c->o->prog, "out of memory");
    }
    if (c->o->list) {
        return print_list(c);
    }
    const int status = find_port(c);
    return status != 0 ? status : judge(c);
}

int axi_check_file(void *ctx) {
    check c = {.o = (const axi_check_options *)ctx};
    const int status = work(&c);
    if (c.lines != NULL) {
        fclose(c.lines);
    }
    if (c.made) {
        tb_axi_mon_free(c.mon);
    }
    free(c.mon);
    free(c.text);
    tb_axi_wave_ports_free(&c.ports);
    tb_wave_close(c.wave);
    return status;
}
