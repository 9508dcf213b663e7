/* axi_check.c - the command axi-check: the rules of AXI4 and AXI4-Lite on a port in a waveform file. Options. */
#include "axi_check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../case/kv.h"
#include "options.h"
#include "opt/opt.h"

#define MEMORY_MIB 4096u
#define LINES 100u
#define SECONDS 10u         /* of CPU time, for any file */
#define SECONDS_PER_MIB 20u /* a packed file holds many times its size */

static const char head_text[] = "axi-check FILE [--prefix P] [options]\n\n"
                                "The rules of AXI4, AXI4-Lite, AXI4-Stream or APB on a port in a waveform file (FST\n"
                                "or VCD, of any design; also packed with gzip; -: standard input). One line for each\n"
                                "violation. docs/axi-check.md\n\n"
                                "options:\n";

static int take_severity(void *to, const char *text, char *err, size_t err_size) {
    axi_check_options *o = (axi_check_options *)to;
    char name[64];
    const char *equal = strchr(text, '=');
    const size_t len = equal != NULL ? (size_t)(equal - text) : 0;
    if (len == 0 || len >= sizeof name) {
        return opt_fail(err, err_size, "expected RULE=off, note, warning or error, got %.60s", text);
    }
    memcpy(name, text, len);
    name[len] = '\0';
    const tb_axi_rule rule = tb_axi_rule_find(name);
    const tb_axi_severity severity = tb_axi_severity_find(equal + 1);
    if (rule == TB_AXI_RULES) {
        return opt_fail(err, err_size, "unknown rule %s (docs/axi-rules.md lists all rules)", name);
    }
    if (severity == TB_AXI_SEV_DEFAULT) {
        return opt_fail(err, err_size, "%s: expected off, note, warning or error, got %.60s", name, equal + 1);
    }
    o->severity[rule] = (uint8_t)severity;
    return 0;
}

static int take_range(axi_check_options *o, const char *text, char *err, size_t err_size) {
    char base[32];
    const char *colon = strchr(text, ':');
    const size_t len = colon != NULL ? (size_t)(colon - text) : 0;
    tb_axi_range *r = &o->range[o->ranges];
    if (o->ranges == AXI_CHECK_RANGES) {
        return opt_fail(err, err_size, "range=%.60s: at most %u ranges", text, AXI_CHECK_RANGES);
    }
    snprintf(base, sizeof base, "%.*s", (int)(len < sizeof base ? len : 0), text);
    if (!opt_number(base, 0, UINT64_MAX, &r->base) || !opt_number(colon + 1, 0, UINT64_MAX, &r->bytes) ||
        r->bytes == 0) {
        return opt_fail(err, err_size, "range=%.60s: expected BASE:BYTES", text);
    }
    o->ranges++;
    return 0;
}

static int take_project(void *to, const char *text, char *err, size_t err_size) {
    axi_check_options *o = (axi_check_options *)to;
    char names[512];
    tb_axi_project scratch = {.on = false};
    const size_t len = strcspn(text, "=");
    const char *number = text[len] == '=' ? text + len + 1 : NULL;
    if (o->projects == AXI_CHECK_PROJECT) {
        return opt_fail(err, err_size, "given more than %u times", AXI_CHECK_PROJECT);
    }
    char *name = o->project[o->projects].name;
    uint64_t *value = &o->project[o->projects].value;
    snprintf(name, sizeof o->project[0].name, "%.*s", (int)(len < sizeof o->project[0].name ? len : 0), text);
    if (strcmp(name, "range") == 0 && number != NULL) {
        return take_range(o, number, err, err_size);
    }
    const tb_axi_project_kind kind = tb_axi_project_kind_of(name);
    if (kind == TB_AXI_PROJECT_UNKNOWN) {
        tb_axi_project_names(names, sizeof names);
        return opt_fail(err, err_size, "unknown rule %.60s, expected one of %s, range=BASE:BYTES", text, names);
    }
    if ((kind == TB_AXI_PROJECT_NUMBER) != (number != NULL) ||
        (number != NULL && !opt_number(number, 0, UINT64_MAX, value)) || !tb_axi_project_set(&scratch, name, *value)) {
        return opt_fail(err, err_size, "%s: expected %s, got %.60s", name,
                        kind == TB_AXI_PROJECT_NUMBER ? "NAME=N" : "no number", text);
    }
    o->projects++;
    return 0;
}

static int take_file(void *ctx, const char *word, char *err, size_t err_size) {
    axi_check_options *o = (axi_check_options *)ctx;
    if (o->file != NULL) {
        return opt_fail(err, err_size, "axi-check: unexpected argument %.60s", word);
    }
    o->file = word;
    return 0;
}

/* Options that exclude each other, or a missing file: the exit status; else 0. */
static int contradiction(const axi_check_options *o) {
    if (o->have_to && o->to < o->from) {
        return opt_bad(o->prog, "--to %" PRIu64 ": expected a cycle that is not before --from", o->to);
    }
    if (o->running && o->at_rest) {
        return opt_bad(o->prog, "--at-rest: contradicts --running");
    }
    if (o->all && (o->prefix != NULL || o->list)) {
        return opt_bad(o->prog, "--all: contradicts %s", o->list ? "--list" : "--prefix");
    }
    return o->file != NULL ? 0 : opt_bad(o->prog, "axi-check: expected a waveform file");
}

