/* html_fail.c - failures: a card for each signature with the files of its representative, then a table of all of
 * them; and the jobs that did not run, a card for each cause. */
#define _GNU_SOURCE
#include "html.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "report/bundle.h"

#define CARDS 50u /* signatures with a card and files */
#define ROWS 500u /* of the table */
#define LOG_BYTES (256u * 1024u)
#define SMALL_BYTES 8192u /* of a small case in the page */
#define CASE_BYTES (1024u * 1024u)
#define FILE_BYTES (UINT64_C(16) * 1024 * 1024)

static const struct { const char *name, *text; } bundle_files[] = {REP_BUNDLE_LINKS};

static void put_code(FILE *out, const char *text) {
    fputs("<pre>", out);
    rep_xml(out, text);
    fputs("</pre>\n", out);
}

static void put_link(FILE *out, const char *folder, const char *name, const char *text) {
    fprintf(out, "<li><a href=\"%s/%s\">%s</a></li>\n", folder, name, text); /* folder and name are ours */
}

/* One file beside the page; a link when there is one. */
static int put_file(html_report *r, const char *from, const char *folder, const char *name, const char *text,
                    size_t size_max) {
    char dir[REG_PATH_MAX];
    (void)reg_format(dir, sizeof dir, "%s/%s", r->dir, folder);
    const int status = html_copy_tail(from, dir, name, size_max);
    if (status == REG_OK) {
        put_link(r->out, folder, name, text);
    }
    return status == REG_FAIL ? REG_FAIL : REG_OK;
}

static int put_bundle(html_report *r, const char *from, const char *folder) {
    char to[REG_PATH_MAX];
    char path[REG_PATH_MAX];
    char below[64];
    unsigned left_out = 0;
    (void)reg_format(below, sizeof below, "%s/bundle", folder);
    (void)reg_format(to, sizeof to, "%s/%s", r->dir, below);
    const int status = html_copy_tree(from, to, FILE_BYTES, &left_out);
    if (status != REG_OK) {
        return status == REG_FAIL ? REG_FAIL : REG_OK;
    }
    for (size_t i = 0; i < sizeof bundle_files / sizeof bundle_files[0]; i++) {
        if (reg_format(path, sizeof path, "%s/%s", to, bundle_files[i].name) && access(path, R_OK) == 0) {
            put_link(r->out, below, bundle_files[i].name, bundle_files[i].text);
        }
    }
    if (left_out != 0) {
        fprintf(r->out, "<li class=\"soft\">%u files above 16 MiB stayed in ", left_out);
        rep_xml(r->out, from);
        fputs("</li>\n", r->out);
    }
    return REG_OK;
}

/* The timing diagram of the bundle, where it has one. */
static void put_picture(const html_report *r, const char *folder) {
    char path[REG_PATH_MAX];
    if (reg_format(path, sizeof path, "%s/%s/bundle/" REP_BUNDLE_TIMING, r->dir, folder) && access(path, R_OK) == 0) {
        fprintf(r->out,
                "<details><summary>Timing around the failure</summary><div class=\"scroll fit\">"
                "<img src=\"%s/bundle/" REP_BUNDLE_TIMING "\" alt=\"timing diagram\"></div></details>\n",
                folder);
    }
}

/* The small case itself, where there is one: its knobs are what is left of the failure. */
static void put_small(const html_report *r, const char *folder) {
    char path[REG_PATH_MAX];
    char text[SMALL_BYTES + 1];
    FILE *in = reg_format(path, sizeof path, "%s/%s/small.case", r->dir, folder) ? fopen(path, "r") : NULL;
    if (in == NULL) {
        return;
    }
    const size_t size = fread(text, 1, SMALL_BYTES, in);
    text[size] = '\0';
    fputs("<details><summary>The small case</summary><pre>", r->out);
    rep_xml(r->out, text);
    fputs(size == SMALL_BYTES ? "...</pre></details>\n" : "</pre></details>\n", r->out);
    fclose(in);
}

/* The files of the job and its explanation, copied and linked. */
static int put_evidence(html_report *r, const reg_table *buckets, size_t row) {
    char folder[32];
    char dir[REG_PATH_MAX];
    (void)reg_format(folder, sizeof folder, "failures/%05" PRIu64, html_count(buckets, row, "job"));
    (void)reg_format(dir, sizeof dir, "%s/%s", r->dir, folder);
    int status = reg_make_dirs(dir);
    fputs("<ul class=\"links\">\n", r->out);
    if (status == REG_OK && reg_table_cell(buckets, row, "report") != NULL) {
        status = put_bundle(r, reg_table_cell(buckets, row, "report"), folder);
    }
    if (status == REG_OK) {
        status = put_file(r, reg_table_cell(buckets, row, "log"), folder, "log.txt", "log", LOG_BYTES);
    }
    if (status == REG_OK) {
        status = put_file(r, reg_table_cell(buckets, row, "case"), folder, "stored.case", "stored case", CASE_BYTES);
    }
    if (status == REG_OK) {
        status =
            put_file(r, reg_table_cell(buckets, row, "small_case"), folder, "small.case", "small case", CASE_BYTES);
    }
    fputs("</ul>\n", r->out);
    put_picture(r, folder);
    put_small(r, folder);
    (void)rmdir(dir); /* nothing was left */
    return status;
}

