/* axi_check.c - `tandem axi-check`: the rules of AXI4 and AXI4-Lite on a port in a waveform file. Options and usage. */
#include "axi_check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

#define MEMORY_MIB 4096u
#define LINES 100u
#define SECONDS 10u         /* of CPU time, whatever the file */
#define SECONDS_PER_MIB 20u /* a packed file holds many times its size */

static void usage(FILE *out, const char *prog) {
    fprintf(out,
            "usage: %s axi-check FILE [--prefix P] [options]\n\n"
            "The rules of AXI4 and AXI4-Lite on a port in a waveform file (FST or VCD, of any\n"
            "design). One line for each violation. docs/axi-check.md\n\n"
            "options:\n"
            "  --prefix P      the port: scope, beginning of its signals' names, or both\n"
            "                  (m_axi, top.dut.m_axi_); not needed where there is one\n"
            "  --list          only list the ports of the file\n"
            "  --side S        master or slave, where signals of both have one prefix\n"
            "  --lite, --axi4  the protocol (AXI4-Lite: no signal that it does not have)\n"
            "  --clock NAME    full path, or name beside the port (aclk, clk, clock ...)\n"
            "  --reset NAME    the same (aresetn, rst_n, areset ...)\n"
            "  --reset-level L 0 or 1: the level that resets (by its name)\n"
            "  --from C --to C judge these cycles only\n"
            "  --running       the file begins in the middle of traffic\n"
            "  --at-rest       it does not, although it begins late\n"
            "  --open-end      the recording was cut off: bursts in flight are no error\n"
            "  --project-rules rules of this NPU as well (docs/npu/npu.md)\n"
            "  --project R[=N] one rule of your project, several times: incr_only,\n"
            "                  max_reads=N, range=BASE:BYTES ... (docs/axi-check.md)\n"
            "  --severity R=S  rule R: off, note, warning or error; several times\n"
            "  --max-waits N   recommended cycles from valid to ready (16)\n"
            "  --strict        data is stable on all lanes, used or not\n"
            "  --error-data-x  RDATA may be X beside an error response\n"
            "  --notes         lines for recommendations, too; they never fail a run\n"
            "  --max N         at most so many lines (%u)\n"
            "  --stats         what went over the port: a table\n"
            "  --json          all of it as one JSON object\n\n"
            "Exit status: 0 clean, 1 violations, 2 bad input.\n",
            prog, LINES);
}

int axi_check_bad(const axi_check_options *o, const char *format, ...) {
    va_list args;
    fprintf(stderr, "%s: ", o->prog);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return 2;
}

static int parse_severity(axi_check_options *o, const char *text) {
    char name[64];
    const char *equal = strchr(text, '=');
    const size_t len = equal != NULL ? (size_t)(equal - text) : 0;
    if (len == 0 || len >= sizeof name) {
        return axi_check_bad(o, "--severity: expected RULE=off, note, warning or error, got %.60s", text);
    }
    memcpy(name, text, len);
    name[len] = '\0';
    const tb_axi_rule rule = tb_axi_rule_find(name);
    const tb_axi_severity severity = tb_axi_severity_find(equal + 1);
    if (rule == TB_AXI_RULES) {
        return axi_check_bad(o, "--severity: no rule %s (docs/axi-rules.md has all of them)", name);
    }
    if (severity == TB_AXI_SEV_DEFAULT) {
        return axi_check_bad(o, "--severity %s: expected off, note, warning or error, got %.60s", name, equal + 1);
    }
    o->severity[rule] = (uint8_t)severity;
    return 0;
}

static int parse_range(axi_check_options *o, const char *text) {
    char base[32];
    const char *colon = strchr(text, ':');
    const size_t len = colon != NULL ? (size_t)(colon - text) : 0;
    tb_axi_range *r = &o->range[o->ranges];
    if (o->ranges == AXI_CHECK_RANGES) {
        return axi_check_bad(o, "--project range=%.60s: at most %u ranges", text, AXI_CHECK_RANGES);
    }
    snprintf(base, sizeof base, "%.*s", (int)(len < sizeof base ? len : 0), text);
    if (tb_parse_u64(base, &r->base) != 0 || tb_parse_u64(colon + 1, &r->bytes) != 0 || r->bytes == 0) {
        return axi_check_bad(o, "--project range=%.60s: expected BASE:BYTES", text);
    }
    o->ranges++;
    return 0;
}

static int parse_project(axi_check_options *o, const char *text) {
    char names[512];
    tb_axi_project scratch = {.on = false};
    const size_t len = strcspn(text, "=");
    const char *number = text[len] == '=' ? text + len + 1 : NULL;
    if (o->projects == AXI_CHECK_PROJECT) {
        return axi_check_bad(o, "--project: at most %u rules", AXI_CHECK_PROJECT);
    }
    char *name = o->project[o->projects].name;
    uint64_t *value = &o->project[o->projects].value;
    snprintf(name, sizeof o->project[0].name, "%.*s", (int)(len < sizeof o->project[0].name ? len : 0), text);
    if (strcmp(name, "range") == 0 && number != NULL) {
        return parse_range(o, number);
    }
    const tb_axi_project_kind kind = tb_axi_project_kind_of(name);
    if (kind == TB_AXI_PROJECT_UNKNOWN) {
        tb_axi_project_names(names, sizeof names);
        return axi_check_bad(o, "--project: no rule %.60s, expected one of %s, range=BASE:BYTES", text, names);
    }
    if ((kind == TB_AXI_PROJECT_NUMBER) != (number != NULL) || (number != NULL && tb_parse_u64(number, value) != 0) ||
        !tb_axi_project_set(&scratch, name, *value)) {
        return axi_check_bad(o, "--project %s: expected %s, got %.60s", name, kind == TB_AXI_PROJECT_NUMBER ? "NAME=N" : "no number", text);
    }
    o->projects++;
    return 0;
}