static void print_help(const axi_check_options *o, const opt_line *line) {
    printf("usage: %s %s", o->prog, head_text);
    opt_help(stdout, line);
    fputs("\nExit status: 0 no violation (also where there was no transaction, which is said), 1 violations,\n"
          "2 bad input, 3 refused by the machine.\n",
          stdout);
}

/* 0, or the exit status; -1: the help was requested, and printed. */
static int parse(axi_check_options *o, const tb_prog *prog, int argc, char **argv) {
    static const char *const sides[] = {"master", "slave", NULL};
    static const char *const levels[] = {"0", "1", NULL};
    char err[700];
    int side = -1, protocol = (int)o->protocol;
    bool project_rules = false;
    const opt_row rows[] = {
        OPT(TEXT, "--prefix", "P",
            "the port: scope, beginning of its signals' names, or both\n(m_axi, top.dut.m_axi_); not needed where "
            "there is one",
            &o->prefix),
        OPT(FLAG, "--all", NULL, "every port of the file, one after the other", &o->all),
        OPT(FLAG, "--list", NULL, "only list the ports of the file", &o->list),
        OPT(WORD, "--side", "S", "master or slave, where signals of both have one prefix", &side, .words = sides),
        OPT(SET, "--lite", NULL, "the protocol: AXI4-Lite,", &protocol, .lo = TB_AXI_WAVE_LITE),
        OPT(SET, "--axi4", NULL, "AXI4 (AXI4-Lite: no signal that it does not have)", &protocol,
            .lo = TB_AXI_WAVE_AXI4),
        OPT(TEXT, "--clock", "NAME", "full path, or name beside the port (aclk, clk, clock ...)", &o->clock),
        OPT(TEXT, "--reset", "NAME", "the same (aresetn, rst_n, areset ...)", &o->reset),
        OPT(WORD, "--reset-level", "L", "0 or 1: the level that resets (by its name)", &o->reset_level,
            .words = levels),
        OPT(U64, "--from", "C", "check cycles from this one on,", &o->from),
        OPT(U64, "--to", "C", "up to this one", &o->to, .given = &o->have_to),
        OPT(FLAG, "--running", NULL, "the file begins in the middle of traffic", &o->running),
        OPT(FLAG, "--at-rest", NULL, "it does not, although its first time is late", &o->at_rest),
        OPT(FLAG, "--open-end", NULL, "the recording was cut off: bursts in flight are no error", &o->open_end),
        OPT(FLAG, "--expect-traffic", NULL, "a port without a transaction is a failure (status 1)", &o->expect_traffic),
        OPT(FLAG, "--project-rules", NULL, "also the project rules of this program's design", &project_rules,
            .sets = prog->axi_rules != NULL ? 1 : 2),
        OPT(TAKE, "--project", "R[=N]",
            "one rule of your project, several times: incr_only,\nmax_reads=N, range=BASE:BYTES ... "
            "(docs/axi-check.md)",
            o, .take = take_project),
        OPT(TAKE, "--severity", "R=S", "rule R: off, note, warning or error; several times", o, .take = take_severity),
        OPT(U64, "--max-waits", "N", "recommended cycles from valid to ready (16)", &o->max_waits, .lo = 1,
            .hi = UINT32_MAX - 1),
        OPT(FLAG, "--strict", NULL, "data is stable on all lanes, used or not", &o->strict),
        OPT(FLAG, "--error-data-x", NULL, "RDATA may be X beside an error response", &o->error_data_x),
        OPT(FLAG, "--notes", NULL, "lines for recommendations, too; they never fail a run", &o->notes),
        OPT(U64, "--max", "N", "print at most N lines (100)", &o->max),
        OPT(FLAG, "--stats", NULL, "statistics of the port as a table", &o->stats),
        OPT(FLAG, "--json", NULL, "everything as one JSON object", &o->json),
    };
    const opt_group group = OPT_GROUP(NULL, rows);
    opt_line line = {.group = &group, .groups = 1, .set = 1, .command = "axi-check", .word = take_file, .ctx = o};
    if (opt_parse(&line, argc - 2, argv + 2, err, sizeof err) != 0) {
        return opt_bad(o->prog, "%s", err);
    }
    if (line.help) {
        print_help(o, &line);
        return -1;
    }
    o->side = side == 0 ? TB_AXI_SIDE_MASTER : side == 1 ? TB_AXI_SIDE_SLAVE : o->side;
    o->protocol = (tb_axi_wave_protocol)protocol;
    o->project_rules = project_rules ? prog->axi_rules : NULL;
    return contradiction(o);
}

int tb_prog_axi_check(const tb_prog *prog, int argc, char **argv) {
    char err[512];
    axi_check_options o = {.prog = argv[0], .reset_level = -1, .max = LINES, .max_waits = 16, .to = UINT64_MAX};
    const int status = parse(&o, prog, argc, argv);
    if (status != 0) {
        return status < 0 ? 0 : status;
    }
    if (strcmp(o.file, "-") == 0 && tb_wave_stdin(err, sizeof err) != 0) {
        return opt_bad(o.prog, "%s", err);
    }
    const uint64_t mib = tb_wave_size(o.file) >> 20;
    const unsigned seconds = SECONDS + (unsigned)(mib < 4096 ? mib : 4096) * SECONDS_PER_MIB;
    const int done = tb_wave_guard(o.file, axi_check_file, &o, seconds, MEMORY_MIB, err, sizeof err);
    return done >= 0 ? done : opt_bad(o.prog, "%s", err);
}