/* Since when the representative fails, where earlier runs know it. */
static int put_since(html_report *r, const char *job) {
    reg_table firsts;
    const reg_query_about about = {.run = r->run, .job = job, .limit = 1};
    const int status = reg_query_ask(reg_query_find("first-failure"), r->db, &about, &firsts);
    if (status == REG_OK && firsts.row_count == 1) {
        const char *good = reg_table_cell(&firsts, 0, "last_passed_run");
        const uint64_t since = html_count(&firsts, 0, "first_failed_run");
        if (good != NULL || since != (uint64_t)r->run) {
            fputs("<p class=\"soft\">", r->out);
            rep_xmlf(r->out, "Fails since run %" PRIu64 ", commit %s", since,
                     reg_table_cell(&firsts, 0, "first_failed_commit"));
            if (good != NULL) {
                rep_xmlf(r->out, "; passed last in run %s, commit %s", good,
                         reg_table_cell(&firsts, 0, "last_passed_commit"));
            }
            fputs(".</p>\n", r->out);
        }
    }
    reg_table_free(&firsts);
    return status;
}

/* heading: the column with the text at its top. */
static int put_card(html_report *r, const reg_table *buckets, size_t row, const char *class, const char *heading) {
    const uint64_t jobs = html_count(buckets, row, "jobs");
    const char *small = reg_table_cell(buckets, row, "small_case");
    const char *again = reg_table_cell(buckets, row, "repro");
    fprintf(r->out, "<article class=\"card %s\" id=\"job-%" PRIu64 "\"><h3>", class, html_count(buckets, row, "job"));
    rep_xml(r->out, reg_table_cell(buckets, row, heading));
    fputs("</h3>\n<p class=\"soft\">", r->out);
    rep_xmlf(r->out, "%s; %" PRIu64 " job%s, for example job %s, ", reg_table_cell(buckets, row, "outcome"), jobs,
             jobs == 1 ? "" : "s", reg_table_cell(buckets, row, "job"));
    rep_xml(r->out, reg_table_cell(buckets, row, "what"));
    rep_xmlf(r->out, ", %s", reg_table_cell(buckets, row, "build"));
    fputs("</p>\n", r->out);
    if (reg_table_cell(buckets, row, "message") != NULL) {
        fputs("<p class=\"bad\">", r->out);
        rep_xml(r->out, reg_table_cell(buckets, row, "message"));
        fputs("</p>\n", r->out);
    }
    int status = put_since(r, reg_table_cell(buckets, row, "job"));
    if (again != NULL) {
        put_code(r->out, again);
    }
    if (small != NULL) {
        fputs("<p class=\"soft\">A smaller case with the same failure:</p>\n<pre>make repro CASE=", r->out);
        rep_xml(r->out, small);
        fputs("</pre>\n", r->out);
    }
    if (status == REG_OK) {
        status = put_evidence(r, buckets, row);
    }
    fputs("</article>\n", r->out);
    return status;
}

static int put_all(html_report *r) {
    reg_table failures = {0};
    const int status = html_ask(r, "failures", ROWS + 1, &failures);
    if (status == REG_OK && failures.row_count > 1) {
        const bool more = failures.row_count > ROWS;
        fprintf(r->out, "<details><summary>%s%zu jobs that failed</summary>\n", more ? "The first " : "All ",
                more ? ROWS : failures.row_count);
        html_table(r->out, &failures, 0, more ? ROWS : failures.row_count);
        if (more) {
            fprintf(r->out,
                    "<p>The others: <code>tandem-regress query failures --run %" PRId64 " --limit 100000</code></p>\n",
                    r->run);
        }
        fputs("</details>\n", r->out);
    }
    reg_table_free(&failures);
    return status;
}

int html_failures(html_report *r) {
    reg_table buckets = {0};
    int status = html_ask(r, "buckets", UINT32_MAX, &buckets);
    if (status == REG_OK) {
        fputs("<h2 id=\"failures\">Failures</h2>\n", r->out);
        fputs(buckets.row_count == 0
                  ? "<p class=\"good\">Nothing failed.</p>\n"
                  : "<p class=\"soft\">By signature, the commonest first; one representative of each.</p>\n",
              r->out);
    }
    for (size_t row = 0; row < buckets.row_count && row < CARDS && status == REG_OK; row++) {
        status = put_card(r, &buckets, row, "fail", "signature");
    }
    if (status == REG_OK && buckets.row_count > CARDS) {
        fprintf(r->out,
                "<p>And %zu more signatures: <code>tandem-regress query buckets --run %" PRId64
                " --limit %zu</code></p>\n",
                buckets.row_count - CARDS, r->run, buckets.row_count);
    }
    if (status == REG_OK) {
        status = put_all(r);
    }
    reg_table_free(&buckets);
    return status;
}

int html_not_run(html_report *r) {
    reg_table causes = {0};
    uint64_t jobs = 0;
    int status = html_ask(r, "not-run", UINT32_MAX, &causes);
    for (size_t row = 0; row < causes.row_count; row++) {
        jobs += html_count(&causes, row, "jobs");
    }
    if (jobs != 0) {
        fprintf(r->out,
                "<h2 id=\"not-run\">%" PRIu64 " did not run</h2>\n<p class=\"soft\">By cause; outcome host: the "
                "machine kept the job from running, which says nothing about the design.</p>\n",
                jobs);
    }
    for (size_t row = 0; row < causes.row_count && row < CARDS && status == REG_OK; row++) {
        status = put_card(r, &causes, row, "idle", "cause");
    }
    reg_table_free(&causes);
    return status;
}
