/* Violations: record and text. */
#include "mon_priv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tb_axi_open axi_offered(const tb_axi_monitor *mon, const tb_axi_ax *ax, bool write, uint64_t cycle) {
    const uint64_t since =
        held(mon, write ? TB_AXI_AW : TB_AXI_AR) ? mon->stalled_since[write ? TB_AXI_AW : TB_AXI_AR] : cycle;
    return (tb_axi_open){.addr = ax->addr,
                         .id = ax->id,
                         .number = mon->number[write] + 1,
                         .since = since,
                         .len = mon->cfg.lite ? 0 : ax->len,
                         .size = ax->size,
                         .burst = ax->burst};
}

static void about(const tb_axi_monitor *mon, tb_axi_violation *v, const tb_axi_open *b, int beat) {
    v->has_burst = true;
    v->number = b->number;
    v->id = b->id;
    v->addr = b->addr;
    v->since = b->since;
    v->len = b->len;
    v->size = b->size;
    v->burst = b->burst;
    v->beat_addr = b->addr;
    if (beat >= 0) {
        unsigned lo;
        unsigned hi;
        const unsigned size = b->size > mon->size_max ? mon->size_max : b->size;
        v->beat = (uint16_t)(beat + 1);
        tb_axi_beat(b->addr, b->len, size, b->burst, (unsigned)beat, mon->cfg.bytes, &v->beat_addr, &lo, &hi);
    }
}

bool axi_off(const tb_axi_monitor *mon, tb_axi_rule rule) {
    return mon->cfg.severity[rule] == TB_AXI_SEV_OFF;
}

bool axi_bad(tb_axi_monitor *mon, tb_axi_rule rule, tb_axi_channel ch, uint64_t cycle, const tb_axi_open *b, int beat,
             const char *format, ...) {
    const tb_axi_severity severity = tb_axi_mon_severity(mon, rule);
    if (cycle < mon->cfg.from) {
        return false;
    }
    if (severity == TB_AXI_SEV_OFF) {
        return true;
    }
    const bool error = severity == TB_AXI_SEV_ERROR;
    const uint64_t before = error ? mon->violations++ : mon->notes++;
    mon->first_cycle[rule] = mon->per_rule[rule] == 0 ? cycle : mon->first_cycle[rule];
    mon->per_rule[rule]++;
    if (before >= TB_AXI_KEEP && mon->cfg.report == NULL) {
        return true;
    }
    tb_axi_violation v = {.rule = rule, .severity = severity, .channel = ch, .cycle = cycle, .write = ch < TB_AXI_AR};
    if (b != NULL) {
        about(mon, &v, b, beat);
    }
    va_list args;
    va_start(args, format);
    vsnprintf(v.text, sizeof v.text, format, args);
    va_end(args);
    if (before < TB_AXI_KEEP) {
        *(error ? &mon->first[before] : &mon->first_note[before]) = v;
    }
    if (mon->cfg.report != NULL) {
        mon->cfg.report(mon->cfg.report_ctx, mon, &v);
    }
    return true;
}

tb_axi_severity tb_axi_mon_severity(const tb_axi_monitor *mon, tb_axi_rule rule) {
    const tb_axi_severity own = (tb_axi_severity)mon->cfg.severity[rule];
    return own == TB_AXI_SEV_DEFAULT ? tb_axi_rule_severity(rule) : own;
}

void tb_axi_violation_text(const tb_axi_monitor *mon, const tb_axi_violation *v, char *dst, size_t size) {
    static const char *const types[] = {"FIXED", "INCR", "WRAP", "reserved"};
    char burst[160] = "";
    char beat[64] = "";
    if (v->has_burst && mon->cfg.lite) {
        snprintf(burst, sizeof burst, ", %s %" PRIu64 " at 0x%" PRIx64 " since cycle %" PRIu64,
                 v->write ? "write" : "read", v->number, v->addr, v->since);
    } else if (v->has_burst) {
        snprintf(burst, sizeof burst,
                 ", %s %" PRIu64 " of ID %" PRIu64 " at 0x%" PRIx64 ", %s %u x %u bytes since cycle %" PRIu64,
                 v->write ? "write" : "read", v->number, v->id, v->addr, types[v->burst & 3u], v->len + 1u,
                 1u << (v->size & 7u), v->since);
    }
    if (v->beat > 0 && !mon->cfg.lite) {
        snprintf(beat, sizeof beat, ", beat %u at 0x%" PRIx64, v->beat, v->beat_addr);
    }
    snprintf(dst, size, "%s on %s (%s) at cycle %" PRIu64 "%s%s: %s", tb_axi_rule_name(v->rule),
             mon->cfg.name != NULL ? mon->cfg.name : "the port", tb_axi_channel_name(v->channel), v->cycle, burst, beat,
             v->text);
}
