/*
 * sarif.c - the failures of a run as SARIF 2.1.0 (OASIS), for code hosts: one result for each signature.
 *
 * A result needs a location in the sources. Where the signature, or the name of a bench, names a unit that has a file
 * below the source folder (NAME.sv), that is the location; else the stored case, else the suite.
 */
#define _GNU_SOURCE
#include "query.h"
#include "reports.h"
#include "report/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Names of files are words of so many characters at most. */
#define WORD_MAX 64u

typedef struct sources {
    char **paths; /* of the design's files, sorted by the walk */
    size_t count;
} sources;

static int add_source(const char *path, const struct stat *info, void *context) {
    sources *s = context;
    const size_t length = strlen(path);
    if (!S_ISREG(info->st_mode) || length < 4 || strcmp(path + length - 3, ".sv") != 0) {
        return REG_OK;
    }
    char *copy = rep_more(&s->paths, s->count, sizeof *s->paths) ? strdup(path) : NULL;
    if (copy == NULL) {
        return reg_error("out of memory");
    }
    s->paths[s->count++] = copy;
    return REG_OK;
}

static void free_sources(sources *s) {
    for (size_t i = 0; i < s->count; i++) {
        free(s->paths[i]);
    }
    free(s->paths);
}

static const char *source_named(const sources *s, const char *word, size_t length) {
    for (size_t i = 0; i < s->count; i++) {
        const char *slash = strrchr(s->paths[i], '/');
        const char *name = slash == NULL ? s->paths[i] : slash + 1;
        if (strlen(name) == length + 3 && strncmp(name, word, length) == 0) {
            return s->paths[i];
        }
    }
    return NULL;
}

/* The file of the first word in the text that has one; an instance number at the end of a word is ignored. */
static const char *source_in(const sources *s, const char *text) {
    const char *found = NULL;
    while (text != NULL && *text != '\0' && found == NULL) {
        size_t length = 0;
        while (isalnum((unsigned char)text[length]) != 0 || text[length] == '_') {
            length++;
        }
        if (length > 0 && length <= WORD_MAX) {
            found = source_named(s, text, length);
            size_t bare = length;
            while (found == NULL && bare > 1 && isdigit((unsigned char)text[bare - 1]) != 0) {
                found = source_named(s, text, --bare);
            }
        }
        text += length == 0 ? 1 : length;
    }
    return found;
}

/* A path as a relative reference of RFC 3986. */
static json_t *uri_of(const char *path) {
    char text[3 * REG_PATH_MAX + 8];
    size_t used = 0;
    if (path[0] == '/') {
        used = (size_t)snprintf(text, sizeof text, "file://");
    }
    for (const unsigned char *p = (const unsigned char *)path; *p != '\0' && used + 4 < sizeof text; p++) {
        if (isalnum(*p) != 0 || strchr("/-._~", *p) != NULL) {
            text[used++] = (char)*p;
        } else {
            used += (size_t)snprintf(text + used, sizeof text - used, "%%%02X", *p);
        }
    }
    text[used] = '\0';
    return json_string(text);
}

static json_t *place(const char *path) {
    return json_pack("{s:{s:{s:o},s:{s:i}}}", "physicalLocation", "artifactLocation", "uri", uri_of(path), "region",
                     "startLine", 1);
}

/* The part of a signature before its values, in characters that every reader accepts. */
static void rule_id(const char *signature, char id[256]) {
    size_t used = 0;
    for (const char *p = signature; *p != '\0' && used + 1 < 256; p++) {
        const bool good = isalnum((unsigned char)*p) != 0 || strchr("._:-", *p) != NULL;
        if (good || (used > 0 && id[used - 1] != '-')) {
            id[used++] = good ? *p : '-';
        }
    }
    while (used > 0 && id[used - 1] == '-') {
        used--;
    }
    (void)reg_format(id + used, 256 - used, "%s", used == 0 ? "failure" : "");
}

static json_t *message_of(const reg_table *buckets, size_t row) {
    char text[4 * REG_TEXT_MAX];
    const char *message = reg_table_cell(buckets, row, "message");
    const char *again = reg_table_cell(buckets, row, "repro");
    (void)reg_format(text, sizeof text, "%s (%s, %s; jobs: %s)%s%s",
                     message == NULL ? reg_table_cell(buckets, row, "signature") : message,
                     reg_table_cell(buckets, row, "what"), reg_table_cell(buckets, row, "build"),
                     reg_table_cell(buckets, row, "jobs"),
                     again == NULL ? "" : "\nAgain: ", again == NULL ? "" : again);
    return reg_json_text(text);
}

