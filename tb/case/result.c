#include "result.h"

#include "report/report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tb_result_init(tb_result *result) {
    memset(result, 0, sizeof *result);
    tb_kv_init(&result->extra);
}

void tb_result_free(tb_result *result) {
    tb_kv_free(&result->extra);
}

void tb_result_fail(tb_result *result, tb_outcome outcome, const char *signature, const char *format, ...) {
    if (result->outcome != TB_PASS) {
        return;
    }
    const int refused = rep_host_error();
    size_t at = 0;
    result->outcome = outcome;
    snprintf(result->signature, sizeof result->signature, "%s", signature);
    if (refused != 0) {
        result->outcome = TB_HOST;
        result->signature[0] = '\0';
        at = (size_t)snprintf(result->message, sizeof result->message, "the machine refused: %s; ", strerror(refused));
    }
    va_list args;
    va_start(args, format);
    vsnprintf(result->message + at, sizeof result->message - at, format, args);
    va_end(args);
}

void tb_result_close(tb_result *result) {
    if (rep_host_error() != 0) {
        tb_result_fail(result, TB_HOST, "", "nothing failed, but the checks may be incomplete");
    }
}

const char *tb_outcome_name(tb_outcome outcome) {
    static const char *const names[] = {"pass", "fail", "error", "host"};
    return (unsigned)outcome < 4 ? names[outcome] : "error";
}

int tb_result_exit(const tb_result *result) {
    return (int)result->outcome;
}

/* A message with a newline would be refused as a value. */
static int set_line(tb_kv *kv, const char *key, const char *text) {
    char line[1024];
    size_t n = 0;
    for (; text[n] != '\0' && n + 1 < sizeof line; n++) {
        const unsigned char c = (unsigned char)text[n];
        line[n] = c < 0x20 || c == 0x7f ? ' ' : (char)c;
    }
    line[n] = '\0';
    return tb_kv_set(kv, key, line);
}

int tb_result_save(const tb_result *result, const char *path, char *err, size_t err_size) {
    tb_kv kv;
    tb_kv_init(&kv);
    int rc = tb_kv_set(&kv, "outcome", tb_outcome_name(result->outcome));
    rc |= set_line(&kv, "signature", result->signature);
    rc |= set_line(&kv, "message", result->message);
    rc |= tb_kv_set_u64(&kv, "cycles", result->cycles);
    rc |= tb_kv_set_hex(&kv, "trace_hash", result->trace_hash);
    rc |= set_line(&kv, "case", result->case_path);
    for (size_t i = 0; i < result->extra.count; i++) {
        rc |= tb_kv_set(&kv, result->extra.entry[i].key, result->extra.entry[i].value);
    }
    if (rc != 0) {
        snprintf(err, err_size, "%s: out of memory", path);
        rc = -1;
    } else {
        rc = tb_kv_save(&kv, path, err, err_size);
    }
    tb_kv_free(&kv);
    return rc;
}