/* An option with a value. 0, or the exit status. */
static int parse_value(axi_check_options *o, const char *name, const char *value) {
    const struct {
        const char *name;
        const char **text;
    } texts[] = {{"--prefix", &o->prefix}, {"--clock", &o->clock}, {"--reset", &o->reset}};
    const struct {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"--from", &o->from}, {"--to", &o->to}, {"--max", &o->max}, {"--max-waits", &o->max_waits}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].text = value;
            return value[0] != '\0' ? 0 : axi_check_bad(o, "%s: expected a value", name);
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            o->have_to |= numbers[i].number == &o->to;
            return tb_parse_u64(value, numbers[i].number) == 0 ? 0 : axi_check_bad(o, "%s: expected a number, got %.60s", name, value);
        }
    }
    if (strcmp(name, "--severity") == 0) {
        return parse_severity(o, value);
    }
    if (strcmp(name, "--project") == 0) {
        return parse_project(o, value);
    }
    if (strcmp(name, "--side") == 0) {
        const bool master = strcmp(value, "master") == 0;
        o->side = master ? TB_AXI_SIDE_MASTER : TB_AXI_SIDE_SLAVE;
        return master || strcmp(value, "slave") == 0 ? 0 : axi_check_bad(o, "--side: expected master or slave, got %.60s", value);
    }
    if (strcmp(name, "--reset-level") == 0) {
        o->reset_level = value[0] - '0';
        return strcmp(value, "0") == 0 || strcmp(value, "1") == 0 ? 0
                                                                  : axi_check_bad(o, "--reset-level: expected 0 or 1, got %.60s", value);
    }
    return axi_check_bad(o, "axi-check: unknown option %.60s (--help lists them)", name);
}

/* False: it is none of them. */
static bool parse_switch(axi_check_options *o, const char *name) {
    const struct {
        const char *name;
        bool *on;
    } switches[] = {{"--project-rules", &o->npu_rules},
                    {"--json", &o->json},
                    {"--stats", &o->stats},
                    {"--notes", &o->notes},
                    {"--strict", &o->strict},
                    {"--list", &o->list},
                    {"--running", &o->running},
                    {"--at-rest", &o->at_rest},
                    {"--open-end", &o->open_end},
                    {"--error-data-x", &o->error_data_x},
                    {"--help", &o->help},
                    {"-h", &o->help}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(name, switches[i].name) == 0) {
            return *switches[i].on = true;
        }
    }
    if (strcmp(name, "--lite") == 0 || strcmp(name, "--axi4") == 0) {
        o->protocol = name[2] == 'l' ? TB_AXI_WAVE_LITE : TB_AXI_WAVE_AXI4;
        return true;
    }
    return false;
}

static bool takes_value(const char *name) {
    static const char *const names[] = {"--prefix", "--clock",       "--reset",   "--from",     "--to",       "--max",
                                        "--side",   "--reset-level", "--project", "--severity", "--max-waits"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* 0, or the exit status. */
static int parse(axi_check_options *o, int argc, char **argv) {
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] != '-') {
            if (o->file != NULL) {
                return axi_check_bad(o, "axi-check: unexpected argument %.60s", argv[i]);
            }
            o->file = argv[i];
        } else if (!parse_switch(o, argv[i])) {
            const char *name = argv[i];
            if (takes_value(name) && ++i == argc) {
                return axi_check_bad(o, "%s: expected a value", name);
            }
            const int status = parse_value(o, name, argv[i]);
            if (status != 0) {
                return status;
            }
        }
    }
    if (o->max_waits == 0 || o->max_waits >= UINT32_MAX) {
        return axi_check_bad(o, "--max-waits: expected a number 1..%u", UINT32_MAX - 1);
    }
    if (o->have_to && o->to < o->from) {
        return axi_check_bad(o, "--to %" PRIu64 ": expected a cycle that is not before --from", o->to);
    }
    if (o->running && o->at_rest) {
        return axi_check_bad(o, "--at-rest: contradicts --running");
    }
    return o->help || o->file != NULL ? 0 : axi_check_bad(o, "axi-check: expected a waveform file");
}

int cli_axi_check(int argc, char **argv) {
    char err[512];
    struct stat st;
    axi_check_options o = {.prog = argv[0], .reset_level = -1, .max = LINES, .max_waits = 16, .to = UINT64_MAX};
    const int status = parse(&o, argc, argv);
    if (status != 0) {
        return status;
    }
    if (o.help) {
        usage(stdout, o.prog);
        return 0;
    }
    const uint64_t mib = stat(o.file, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size >> 20 : 0;
    const unsigned seconds = SECONDS + (unsigned)(mib < 4096 ? mib : 4096) * SECONDS_PER_MIB;
    const int done = tb_wave_guard(o.file, axi_check_file, &o, seconds, MEMORY_MIB, err, sizeof err);
    return done >= 0 ? done : axi_check_bad(&o, "%s", err);
}
