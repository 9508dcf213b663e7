/* netopt.h - command lines of tandem-net: a table of options for each command, read by one function. */
#ifndef NETOPT_H
#define NETOPT_H

#include "../network.h"

/* The device and mesh size of a program: an RTL has the size that it was built for. */
#ifdef NPU_CFG_N
#define NETOPT_N NPU_CFG_N
#define NETOPT_DEVICE "tandem"
#else
/* Built without an RTL: only the golden model, of any size. */
#define NETOPT_N 8
#define NETOPT_DEVICE "model"
#endif

typedef enum netopt_type {
    NETOPT_TEXT,    /* const char * */
    NETOPT_FLAG,    /* bool, no value */
    NETOPT_WORD,    /* const char *: one of words */
    NETOPT_U64,     /* uint64_t */
    NETOPT_COUNT,   /* uint32_t, lo..hi */
    NETOPT_REAL,    /* double, lo..hi; `expected` says so */
    NETOPT_CFG,     /* uint32_t: mesh size of n4, n8, n16, n32 */
    NETOPT_SHAPE,   /* uint32_t[3]: WxHxC */
    NETOPT_ORDER,   /* net_pixel_order */
    NETOPT_CHANNELS /* float[3]: one number for all channels, or three */
} netopt_type;

typedef struct netopt {
    const char *name;
    netopt_type type;
    void *to;
    bool *given; /* set when it stands there; or NULL */
    double lo, hi;
    const char *const *words; /* NETOPT_WORD: ends with NULL */
    const char *
        expected; /* NETOPT_WORD, NETOPT_REAL, and NETOPT_COUNT where it is more than a number: for the error line, as in ": expected a number" */
} netopt;

/* The three options of pictures. */
#define NETOPT_PICTURE(prep)                                                                                                               \
    {.name = "--order", .type = NETOPT_ORDER, .to = &(prep).order},                                                                        \
        {.name = "--mean", .type = NETOPT_CHANNELS, .to = (prep).mean, .given = &(prep).has_mean}, {                                       \
        .name = "--norm", .type = NETOPT_CHANNELS, .to = (prep).norm, .given = &(prep).has_norm                                            \
    }

typedef struct netopt_line {
    const netopt *table;
    size_t count;
    const char *help;    /* of --help */
    const char *command; /* for "(run --help)"; NULL: none */
    int skip;            /* place of a word that is the command itself, 0: none */
    /* Words that are no options. */
    const char **word; /* NULL: there are none */
    uint32_t *word_count;
    uint32_t word_most;         /* one more is an error */
    const char *words_expected; /* for that */
    /* Words behind --image, up to the next option. */
    const char **image; /* NULL: no such option */
    uint32_t *image_count;
} netopt_line;

/* Read argv[1..argc-1]. 0: done; -1: help was printed; otherwise the exit status, the line is printed. */
int netopt_parse(const netopt_line *line, int argc, char **argv);

/* "tandem-net: what 'value'expected" on stderr; 2. */
int netopt_usage(const char *what, const char *value, const char *expected);

/* Does this program have the device (model, rtl, tandem; NULL: none is needed) and its mesh size? 0, or 2 with a line. cpu: the command knows "cpu", too. */
int netopt_fits(const char *device, uint32_t n, bool cpu);

/* WxHxC, each 1..65536. */
bool netopt_shape(const char *text, uint32_t size[3]);

extern const char *const netopt_devices[]; /* model, rtl, tandem */

#endif
