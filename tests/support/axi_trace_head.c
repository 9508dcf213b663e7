/* The header of a text trace. */
#include "axi/project_set.h"
#include "axi_trace_priv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void axi_trace_complain(reader *r, const char *format, ...) {
    if (r->failed) {
        return;
    }
    r->failed = true;
    const int n = snprintf(r->err, r->err_size, "%s:%u: ", r->path, r->line);
    va_list args;
    va_start(args, format);
    if (n > 0 && (size_t)n < r->err_size) {
        vsnprintf(r->err + n, r->err_size - (size_t)n, format, args);
    }
    va_end(args);
}

/* ---- words ---- */

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of a line into dst; false: the line is over. */
bool axi_trace_word(const char **at, char dst[WORD]) {
    const char *p = *at;
    while (is_space(*p)) {
        p++;
    }
    size_t n = 0;
    while (*p != '\0' && *p != '\n' && *p != '#' && !is_space(*p)) {
        dst[n] = *p++;
        n += n + 1 < WORD;
    }
    dst[n] = '\0';
    *at = p;
    return n > 0;
}

bool axi_trace_number(const char *text, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
}

/* ---- header ---- */

static uint64_t need_number(reader *r, const char **p, const char *what) {
    char text[WORD];
    uint64_t n = 0;
    if (!axi_trace_word(p, text) || !axi_trace_number(text, &n)) {
        axi_trace_complain(r, "%s: expected a number", what);
    }
    return n;
}

static tb_axi_rule need_rule(reader *r, const char **p, const char *what) {
    char text[WORD];
    tb_axi_rule rule = TB_AXI_RULES;
    if (axi_trace_word(p, text)) {
        rule = tb_axi_rule_find(text);
    }
    if (rule == TB_AXI_RULES) {
        axi_trace_complain(r, "%s: expected the name of a rule, got %.60s", what, text);
        return (tb_axi_rule)0;
    }
    return rule;
}

static void read_expect(reader *r, const char **p) {
    tb_axi_trace *t = r->t;
    char text[WORD];
    const char *q = *p;
    if (axi_trace_word(&q, text) && strcmp(text, "nothing") == 0) {
        t->nothing = true;
        *p = q;
        return;
    }
    tb_axi_expect e = {.rule = need_rule(r, p, "expect")};
    if (!axi_trace_word(p, text) || strncmp(text, "cycle=", 6) != 0 || !axi_trace_number(text + 6, &e.cycle)) {
        axi_trace_complain(r, "expect: expected cycle=N behind the rule");
    } else if (t->expects == TB_AXI_TRACE_EXPECTS) {
        axi_trace_complain(r, "expect: at most %u of them", TB_AXI_TRACE_EXPECTS);
    } else {
        t->expect[t->expects++] = e;
    }
}

static void read_project(reader *r, const char **p) {
    tb_axi_project *c = &r->t->cfg.proj;
    char name[WORD];
    c->on = true;
    if (!axi_trace_word(p, name)) {
        axi_trace_complain(r, "project: expected the name of a rule's limit or switch");
        return;
    }
    if (strcmp(name, "range") == 0) {
        r->t->range.base = need_number(r, p, name);
        r->t->range.bytes = need_number(r, p, name);
        c->ranges = &r->t->range;
        c->range_count = 1;
        return;
    }
    const tb_axi_project_kind kind = tb_axi_project_kind_of(name);
    const uint64_t value = kind == TB_AXI_PROJECT_NUMBER ? need_number(r, p, name) : 0;
    if (!tb_axi_project_set(c, name, value)) {
        axi_trace_complain(r, "project: no limit or switch %.60s, or a number that is too large", name);
    }
}

static void read_severity(reader *r, const char **p) {
    char text[WORD];
    const tb_axi_rule rule = need_rule(r, p, "severity");
    const tb_axi_severity severity = axi_trace_word(p, text) ? tb_axi_severity_find(text) : TB_AXI_SEV_DEFAULT;
    if (severity == TB_AXI_SEV_DEFAULT) {
        axi_trace_complain(r, "severity: expected off, note, warning or error behind the rule");
    }
    r->t->cfg.severity[rule] = (uint8_t)severity;
}

/* A setting that is one number or one switch. False: there is no such setting. */
static bool read_setting(reader *r, const char *name, const char **p) {
    tb_axi_mon_cfg *c = &r->t->cfg;
    tb_axi_widths *w = &c->widths;
    const struct {
        const char *name;
        bool *value;
    } switches[] = {{"lite", &c->lite},
                    {"strict", &c->strict_data},
                    {"no_exclusive", &c->no_exclusive},
                    {"error_data_x", &c->error_data_x},
                    {"running", &c->running}};
    const struct {
        const char *name;
        uint32_t *value;
    } numbers[] = {{"max_waits", &c->max_waits},
                   {"max_depth", &c->max_depth},
                   {"exclusives", &c->exclusives},
                   {"depth", &c->depth}};
    const struct {
        const char *name;
        uint16_t *value;
    } widths[] = {{"id", &w->id},       {"awuser", &w->awuser}, {"wuser", &w->wuser},
                  {"buser", &w->buser}, {"aruser", &w->aruser}, {"ruser", &w->ruser}};
    for (size_t i = 0; i < sizeof switches / sizeof switches[0]; i++) {
        if (strcmp(name, switches[i].name) == 0) {
            return *switches[i].value = true;
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].value = (uint32_t)need_number(r, p, name);
            return true;
        }
    }
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        if (strcmp(name, widths[i].name) == 0) {
            *widths[i].value = (uint16_t)need_number(r, p, name);
            return true;
        }
    }
    return false;
}

void axi_trace_directive(reader *r, const char *name, const char **p) {
    tb_axi_trace *t = r->t;
    tb_axi_widths *w = &t->cfg.widths;
    if (strcmp(name, "data") == 0) {
        const uint64_t bits = need_number(r, p, name);
        t->cfg.bytes = bits % 8 == 0 && bits <= 4096 ? (uint32_t)bits / 8 : 0;
    } else if (strcmp(name, "from") == 0) {
        t->cfg.from = need_number(r, p, name);
    } else if (strcmp(name, "user") == 0) {
        w->awuser = w->wuser = w->buser = w->aruser = w->ruser = (uint16_t)need_number(r, p, name);
    } else if (strcmp(name, "near") == 0) {
        char text[WORD];
        for (const char *q = *p; axi_trace_word(&q, text) && t->nears < TB_AXI_TRACE_NEAR; q = *p) {
            t->near_rule[t->nears++] = need_rule(r, p, name);
        }
    } else if (strcmp(name, "expect") == 0) {
        read_expect(r, p);
    } else if (strcmp(name, "project") == 0) {
        read_project(r, p);
    } else if (strcmp(name, "severity") == 0) {
        read_severity(r, p);
    } else if (!read_setting(r, name, p)) {
        axi_trace_complain(r, "%.60s: expected a setting, expect, near, or the number of a cycle", name);
    }
}
