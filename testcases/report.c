/* report.c - what `tandem run` and `tandem list` print. */
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>

#define BEAT_BYTES 16u

static const char *const counter_names[NPU_PERF_COUNT] = {"cycles with a task",        "mesh works",
                                                          "read beats, channel 0",     "read beats, channel 1",
                                                          "write beats, channel 0",    "write beats, channel 1",
                                                          "im2col waits for rows",     "im2col waits for weights",
                                                          "im2col waits for ofm room", "read bursts, channel 0",
                                                          "read bursts, channel 1",    "write bursts, channel 0",
                                                          "write bursts, channel 1"};

static double percent(double part, double whole) {
    return whole > 0 ? 100.0 * part / whole : 0.0;
}

void cli_print_stats(FILE *out, const tc_stats *s, uint32_t n, double cpu) {
    const uint64_t *p = s->perf;
    fprintf(out, "%s\n", s->what);
    fprintf(out, "  %-28s %s\n", "tasks", s->tasks);
    fprintf(out, "  %-28s %" PRIu64 "\n", "MACs", s->macs);
    if (!s->has_time) {
        fprintf(out, "  cycles, bus and counters: not measured, the model has no clock\n");
        return;
    }
    const uint32_t peak = 2 * n * n;
    fprintf(out, "  %-28s %" PRIu64 "\n", "cycles, register accesses in", s->cycles);
    fprintf(out, "  %-28s %.1f %% of %u a cycle\n", "MAC utilisation", percent((double)s->macs, (double)s->cycles * peak), peak);
    fprintf(out, "  %-28s %" PRIu64 " read, %" PRIu64 " written\n", "bytes moved (whole beats)", (p[2] + p[3]) * BEAT_BYTES,
            (p[4] + p[5]) * BEAT_BYTES);
    fprintf(out, "  performance counters:\n");
    for (size_t i = 0; i < NPU_PERF_COUNT; i++) {
        fprintf(out, "    %-26s %" PRIu64, counter_names[i], p[i]);
        if (i == 1 || (i >= 6 && i <= 8)) {
            fprintf(out, " (%.1f %%)", percent((double)p[i], (double)p[0]));
        }
        fputs("\n", out);
    }
    const double sim_s = s->rtl_s + s->harness_s;
    fprintf(out, "  %-28s %.0f, golden model apart\n", "simulated cycles per second", sim_s > 0 ? (double)s->cycles / sim_s : 0.0);
    fprintf(out, "  %-28s %.1f %% of that time, the RTL takes the rest\n", "testbench's own share", percent(s->harness_s, sim_s));
    fprintf(out, "  %-28s %.2f s\n", "CPU time in all", cpu);
}

/* Names and help texts of this program contain no character that JSON would escape, but a file of another language may. */
static void json_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
    fputc('"', out);
}

static void json_knob(FILE *out, const tb_knob *k) {
    fputs("{\"name\": ", out);
    json_text(out, k->name);
    fprintf(out, ", \"lowest\": %" PRId64 ", \"highest\": %" PRId64 ", ", k->lo, k->hi);
    if (tb_knob_kind_of(k) == TB_KNOB_ENUM) {
        fputs("\"values\": [", out);
        for (int64_t i = 0; i <= k->hi; i++) {
            fputs(i == 0 ? "" : ", ", out);
            json_text(out, k->names[i]);
        }
        fputs("], ", out);
    }
    fputs("\"help\": ", out);
    json_text(out, k->help);
    fputs("}", out);
}

static void list_json(FILE *out) {
    fprintf(out, "{\"cfg\": \"%s\", \"tests\": [", NPU_CFG_NAME);
    for (size_t i = 0; i < tc_test_count; i++) {
        const tc_test *t = tc_tests[i];
        fputs(i == 0 ? "\n  {\"name\": " : ",\n  {\"name\": ", out);
        json_text(out, t->name);
        fputs(", \"help\": ", out);
        json_text(out, t->help);
        fprintf(out, ", \"operator\": %s, \"knobs\": [", t->is_operator ? "true" : "false");
        for (size_t j = 0; j < t->knob_count; j++) {
            fputs(j == 0 ? "\n    " : ",\n    ", out);
            json_knob(out, &t->knobs[j]);
        }
        fputs("]}", out);
    }
    fputs("\n]}\n", out);
}

void cli_list(FILE *out, bool json) {
    if (json) {
        list_json(out);
        return;
    }
    for (size_t i = 0; i < tc_test_count; i++) {
        fprintf(out, "%s%s: %s\n", tc_tests[i]->name, tc_tests[i]->is_operator ? " (operator)" : "", tc_tests[i]->help);
        tb_knobs_list(tc_tests[i]->knobs, tc_tests[i]->knob_count, out);
    }
}