static json_t *result_of(const reg_table *buckets, size_t row, int rule, const sources *s, const char *suite_path) {
    char id[256];
    const char *signature = reg_table_cell(buckets, row, "signature");
    const char *stored = reg_table_cell(buckets, row, "case");
    const char *where = source_in(s, signature);
    where = where != NULL ? where : source_in(s, reg_table_cell(buckets, row, "what"));
    where = where != NULL ? where : stored != NULL ? stored : suite_path;
    rule_id(signature, id);
    json_t *result = json_pack("{s:s,s:i,s:s,s:{s:o},s:[o],s:{s:o},s:I,s:{s:o,s:I}}", "ruleId", id, "ruleIndex", rule,
                               "level", "error", "message", "text", message_of(buckets, row), "locations", place(where),
                               "partialFingerprints", "signature/v1", reg_json_text(signature), "occurrenceCount",
                               (json_int_t)strtoll(reg_table_cell(buckets, row, "jobs"), NULL, 10), "properties",
                               "outcome", reg_json_text(reg_table_cell(buckets, row, "outcome")), "job",
                               (json_int_t)strtoll(reg_table_cell(buckets, row, "job"), NULL, 10));
    if (result != NULL && stored != NULL && strcmp(stored, where) != 0) {
        json_t *related = place(stored);
        (void)json_object_set_new(related, "message", json_pack("{s:s}", "text", "the stored case"));
        (void)json_object_set_new(result, "relatedLocations", json_pack("[o]", related));
    }
    return result;
}

/* The place of a rule, which is added when it is new. -1: out of memory. */
static int rule_at(json_t *rules, const char *signature) {
    char id[256];
    rule_id(signature, id);
    const size_t count = json_array_size(rules);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(json_string_value(json_object_get(json_array_get(rules, i), "id")), id) == 0) {
            return (int)i;
        }
    }
    json_t *rule = json_pack("{s:s,s:{s:o},s:{s:s}}", "id", id, "shortDescription", "text", reg_json_text(signature),
                             "defaultConfiguration", "level", "error");
    return json_array_append_new(rules, rule) == 0 ? (int)count : -1;
}

static json_t *document_of(const reg_table *buckets, const reg_table *head, const sources *s, const char *suite_path) {
    char name[128];
    json_t *rules = json_array();
    json_t *results = json_array();
    bool good = true;
    for (size_t row = 0; row < buckets->row_count; row++) {
        const int rule = rule_at(rules, reg_table_cell(buckets, row, "signature"));
        good = rule >= 0 && json_array_append_new(results, result_of(buckets, row, rule, s, suite_path)) == 0 && good;
    }
    (void)reg_format(name, sizeof name, "%s/%s", reg_table_cell(head, 0, "suite"), reg_table_cell(head, 0, "run"));
    const char *state = reg_table_cell(head, 0, "state");
    json_t *document =
        json_pack("{s:s,s:s,s:[{s:{s:{s:s,s:s,s:o}},s:{s:o},s:[{s:b,s:{s:o}}],s:s,s:o,s:{s:o,s:o}}]}", "$schema",
                  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
                  "version", "2.1.0", "runs", "tool", "driver", "name", "tandem-regress", "version", "1.0.0", "rules",
                  rules, "automationDetails", "id", reg_json_text(name), "invocations", "executionSuccessful",
                  state != NULL && strcmp(state, "done") == 0, "properties", "seed",
                  reg_json_text(reg_table_cell(head, 0, "seed")), "columnKind", "utf16CodeUnits", "results", results,
                  "properties", "commit", reg_json_text(reg_table_cell(head, 0, "commit")), "suite",
                  reg_json_text(reg_table_cell(head, 0, "suite")));
    if (!good) {
        json_decref(document);
        document = NULL;
    }
    return document;
}

int reg_sarif_write(reg_db *db, int64_t run, const char *source_dir, const char *path) {
    reg_table head = {0};
    reg_table buckets = {0};
    reg_run_info info;
    sources s = {0};
    rep_file file;
    const reg_query_about about = {.run = run, .limit = UINT32_MAX};
    int status = reg_report_part(db, run, REG_PART_HEAD, &head);
    if (status == REG_OK) {
        status = reg_query_ask(reg_query_find("buckets"), db, &about, &buckets);
    }
    if (status == REG_OK) {
        status = reg_db_load_run(db, run, &info);
    }
    if (status == REG_OK) {
        status = reg_walk(source_dir, add_source, &s);
    }
    if (status == REG_OK) {
        status = reg_report_open(&file, path);
    }
    if (status == REG_OK) {
        status = reg_json_print(document_of(&buckets, &head, &s, info.suite_path), file.file);
        if (status == REG_OK) {
            status = reg_report_commit(&file);
        } else {
            rep_file_drop(&file);
        }
    }
    free_sources(&s);
    reg_table_free(&head);
    reg_table_free(&buckets);
    return status;
}
