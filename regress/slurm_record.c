/*
 * slurm_record.c - the record of one attempt at a job, written by a node: all data of its row in the database.
 *
 * Lines key=value; the last one is the hash of all before it. An incomplete record counts as missing.
 */
#define _GNU_SOURCE
#include "slurm.h"
#include "opt/opt.h"
#include "report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORD_MAX (64 * 1024)

typedef struct text_field {
    const char *key;
    size_t offset, size; /* in reg_result */
} text_field;

typedef struct number_field {
    const char *key;
    size_t offset;
} number_field;

#define TEXT(key, member)                                                                                              \
    { key, offsetof(reg_result, member), sizeof((reg_result *)0)->member }
static const text_field texts[] = {
    TEXT("outcome", outcome), TEXT("signature", signature), TEXT("message", message), TEXT("trace_hash", trace_hash),
    TEXT("case", case_path),  TEXT("wave", wave_path),      TEXT("repro", repro),     TEXT("bounds", bounds)};
#define WORK(key, which)                                                                                               \
    { key, offsetof(reg_result, work) + (which) * sizeof(uint64_t) }
static const number_field numbers[] = {{"wall_ms", offsetof(reg_result, wall_ms)},
                                       {"cpu_ms", offsetof(reg_result, cpu_ms)},
                                       {"max_rss_kb", offsetof(reg_result, max_rss_kb)},
                                       {"portable", offsetof(reg_result, portable)},
                                       WORK("work_cases", REG_WORK_CASES),
                                       WORK("work_cycles", REG_WORK_CYCLES),
                                       WORK("bound", REG_WORK_BOUND)};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* FNV-1a. */
static uint64_t hash_text(const char *text, size_t length) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool record_path(const char *dir, const reg_finished *item, char *out, size_t size) {
    return reg_format(out, size, "%s/done/%zu.%u.txt", dir, item->job, item->attempt);
}

/* All lines but the last one. */
static void print_lines(FILE *out, int64_t run, const reg_finished *item) {
    char host[128] = "";
    const reg_result *result = &item->result;
    (void)gethostname(host, sizeof host - 1);
    fprintf(out, "run=%" PRId64 "\njob=%zu\nattempt=%u\nhost=%s\n", run, item->job, item->attempt, host);
    for (size_t i = 0; i < COUNT(texts); i++) {
        fprintf(out, "%s=%s\n", texts[i].key, (const char *)result + texts[i].offset);
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        fprintf(out, "%s=%" PRIu64 "\n", numbers[i].key,
                *(const uint64_t *)(const void *)((const char *)result + numbers[i].offset));
    }
    if (result->has_cycles) {
        fprintf(out, "cycles=%" PRIu64 "\n", result->cycles);
    }
    fprintf(out, "exit_status=%d\n", result->exit_status);
    if (item->doubted) {
        fputs("doubted=1\n", out);
    }
}

int reg_record_print(FILE *out, int64_t run, const reg_finished *item) {
    char *text = NULL;
    size_t length = 0;
    FILE *memory = rep_memory(&text, &length);
    if (memory != NULL) {
        print_lines(memory, run, item);
    }
    const bool good = memory != NULL && fclose(memory) == 0;
    if (good) {
        fprintf(out, "%scheck=%016" PRIx64 "\n", text, hash_text(text, length));
    }
    free(text);
    return good ? REG_OK : reg_error("out of memory");
}

int slurm_record_write(const char *dir, int64_t run, const reg_finished *item) {
    char path[REG_PATH_MAX];
    rep_file file;
    if (!record_path(dir, item, path, sizeof path)) {
        return reg_error("%s: cannot write a record", dir);
    }
    int status = reg_report_open(&file, path);
    if (status != REG_OK) {
        return status;
    }
    status = reg_record_print(file.file, run, item);
    if (status != REG_OK) {
        rep_file_drop(&file);
        return status;
    }
    return reg_report_commit(&file);
}

static bool take_pair(reg_result *result, const char *key, const char *value) {
    uint64_t number = 0;
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (strcmp(key, texts[i].key) == 0) {
            return reg_format((char *)result + texts[i].offset, texts[i].size, "%s", value);
        }
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        if (strcmp(key, numbers[i].key) == 0) {
            return opt_number(value, 0, INT64_MAX, (uint64_t *)(void *)((char *)result + numbers[i].offset));
        }
    }
    if (strcmp(key, "cycles") == 0) {
        result->has_cycles = opt_number(value, 0, UINT64_MAX, &result->cycles);
        return result->has_cycles;
    }
    if (strcmp(key, "exit_status") == 0) {
        bool good = opt_number(value, 0, 255, &number);
        result->exit_status = (int)number;
        return good;
    }
    return true; /* for people */
}

/* Whole file; length, or -1. */
static ssize_t read_file(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t length = 0;
    ssize_t got = 1;
    while (fd >= 0 && got > 0 && (size_t)length < size) {
        got = read(fd, text + length, size - (size_t)length);
        length += got > 0 ? got : 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd < 0 || got < 0 ? -1 : length;
}

const char *reg_record_take(char *text, int64_t run, reg_finished *item) {
    char *check = strstr(text, "\ncheck=");
    uint64_t said[3] = {0, 0, 0};
    if (check == NULL || strlen(check) != strlen("\ncheck=\n") + 16 || check[strlen(check) - 1] != '\n') {
        return "incomplete record";
    }
    const uint64_t hash = strtoull(check + strlen("\ncheck="), NULL, 16);
    check[1] = '\0';
    if (hash_text(text, strlen(text)) != hash) {
        return "damaged record";
    }
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        static const char *const keys[3] = {"run", "job", "attempt"};
        char *value = strchr(line, '=');
        if (value == NULL) {
            continue;
        }
        *value++ = '\0';
        for (size_t i = 0; i < 3; i++) {
            if (strcmp(line, keys[i]) == 0 && !opt_number(value, 0, UINT64_MAX, &said[i])) {
                return "damaged record";
            }
        }
        item->doubted = item->doubted || strcmp(line, "doubted") == 0;
        if (!take_pair(&item->result, line, value)) {
            return "damaged record";
        }
    }
    if (item->attempt == 0) {
        item->job = (size_t)said[1];
        item->attempt = (uint32_t)said[2];
    }
    if (said[0] != (uint64_t)run || said[1] != item->job || said[2] != item->attempt) {
        return "record of another job";
    }
    return item->result.outcome[0] == '\0' ? "record without outcome" : NULL;
}

const char *slurm_record_load(const char *dir, int64_t run, reg_finished *item) {
    char path[REG_PATH_MAX];
    memset(&item->result, 0, sizeof item->result);
    char *text = malloc(RECORD_MAX);
    if (text == NULL || !record_path(dir, item, path, sizeof path)) {
        free(text);
        return "no record";
    }
    ssize_t length = read_file(path, text, RECORD_MAX - 1);
    const char *trouble = "no record";
    if (length >= 0) {
        text[length] = '\0';
        trouble = strlen(text) == (size_t)length ? reg_record_take(text, run, item) : "damaged record";
    }
    free(text);
    return trouble;
}
