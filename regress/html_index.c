/* html_index.c - a run in numbers, its tests, its slowest jobs, all its jobs. */
#define _GNU_SOURCE
#include "html.h"
#include "reports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOWEST 15u

static void tile(FILE *out, const char *class, const char *number, const char *name) {
    fprintf(out, "<div class=\"tile\"><b%s%s%s>", class[0] == '\0' ? "" : " class=\"", class,
            class[0] == '\0' ? "" : "\"");
    rep_number(out, number);
    fputs("</b><span>", out);
    rep_xml(out, name);
    fputs("</span></div>\n", out);
}

static void fact(FILE *out, const char *name, const char *text) {
    if (text != NULL && text[0] != '\0') {
        fprintf(out, "<dt>%s</dt><dd>", name);
        rep_xml(out, text);
        fputs("</dd>\n", out);
    }
}

/* The run in numbers; the only row of the trend is the run itself. */
static void put_tiles(FILE *out, const reg_table *sums) {
    char text[64];
    const uint64_t failed = html_count(sums, 0, "failed");
    const uint64_t not_run = html_count(sums, 0, "not_run");
    const char *seconds = reg_table_cell(sums, 0, "seconds");
    const char *cpu = reg_table_cell(sums, 0, "cpu_s");
    fputs("<div class=\"tiles\">\n", out);
    tile(out, failed != 0 ? "bad" : "", reg_table_cell(sums, 0, "failed"), "jobs failed");
    tile(out, "good", reg_table_cell(sums, 0, "passed"), "jobs passed");
    if (not_run != 0) {
        tile(out, "warn", reg_table_cell(sums, 0, "not_run"), "jobs did not run");
    }
    tile(out, "", reg_table_cell(sums, 0, "cases"), "cases passed");
    tile(out, "", reg_table_cell(sums, 0, "cycles"), "clock cycles");
    (void)reg_format(text, sizeof text, "%s s", seconds == NULL ? "?" : seconds);
    tile(out, "", text, "time");
    (void)reg_format(text, sizeof text, "%s s", cpu == NULL ? "?" : cpu);
    tile(out, "", text, "CPU time");
    fputs("</div>\n", out);
}

static void put_facts(FILE *out, const reg_table *head) {
    char text[REG_TEXT_MAX];
    char sum[65];
    const char *budget = reg_table_cell(head, 0, "budget_s");
    const char *changed = reg_table_cell(head, 0, "changed");
    const char *commit = reg_table_cell(head, 0, "commit");
    const bool dirty = changed != NULL && strcmp(changed, "0") != 0;
    fputs("<dl>\n<dt>commit</dt><dd><code>", out);
    rep_xml(out, commit);
    fprintf(out, "</code>%s</dd>\n",
            strcmp(commit, "unknown") == 0 ? ": the sources are not in a git tree"
            : dirty                        ? " <span class=\"warn\">with changes that are not committed</span>"
                                           : ", clean work tree");
    fact(out, "seed", reg_table_cell(head, 0, "seed"));
    fact(out, "started (UTC)", reg_table_cell(head, 0, "started"));
    (void)reg_format(text, sizeof text, "%s, %s at a time, shard %s%s%s%s", reg_table_cell(head, 0, "state"),
                     reg_table_cell(head, 0, "parallel"), reg_table_cell(head, 0, "shard"),
                     budget == NULL ? "" : ", budget ", budget == NULL ? "" : budget, budget == NULL ? "" : " s");
    fact(out, "jobs", text);
    if (html_count(head, 0, "resumed") != 0) {
        fact(out, "resumed", reg_table_cell(head, 0, "resumed"));
    }
    fact(out, "tools", reg_table_cell(head, 0, "tools"));
    fact(out, "host", reg_table_cell(head, 0, "host"));
    fact(out, "files in", reg_table_cell(head, 0, "out_dir"));
    const char *out_dir = reg_table_cell(head, 0, "out_dir");
    if (out_dir != NULL && reg_signoff_sum(out_dir, sum)) {
        fact(out, "sign-off (SHA-256)", sum);
    }
    fputs("</dl>\n", out);
}

int html_summary(html_report *r) {
    char title[160];
    reg_table head = {0};
    reg_table sums = {0};
    int status = reg_report_part(r->db, r->run, REG_PART_HEAD, &head);
    if (status == REG_OK) {
        status = html_ask(r, "trend", 1, &sums);
    }
    if (status == REG_OK && (head.row_count != 1 || sums.row_count != 1)) {
        status = reg_error("run %" PRId64 " is not in the database", r->run);
    }
    if (status == REG_OK) {
        const uint64_t failed = html_count(&sums, 0, "failed");
        const uint64_t not_run = html_count(&sums, 0, "not_run");
        (void)reg_format(title, sizeof title, "Suite %s, run %" PRId64, reg_table_cell(&head, 0, "suite"), r->run);
        html_head(r->out, title);
        fputs("<nav><ul><li><a href=\"#failures\">Failures</a></li><li><a href=\"#tests\">Tests</a></li>"
              "<li><a href=\"#performance\">Performance</a></li><li><a href=\"#trends\">Trends</a></li>"
              "<li><a href=\"#slowest\">Slowest</a></li><li><a href=\"jobs.html\">All "
              "jobs</a></li></ul></nav>\n<main>\n<h1>",
              r->out);
        rep_xml(r->out, title);
        fprintf(r->out, ": <span class=\"%s\">", failed != 0 ? "bad" : not_run != 0 ? "warn" : "good");
        if (failed != 0) {
            fprintf(r->out, "%" PRIu64 " failed%s", failed, not_run != 0 ? ", " : "");
        }
        if (not_run != 0) {
            fprintf(r->out, "<a href=\"#not-run\">%" PRIu64 " did not run</a>", not_run);
        }
        fprintf(r->out, "%s</span></h1>\n", failed == 0 && not_run == 0 ? "passed" : "");
        put_tiles(r->out, &sums);
        put_facts(r->out, &head);
    }
    reg_table_free(&head);
    reg_table_free(&sums);
    return status;
}

