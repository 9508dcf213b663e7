/*
 * axi_check_file.c - axi-check in the guarded child: find the ports, sample and check them. Nothing is printed before
 * the whole file was read.
 */
#include "bus_check.h"
#include "report/report.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STOP = 1, NO_MEMORY = -1 };

/* ---- samples ---- */

/* At the first edge, which shows where the file begins. 0, or -1: no monitor. */
static int begin(check *c) {
    const axi_check_options *o = c->o;
    uint64_t first;
    uint64_t last;
    int exponent;
    tb_wave_times(c->run->wave, &first, &last, &exponent);
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
                          .from = o->from,
                          .report = axi_check_report,
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
    if (s->cycle < c->o->from) {
        c->before = c->mon->progress;
    } else {
        c->edges++;
        c->out_of_reset += s->reset_n && (s->x & TB_AXI_X(TB_AXI_ARESETN)) == 0 ? 1 : 0;
    }
    return c->mon->oom ? STOP : 0;
}

/* ---- a port ---- */

static void full_path(const tb_wave_signal *s, char *dst, size_t size) {
    snprintf(dst, size, "%.400s%s%.180s", s->scope, s->scope[0] != '\0' ? "." : "", s->name);
}

/* Clock, reset and name of a port that is bound. 0, or the exit status. */
static int prepare(check *c) {
    const axi_check_options *o = c->o;
    char err[1024];
    char path[256];
    if (tb_axi_wave_clock(c->run->wave, c->port, o->clock, &c->bus, err, sizeof err) != 0 ||
        tb_axi_wave_reset(c->run->wave, c->port, o->reset, o->reset_level, &c->bus, err, sizeof err) != 0) {
        return axi_check_complain(c->run, "%s: %s", c->run->file, err);
    }
    full_path(c->bus.clock, c->clock, sizeof c->clock);
    if (c->bus.reset != NULL) {
        full_path(c->bus.reset, c->reset, sizeof c->reset);
    }
    tb_axi_wave_port_name(c->port, path, sizeof path);
    snprintf(c->name, sizeof c->name, "%s",
             o->all                     ? path
             : o->prefix != NULL        ? o->prefix
             : c->port->path[0] != '\0' ? c->port->path
                                        : "axi");
    for (char *p = c->name; *p != '\0'; p++) {
        *p = *p == '"' || *p == '\\' || (unsigned char)*p <= ' ' ? '_' : *p;
    }
    if (tb_wave_period(c->run->wave, c->clock, &c->period, err, sizeof err) != 0) {
        return axi_check_complain(c->run, "%s", err);
    }
    return 0;
}

/* Could anything be checked? 0, or the exit status. */
static int enough(check *c) {
    if ((c->made && c->mon->oom) || (c->seen.edges > 0 && !c->made && !c->bad_width)) {
        return NO_MEMORY;
    }
    if (c->seen.edges == 0) {
        return axi_check_complain(c->run, "%s: clock %s never rises", c->run->file, c->clock);
    }
    if (!c->bad_width && c->edges == 0) {
        return axi_check_complain(c->run, "%s: no cycle between --from and --to; the file has %" PRIu64 "..%" PRIu64,
                                  c->run->file, c->base, c->base + c->seen.edges - 1);
    }
    if (!c->bad_width && c->out_of_reset == 0) {
        return axi_check_complain(
            c->run, "%s: always in reset, so nothing can be judged: reset %s active %s (--reset, --reset-level)",
            c->run->file, c->reset, c->bus.reset_high ? "high" : "low");
    }
    return 0;
}

static int judge(check *c) {
    const axi_check_options *o = c->o;
    char err[512];
    const int rc = tb_axi_wave_samples(c->run->wave, &c->bus, edge, c, &c->seen, err, sizeof err);
    if (rc < 0) {
        return axi_check_complain(c->run, "%s", err);
    }
    const int status = enough(c);
    if (status != 0) {
        return status;
    }
    if (c->made && rc == 0 && !o->have_to && !o->open_end && !c->late) {
        tb_axi_mon_finish(c->mon, c->last + 1);
    }
    const bool whole = fclose(c->lines) == 0;
    c->lines = NULL;
    if (!whole) {
        return NO_MEMORY;
    }
    axi_check_print(c);
    for (unsigned i = 0; i <= TB_AXI_SEV_ERROR; i++) {
        c->run->count[i] += c->count[i];
    }
    c->run->idle += axi_check_idle(c) ? 1 : 0;
    c->run->checked++;
    return 0;
}

