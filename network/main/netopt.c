/* netopt.c - command lines of tandem-net. */
#include "netopt.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "tb.h"

const char *const netopt_devices[] = {"model", "rtl", "tandem", NULL};
const char *const netopt_orders[] = {"bgr", "rgb", "gray", NULL};

int netopt_usage(const char *what, const char *value, const char *expected) {
    fprintf(stderr, "tandem-net: %s%s%s%s%s\n", what, value[0] == '\0' ? "" : " '", value, value[0] == '\0' ? "" : "'",
            expected);
    return 2;
}

int netopt_fits(const char *device, uint32_t n, bool cpu) {
#ifdef NPU_CFG_N
    (void)device;
    (void)cpu;
    return n == NPU_CFG_N ? 0 : netopt_usage("--cfg", "", ": this program was built for " NPU_CFG_NAME);
#else
    (void)n;
    return device == NULL || strcmp(device, "model") == 0
               ? 0
               : netopt_usage("--device", device,
                              cpu ? ": this program was built without RTL, expected cpu or model"
                                  : ": this program was built without RTL, expected model");
#endif
}

bool netopt_shape(const char *text, uint32_t size[3]) {
    for (int i = 0; i < 3; i++) {
        char *end;
        if (*text < '0' || *text > '9') {
            return false;
        }
        unsigned long value = strtoul(text, &end, 10);
        if (value < 1 || value > 65536 || *end != (i < 2 ? 'x' : '\0')) {
            return false;
        }
        size[i] = (uint32_t)value;
        text = end + 1;
    }
    return true;
}

static bool channels(const char *text, float out[3]) {
    for (uint32_t i = 0; i < 3; i++) {
        char *end;
        out[i] = strtof(text, &end);
        if (end == text || !isfinite(out[i])) {
            return false;
        }
        if (*end == '\0') {
            out[1] = i == 0 ? out[0] : out[1];
            out[2] = i == 0 ? out[0] : out[2];
            return i != 1;
        }
        text = end + 1;
        if (*end != ',') {
            return false;
        }
    }
    return false;
}

static int refuse(const char *expected, const char *value, char *err, size_t err_size) {
    (void)snprintf(err, err_size, "expected %s, got '%.60s'", expected, value);
    return -1;
}

int netopt_take_cfg(void *to, const char *value, char *err, size_t err_size) {
    static const char *const cfgs[] = {"n4", "n8", "n16", "n32", NULL};
    const int at = opt_find(cfgs, value);
    *(uint32_t *)to = 4u << (at < 0 ? 0 : at);
    return at >= 0 ? 0 : refuse("n4, n8, n16 or n32", value, err, err_size);
}

int netopt_take_shape(void *to, const char *value, char *err, size_t err_size) {
    return netopt_shape(value, (uint32_t *)to)
               ? 0
               : refuse("width x height x channels as in 224x224x3, each 1..65536", value, err, err_size);
}

int netopt_take_channels(void *to, const char *value, char *err, size_t err_size) {
    return channels(value, (float *)to) ? 0 : refuse("one number or three", value, err, err_size);
}

static int take_word(void *ctx, const char *word, char *err, size_t err_size) {
    const netopt_line *line = (const netopt_line *)ctx;
    opt_list *words = line->words;
    if (words == NULL || words->count == words->most) {
        (void)snprintf(err, err_size, "unexpected argument %.60s (%s%s--help)", word,
                       line->command != NULL ? line->command : "", line->command != NULL ? " " : "");
        return -1;
    }
    words->item[words->count++] = word;
    return 0;
}

int netopt_parse(const netopt_line *line, int argc, char **argv) {
    char err[700];
    opt_line parsed = {.group = line->group, .groups = line->groups, .word = take_word, .ctx = (void *)(uintptr_t)line};
    int rc = line->skip > 1 ? opt_parse(&parsed, line->skip - 1, argv + 1, err, sizeof err) : 0;
    const int next = line->skip > 0 ? line->skip + 1 : 1;
    rc = rc == 0 && next < argc ? opt_parse(&parsed, argc - next, argv + next, err, sizeof err) : rc;
    if (rc != 0) {
        return opt_bad("tandem-net", "%s", err);
    }
    if (parsed.help) {
        fputs(line->head, stdout);
        opt_help(stdout, &parsed);
        fputs(line->end != NULL ? line->end : "", stdout);
        return -1;
    }
    return 0;
}

void netopt_split_shape(const char *text, char path[NETOPT_PATH], uint32_t size[3]) {
    (void)snprintf(path, NETOPT_PATH, "%.599s", text);
    char *at = strrchr(path, '@');
    if (at != NULL && netopt_shape(at + 1, size)) {
        *at = '\0';
    }
}
