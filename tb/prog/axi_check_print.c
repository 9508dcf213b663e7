/*
 * axi_check_print.c - axi-check: lines of violations, the rules and the summary of a port, the JSON, the list of ports.
 */
#include "bus_check.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const plural[] = {"s", ""};

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

void axi_check_report(void *ctx, const tb_axi_monitor *mon, const tb_axi_violation *v) {
    check *c = (check *)ctx;
    (void)mon;
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

/* ---- the rules ---- */

/* The broken rules, the one that was broken first at the top. Their number. */
static unsigned broken_rules(const tb_axi_monitor *mon, tb_axi_rule order[TB_AXI_RULES]) {
    unsigned n = 0;
    for (unsigned i = 0; i < TB_AXI_RULES; i++) {
        unsigned at = n;
        if (mon->per_rule[i] == 0) {
            continue;
        }
        for (; at > 0 && mon->first_cycle[order[at - 1]] > mon->first_cycle[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = (tb_axi_rule)i;
        n++;
    }
    return n;
}

static void say_rules(const check *c) {
    tb_axi_rule order[TB_AXI_RULES];
    const unsigned n = broken_rules(c->mon, order);
    for (unsigned i = 0; i < n; i++) {
        const uint64_t times = c->mon->per_rule[order[i]];
        fprintf(c->run->said, "%s: %s %" PRIu64 " time%s, %s, first in cycle %" PRIu64 "\n", c->name,
                tb_axi_rule_name(order[i]), times, plural[times == 1],
                tb_axi_severity_name(tb_axi_mon_severity(c->mon, order[i])), c->mon->first_cycle[order[i]]);
    }
}

static void json_rules(const check *c, FILE *out) {
    tb_axi_rule order[TB_AXI_RULES];
    const unsigned n = broken_rules(c->mon, order);
    fputs("  \"rules\": [", out);
    for (unsigned i = 0; i < n; i++) {
        fprintf(
            out,
            "%s\n    {\"rule\": \"%s\", \"severity\": \"%s\", \"count\": %" PRIu64 ", \"first_cycle\": %" PRIu64 "}",
            i > 0 ? "," : "", tb_axi_rule_name(order[i]), tb_axi_severity_name(tb_axi_mon_severity(c->mon, order[i])),
            c->mon->per_rule[order[i]], c->mon->first_cycle[order[i]]);
    }
    fprintf(out, "%s],\n", n > 0 ? "\n  " : "");
}

/* ---- summary ---- */

void axi_check_kind(const tb_axi_wave_bus *bus, char *dst, size_t size) {
    snprintf(dst, size, "%s, %u bits%s", bus->lite ? "AXI4-Lite" : "AXI4", 8 * bus->bytes,
             bus->writes && bus->reads ? ""
             : bus->writes             ? ", write only"
                                       : ", read only");
}

bool axi_check_idle(const check *c) {
    return c->made && c->mon->progress == c->before;
}

/* What may be behind it, where that is not plain from the rules themselves. */
static void say_hints(const check *c) {
    FILE *out = c->run->said;
    const uint64_t *n = c->mon->per_rule;
    if (n[AXI4_ERRS_BRESP_ALL_DONE_EOS] + n[AXI4_ERRS_RLAST_ALL_DONE_EOS] > 0) {
        fputs("; bursts are in flight at the end: --open-end, if the recording was cut off", out);
    }
    if (n[AXI4_ERRS_BRESP_AW] + n[AXI4_ERRS_RID] > 0 && !c->seen.reset_before && !c->late && !c->o->at_rest) {
        fputs("; there is no reset before the first edge: --running, if the recording begins in the middle of traffic",
              out);
    }
}

/* No handshake: is anybody waiting for one? */
static void say_idle(const check *c) {
    FILE *out = c->run->said;
    fputs("no transaction (nothing moved on the port)", out);
    for (unsigned ch = 0; ch < TB_AXI_CHANNELS; ch++) {
        if ((c->mon->stalled >> ch & 1u) != 0) {
            const char *name = tb_axi_channel_name((tb_axi_channel)ch);
            fprintf(out, "; %sVALID has waited for %sREADY since cycle %" PRIu64, name, name,
                    c->mon->stalled_since[ch]);
        }
    }
}

static uint64_t bursts(const check *c, bool write) {
    return c->made ? c->mon->number[write] : 0;
}

static void say_summary(const check *c) {
    char kind[64];
    FILE *out = c->run->said;
    const uint64_t *n = c->count;
    const bool broken = n[TB_AXI_SEV_ERROR] + n[TB_AXI_SEV_WARNING] > 0;
    axi_check_kind(&c->bus, kind, sizeof kind);
    fprintf(out, "%s: %s, cycles %" PRIu64 "..%" PRIu64 ", clock %s, ", c->name, kind,
            c->base > c->o->from ? c->base : c->o->from, c->last, c->clock);
    if (c->bus.reset != NULL) {
        fprintf(out, "reset %s active %s", c->reset, c->bus.reset_high ? "high" : "low");
    } else {
        fputs("no reset in the file (never in reset)", out);
    }
    fprintf(out, "%s; %" PRIu64 " write%s, %" PRIu64 " read%s; ", c->late ? ", begins in the middle of traffic" : "",
            bursts(c, true), plural[bursts(c, true) == 1], bursts(c, false), plural[bursts(c, false) == 1]);
    if (broken) {
        fprintf(out, "%" PRIu64 " error%s, %" PRIu64 " warning%s%s", n[TB_AXI_SEV_ERROR],
                plural[n[TB_AXI_SEV_ERROR] == 1], n[TB_AXI_SEV_WARNING], plural[n[TB_AXI_SEV_WARNING] == 1],
                axi_check_idle(c) ? ", " : "");
    }
    if (axi_check_idle(c)) {
        say_idle(c);
    } else if (!broken) {
        fputs("clean", out);
    }
    if (n[TB_AXI_SEV_NOTE] > 0) {
        fprintf(out, ", %" PRIu64 " note%s%s", n[TB_AXI_SEV_NOTE], plural[n[TB_AXI_SEV_NOTE] == 1],
                c->o->notes ? "" : " (--notes)");
    }
    if (c->hidden > 0) {
        fprintf(out, ", %" PRIu64 " more not printed (--max)", c->hidden);
    }
    if (c->port->second != NULL) {
        fprintf(out, "; two signals for one place, left out: %.200s", c->port->second->name);
    }
    say_hints(c);
    fputc('\n', out);
}

/* ---- JSON ---- */

static void json_path(FILE *out, const char *key, const char *text, bool there) {
    fprintf(out, "  \"%s\": ", key);
    if (there) {
        rep_json(out, text);
    } else {
        fputs("null", out);
    }
    fputs(",\n", out);
}

static void print_json(const check *c) {
    char path[256];
    FILE *out = c->run->out;
    tb_axi_wave_port_name(c->port, path, sizeof path);
    fputs(c->o->all && c->run->checked > 0 ? ",\n{\n" : "{\n", out);
    json_path(out, "file", c->o->file, true);
    json_path(out, "port", c->name, true);
    json_path(out, "path", path, true);
    json_path(out, "clock", c->clock, true);
    json_path(out, "reset", c->reset, c->bus.reset != NULL);
    fprintf(out, "  \"reset_level\": %s,\n", c->bus.reset == NULL ? "null" : c->bus.reset_high ? "1" : "0");
    fprintf(out, "  \"protocol\": \"%s\",\n  \"data_bits\": %u,\n  \"id_bits\": %u,\n",
            c->bus.lite ? "AXI4-Lite" : "AXI4", 8 * c->bus.bytes, c->bus.widths.id);
    fprintf(out, "  \"first_cycle\": %" PRIu64 ",\n  \"last_cycle\": %" PRIu64 ",\n  \"running\": %s,\n", c->base,
            c->last, c->late ? "true" : "false");
    fprintf(out, "  \"handshakes\": %" PRIu64 ",\n", c->made ? c->mon->progress - c->before : 0);
    fprintf(out,
            "  \"writes\": %" PRIu64 ",\n  \"reads\": %" PRIu64 ",\n  \"errors\": %" PRIu64
            ",\n  \"warnings\": %" PRIu64 ",\n  \"notes\": %" PRIu64 ",\n  \"not_printed\": %" PRIu64 ",\n",
            bursts(c, true), bursts(c, false), c->count[TB_AXI_SEV_ERROR], c->count[TB_AXI_SEV_WARNING],
            c->count[TB_AXI_SEV_NOTE], c->hidden);
    json_rules(c, out);
    fputs("  \"violations\": [", out);
    fwrite(c->text, 1, c->text_size, out);
    fprintf(out, "%s],\n  \"stats\": ", c->printed > 0 ? "\n  " : "");
    if (c->made) {
        tb_axi_stats_json(c->mon, c->last + 1, out);
    } else {
        fputs("null", out);
    }
    fputs(c->o->all ? "\n}" : "\n}\n", out);
}

void axi_check_print(const check *c) {
    if (c->o->json) {
        print_json(c);
        return;
    }
    fwrite(c->text, 1, c->text_size, c->run->out);
    if (c->o->stats && c->made) {
        tb_axi_stats_print(c->mon, c->last + 1, c->run->out);
    }
    say_rules(c);
    say_summary(c);
}

/* ---- other lines ---- */

int axi_check_complain(check_run *run, const char *format, ...) {
    va_list args;
    fprintf(run->said, "%s: ", run->o->prog);
    va_start(args, format);
    vfprintf(run->said, format, args);
    va_end(args);
    fputc('\n', run->said);
    return 2;
}

int axi_check_list(check_run *run) {
    char name[256];
    char kind[64];
    char err[512];
    tb_axi_wave_bus bus;
    bool any = false;
    for (size_t i = 0; i < run->ports.count; i++) {
        const tb_axi_wave_port *p = &run->ports.port[i];
        if (tb_axi_wave_bind(p, TB_AXI_WAVE_FIND, &bus, err, sizeof err) != 0) {
            axi_check_complain(run, "%s: %s: not a whole port", run->file, err);
            continue;
        }
        tb_axi_wave_port_name(p, name, sizeof name);
        axi_check_kind(&bus, kind, sizeof kind);
        fprintf(run->out, "%s: %s\n", name, kind);
        any = true;
    }
    for (size_t i = 0; run->o->protocol == TB_AXI_WAVE_FIND && i < run->others->name.count; i++) {
        bus_kind_text(&run->others->port[i], kind, sizeof kind);
        fprintf(run->out, "%s: %s\n", run->others->name.port[i].path, kind);
        any = true;
    }
    return any ? 0 : 2;
}
