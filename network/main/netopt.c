/* netopt.c - command lines of tandem-net. */
#include "netopt.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

const char *const netopt_devices[] = {"model", "rtl", "tandem", NULL};

int netopt_usage(const char *what, const char *value, const char *expected) {
    fprintf(stderr, "tandem-net: %s%s%s%s%s\n", what, value[0] == '\0' ? "" : " '", value, value[0] == '\0' ? "" : "'", expected);
    return 2;
}

int netopt_fits(const char *device, uint32_t n, bool cpu) {
#ifdef NPU_CFG_N
    (void)device;
    (void)cpu;
    return n == NPU_CFG_N ? 0 : netopt_usage("--cfg", "", ": this program was built for " NPU_CFG_NAME);
#else
    (void)n;
    return device == NULL || strcmp(device, "model") == 0 ? 0
                                                          : netopt_usage("--device", device,
                                                                         cpu ? ": this program was built without RTL, expected cpu or model"
                                                                             : ": this program was built without RTL, expected model");
#endif
}

/* Place of a word in a list that ends with NULL; -1: not there. */
static int word_of(const char *text, const char *const *words) {
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0) {
            return i;
        }
    }
    return -1;
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

static bool take_channels(const char *text, float out[3]) {
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

static int take_count(const netopt *o, const char *value) {
    uint64_t number = 0;
    char text[80];
    if (tb_parse_u64(value, &number) != 0 || (double)number < o->lo || (double)number > o->hi) {
        (void)snprintf(text, sizeof text, ": expected a number of %.0f..%.0f", o->lo, o->hi);
        return netopt_usage(o->name, value, o->expected != NULL ? o->expected : text);
    }
    *(uint32_t *)o->to = (uint32_t)number;
    return 0;
}

static int take_real(const netopt *o, const char *value) {
    char *end;
    const double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= o->lo && number <= o->hi)) {
        return netopt_usage(o->name, value, o->expected);
    }
    *(double *)o->to = number;
    return 0;
}

/* 0, or the exit status. */
static int take(const netopt *o, const char *value) {
    static const char *const orders[] = {"bgr", "rgb", "gray", NULL};
    static const char *const cfgs[] = {"n4", "n8", "n16", "n32", NULL};
    int at;
    switch (o->type) {
    case NETOPT_WORD:
        if (word_of(value, o->words) < 0) {
            return netopt_usage(o->name, value, o->expected);
        }
        *(const char **)o->to = value;
        return 0;
    case NETOPT_U64:
        return tb_parse_u64(value, o->to) == 0 ? 0 : netopt_usage(o->name, value, ": expected a number of 64 bits");
    case NETOPT_COUNT:
        return take_count(o, value);
    case NETOPT_REAL:
        return take_real(o, value);
    case NETOPT_CFG:
        at = word_of(value, cfgs);
        *(uint32_t *)o->to = 4u << (at < 0 ? 0 : at);
        return at >= 0 ? 0 : netopt_usage(o->name, value, ": expected n4, n8, n16 or n32");
    case NETOPT_SHAPE:
        return netopt_shape(value, o->to)
                   ? 0
                   : netopt_usage(o->name, value, ": expected width x height x channels as in 224x224x3, each 1..65536");
    case NETOPT_ORDER:
        at = word_of(value, orders);
        *(net_pixel_order *)o->to = (net_pixel_order)(at < 0 ? 0 : at);
        return at >= 0 ? 0 : netopt_usage(o->name, value, ": expected bgr, rgb or gray");
    case NETOPT_CHANNELS:
        return take_channels(value, o->to) ? 0 : netopt_usage(o->name, value, ": expected one number or three");
    default:
        *(const char **)o->to = value;
        return 0;
    }
}

static int unknown(const netopt_line *line, const char *word) {
    char text[64];
    (void)snprintf(text, sizeof text, " is unknown or lacks its value (%s%s--help)", line->command == NULL ? "" : line->command,
                   line->command == NULL ? "" : " ");
    return netopt_usage("option", word, text);
}

/* A word that is no option. */
static int take_word(const netopt_line *line, const char *word, bool image) {
    if (image) {
        line->image[(*line->image_count)++] = word;
        return 0;
    }
    if (line->word == NULL) {
        return unknown(line, word);
    }
    if (*line->word_count == line->word_most) {
        return netopt_usage("argument", word, line->words_expected);
    }
    line->word[(*line->word_count)++] = word;
    return 0;
}

static const netopt *find(const netopt_line *line, const char *name) {
    for (size_t i = 0; i < line->count; i++) {
        if (strcmp(line->table[i].name, name) == 0) {
            return &line->table[i];
        }
    }
    return NULL;
}

int netopt_parse(const netopt_line *line, int argc, char **argv) {
    bool image = false;
    int status = 0;
    for (int i = 1; i < argc && status == 0; i++) {
        if (i == line->skip) {
            continue;
        }
        if (strcmp(argv[i], "--help") == 0) {
            fputs(line->help, stdout);
            return fflush(stdout) == 0 ? -1 : 1;
        }
        if (strncmp(argv[i], "--", 2) != 0) {
            status = take_word(line, argv[i], image);
            continue;
        }
        image = line->image != NULL && strcmp(argv[i], "--image") == 0;
        if (image) {
            continue;
        }
        const netopt *o = find(line, argv[i]);
        const bool flag = o != NULL && o->type == NETOPT_FLAG;
        if (o == NULL || (!flag && i + 1 == argc)) {
            return unknown(line, argv[i]);
        }
        if (flag) {
            *(bool *)o->to = true;
        } else {
            status = take(o, argv[++i]);
        }
        if (o->given != NULL) {
            *o->given = true;
        }
    }
    return status;
}