/* Rows of the table whose `what` is one of a list; failed ones first, then the others grouped by kind. */
static void put_tests(html_report *r, const reg_table *tests, const char *whats, const char *title, bool folded) {
    reg_table part = *tests; /* same columns; its cells are those of the other table */
    const size_t columns = tests->column_count;
    uint64_t failed = 0;
    part.cells = calloc(tests->row_count * columns + 1, sizeof *part.cells);
    part.row_count = 0;
    for (size_t row = 0; part.cells != NULL && row < tests->row_count; row++) {
        if (strstr(whats, reg_table_cell(tests, row, "what")) != NULL) {
            memcpy(&part.cells[part.row_count++ * columns], &tests->cells[row * columns], columns * sizeof *part.cells);
            failed += html_count(tests, row, "failed");
        }
    }
    if (part.row_count != 0) {
        fprintf(r->out, folded ? "<details%s><summary>%s: %zu%s</summary>\n" : "<h3%s>%s: %zu%s</h3>\n",
                folded && failed != 0 ? " open" : "", title, part.row_count, failed != 0 ? ", some failed" : "");
        html_table(r->out, &part, 0, part.row_count);
        fputs(folded ? "</details>\n" : "", r->out);
    }
    free(part.cells);
}

int html_tests(html_report *r) {
    reg_table tests = {0};
    reg_table suites = {0};
    int status = html_ask(r, "tests", UINT32_MAX, &tests);
    if (status == REG_OK) {
        status = html_ask(r, "suites", UINT32_MAX, &suites);
    }
    if (status == REG_OK) {
        fputs("<h2 id=\"tests\">Tests</h2>\n<p class=\"soft\">Cases that passed for each configuration (second runs "
              "apart); a dash: nothing "
              "was asked "
              "for.</p>\n",
              r->out);
        put_tests(r, &tests, "test,network,python", "Operators, networks, testcases in Python", false);
        put_tests(r, &tests, "unit", "Units", true);
        put_tests(r, &tests, "case", "Stored cases", true);
        fputs("<h3>Suites, the newest run of each</h3>\n", r->out);
        html_table(r->out, &suites, 0, suites.row_count);
    }
    reg_table_free(&tests);
    reg_table_free(&suites);
    return status;
}

int html_slowest(html_report *r) {
    reg_table table = {0};
    const int status = html_ask(r, "slowest", SLOWEST, &table);
    if (status == REG_OK) {
        fputs("<h2 id=\"slowest\">Slowest jobs</h2>\n", r->out);
        if (table.row_count != 0) {
            html_table(r->out, &table, 0, table.row_count);
        } else {
            fputs("<p>Nothing ran.</p>\n", r->out);
        }
    }
    reg_table_free(&table);
    return status;
}

int html_jobs(html_report *r) {
    char title[64];
    reg_table jobs;
    const int status = reg_report_jobs(r->db, r->run, r->jobs, REG_JOBS_AT_ONCE, &jobs);
    if (status == REG_OK) {
        (void)reg_format(title, sizeof title, "All jobs of run %" PRId64, r->run);
        html_head(r->out, title);
        fputs("<nav><ul><li><a href=\"index.html\">Report</a></li></ul></nav>\n<main>\n", r->out);
        fprintf(r->out, "<h1>%s</h1>\n", title);
        if (r->job_count > REG_JOBS_AT_ONCE) {
            fputs("<ul class=\"links\">\n", r->out);
            for (size_t first = 0; first < r->job_count; first += REG_JOBS_AT_ONCE) {
                char name[HTML_NAME];
                html_jobs_name(first, name);
                fprintf(r->out, "<li><a href=\"%s\">%s%zu%s</a></li>\n", name, first == r->jobs ? "<b>" : "", first,
                        first == r->jobs ? "</b>" : "");
            }
            fputs("</ul>\n", r->out);
        }
        html_table(r->out, &jobs, 0, jobs.row_count);
        rep_page_end(r->out);
    }
    reg_table_free(&jobs);
    return status;
}

void html_jobs_name(size_t first, char name[HTML_NAME]) {
    (void)(first == 0 ? reg_format(name, HTML_NAME, "jobs.html") : reg_format(name, HTML_NAME, "jobs-%zu.html", first));
}