/* 0, the exit status of a port that cannot be checked, or NO_MEMORY. */
static int check_port(check_run *run, const tb_axi_wave_port *port, const tb_axi_wave_bus *bus) {
    int status = NO_MEMORY;
    check *c = (check *)calloc(1, sizeof *c);
    if (c == NULL) {
        return status;
    }
    *c = (check){.run = run, .o = run->o, .port = port, .bus = *bus};
    c->lines = rep_memory(&c->text, &c->text_size);
    c->mon = (tb_axi_monitor *)calloc(1, sizeof *c->mon);
    if (c->lines != NULL && c->mon != NULL) {
        status = prepare(c);
        status = status == 0 ? judge(c) : status;
    }
    if (c->lines != NULL) {
        fclose(c->lines);
    }
    if (c->made) {
        tb_axi_mon_free(c->mon);
    }
    free(c->mon);
    free(c->text);
    free(c);
    return status;
}

/* ---- the ports ---- */

/* The members of packed structs are not in every recording. */
static const char *struct_hint(const check_run *run, char *text, size_t size) {
    const tb_wave_signal *s = tb_axi_wave_struct(run->wave);
    text[0] = '\0';
    if (s != NULL) {
        snprintf(text, size,
                 "; %.200s of %u bits may be a struct, whose members Verilator records with --trace-structs", s->name,
                 s->width);
    }
    return text;
}

/* Streams and APB are for who says nothing of AXI. */
static bool wants_others(const check_run *run) {
    return run->others->name.count > 0 && run->o->protocol == TB_AXI_WAVE_FIND && run->o->side == TB_AXI_SIDE_ANY;
}

/* A stream or an APB port is meant, as no AXI port is: its status, or 1: it is not. */
static int check_other(check_run *run) {
    const struct bus_ports *others = run->others;
    const axi_check_options *o = run->o;
    char err[1024];
    const bool named = o->prefix != NULL && o->prefix[0] != '\0';
    const tb_axi_wave_port *port = others->name.port;
    if (!wants_others(run) || (!named && run->ports.count > 0)) {
        return 1;
    }
    if (named) {
        port = tb_axi_wave_ports_get(&others->name, o->prefix, o->side, run->file, err, sizeof err);
        if (port == NULL) {
            return strstr(err, "no AXI port") != NULL ? 1 : axi_check_complain(run, "%s", err);
        }
    } else if (others->name.count > 1) {
        return axi_check_complain(run, "%s: %zu ports, expected --prefix for one of them (--list), or --all", run->file,
                                  others->name.count);
    }
    return bus_check_port(run, (size_t)(port - others->name.port));
}

static int check_one(check_run *run) {
    const axi_check_options *o = run->o;
    char err[1024];
    char hint[320];
    tb_axi_wave_bus bus;
    const tb_axi_wave_port *port = tb_axi_wave_ports_get(&run->ports, o->prefix, o->side, run->file, err, sizeof err);
    if (port == NULL) {
        const int other = run->ports.count == 0 || strstr(err, "no AXI port") != NULL ? check_other(run) : 1;
        if (other != 1) {
            return other;
        }
        const bool several = run->ports.count > 0 && strstr(err, "no AXI port") == NULL;
        return axi_check_complain(run, "%s%s", err, several ? "" : struct_hint(run, hint, sizeof hint));
    }
    if (tb_axi_wave_bind(port, o->protocol, &bus, err, sizeof err) != 0) {
        return axi_check_complain(run, "%s: %s", run->file, err);
    }
    return check_port(run, port, &bus);
}

