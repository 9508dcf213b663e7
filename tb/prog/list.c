/* list.c - the tests of a program and their knobs. */
#include <inttypes.h>

#include "options.h"
#include "report/report.h"

static void json_knob(FILE *out, const tb_knob *k) {
    fputs("{\"name\": ", out);
    rep_json(out, k->name);
    fprintf(out, ", \"lowest\": %" PRId64 ", \"highest\": %" PRId64 ", ", k->lo, k->hi);
    if (tb_knob_kind_of(k) == TB_KNOB_ENUM) {
        fputs("\"values\": [", out);
        for (int64_t i = 0; i <= k->hi; i++) {
            fputs(i == 0 ? "" : ", ", out);
            rep_json(out, k->names[i]);
        }
        fputs("], ", out);
    }
    fputs("\"help\": ", out);
    rep_json(out, k->help);
    fputs("}", out);
}

static void list_json(FILE *out, const tb_prog *prog) {
    fprintf(out, "{\"cfg\": \"%s\", \"tests\": [", prog->cfg);
    for (size_t i = 0; i < prog->test_count; i++) {
        const tb_test *t = &prog->tests[i];
        fputs(i == 0 ? "\n  {\"name\": " : ",\n  {\"name\": ", out);
        rep_json(out, t->name);
        fputs(", \"help\": ", out);
        rep_json(out, t->about);
        fprintf(out, ", \"operator\": %s, \"knobs\": [", t->is_operator ? "true" : "false");
        for (size_t j = 0; j < t->knob_count; j++) {
            fputs(j == 0 ? "\n    " : ",\n    ", out);
            json_knob(out, &t->knobs[j]);
        }
        fputs("]}", out);
    }
    fputs("\n]}\n", out);
}

void tb_prog_list(FILE *out, const tb_prog_options *o) {
    const tb_prog *prog = o->prog;
    if (o->json) {
        list_json(out, prog);
        return;
    }
    for (size_t i = 0; i < prog->test_count; i++) {
        const tb_test *t = &prog->tests[i];
        if (!o->flat) {
            fprintf(out, "%s%s: %s\n", t->name, t->is_operator ? " (operator)" : "", t->about);
        }
        tb_knobs_list(t->knobs, t->knob_count, out);
    }
}