/* Ports that are not whole only look like one (a register that is called awvalid): they are named, and no more. */
static int check_all(check_run *run) {
    const axi_check_options *o = run->o;
    char err[1024];
    tb_axi_wave_bus bus;
    if (o->json) {
        fputs("{\n\"ports\": [", run->out);
    }
    for (size_t i = 0; i < run->ports.count; i++) {
        const tb_axi_wave_port *p = &run->ports.port[i];
        if (tb_axi_wave_bind(p, TB_AXI_WAVE_FIND, &bus, err, sizeof err) != 0) {
            axi_check_complain(run, "%s: %s: left out", run->file, err);
            run->left_out++;
            continue;
        }
        const bool bad = tb_axi_wave_bind(p, o->protocol, &bus, err, sizeof err) != 0;
        const int status = bad ? axi_check_complain(run, "%s: %s", run->file, err) : check_port(run, p, &bus);
        if (status == NO_MEMORY) {
            return status;
        }
        run->failed |= status != 0;
    }
    for (size_t i = 0; wants_others(run) && i < run->others->name.count; i++) {
        const int status = bus_check_port(run, i);
        if (status == NO_MEMORY) {
            return status;
        }
        run->failed |= status != 0;
    }
    const uint64_t *n = run->count;
    if (o->json) {
        fprintf(run->out, "],\n\"errors\": %" PRIu64 ",\n\"warnings\": %" PRIu64 ",\n\"notes\": %" PRIu64 "\n}\n",
                n[TB_AXI_SEV_ERROR], n[TB_AXI_SEV_WARNING], n[TB_AXI_SEV_NOTE]);
    } else if (run->checked > 0) {
        fprintf(run->said,
                "%u port%s checked, %u left out, %u without a transaction: %" PRIu64 " error%s, %" PRIu64
                " warning%s\n",
                run->checked, run->checked == 1 ? "" : "s", run->left_out, run->idle, n[TB_AXI_SEV_ERROR],
                n[TB_AXI_SEV_ERROR] == 1 ? "" : "s", n[TB_AXI_SEV_WARNING], n[TB_AXI_SEV_WARNING] == 1 ? "" : "s");
    }
    return run->checked == 0 ? 2 : 0;
}

/* ---- main ---- */

static int work(check_run *run) {
    const axi_check_options *o = run->o;
    char err[512];
    char hint[320];
    run->wave = tb_wave_open(o->file, err, sizeof err);
    if (run->wave == NULL) {
        return axi_check_complain(run, "%s", err);
    }
    if (tb_axi_wave_ports_find(run->wave, &run->ports) != 0 || bus_ports_find(run->wave, run->others) != 0) {
        return NO_MEMORY;
    }
    if (run->ports.count == 0 && !wants_others(run) && (o->list || o->all)) {
        return axi_check_complain(run, "%s: no AXI port: no signal awvalid or arvalid, whatever the prefix%s",
                                  run->file, struct_hint(run, hint, sizeof hint));
    }
    return o->list ? axi_check_list(run) : o->all ? check_all(run) : check_one(run);
}

/* Print what was collected. The exit status. */
static int finish(check_run *run, int status) {
    const bool idle = run->o->expect_traffic && run->idle > 0;
    const bool whole = fclose(run->out) == 0;
    const bool said = fclose(run->said) == 0;
    if (status == NO_MEMORY || !whole || !said) {
        return opt_bad(run->o->prog, "out of memory");
    }
    status = status != 0 ? status : run->count[TB_AXI_SEV_ERROR] > 0 || idle ? 1 : run->failed ? 2 : 0;
    if (status != 2 || run->o->all) {
        fwrite(run->out_text, 1, run->out_size, stdout);
    }
    /* now, so that the summary comes last even if both go to the same file */
    if (!rep_flush()) {
        return 1;
    }
    if (!run->o->json || status == 2 || run->left_out > 0 || run->failed) {
        fwrite(run->said_text, 1, run->said_size, stderr);
    }
    return status;
}

int axi_check_file(void *ctx) {
    const axi_check_options *o = (const axi_check_options *)ctx;
    struct bus_ports others = {.port = NULL};
    check_run run = {.o = o, .others = &others, .file = strcmp(o->file, "-") == 0 ? "standard input" : o->file};
    run.out = rep_memory(&run.out_text, &run.out_size);
    run.said = rep_memory(&run.said_text, &run.said_size);
    if (run.out == NULL || run.said == NULL) {
        return opt_bad(run.o->prog, "out of memory");
    }
    const int status = finish(&run, work(&run));
    free(run.out_text);
    free(run.said_text);
    tb_axi_wave_ports_free(&run.ports);
    bus_ports_free(&others);
    tb_wave_close(run.wave);
    return status;
}
