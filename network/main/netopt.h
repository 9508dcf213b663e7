/* netopt.h - command lines of tandem-net: tables for opt/, and the kinds of values that only networks have. */
#ifndef NETOPT_H
#define NETOPT_H

#include "../network.h"
#include "opt/opt.h"

/* The device and mesh size of a program: those of its RTL build. */
#ifdef NPU_CFG_N
#define NETOPT_N NPU_CFG_N
#define NETOPT_DEVICE "tandem"
#else
/* Built without an RTL: only the golden model, of any size. */
#define NETOPT_N 8
#define NETOPT_DEVICE "model"
#endif

/*
 * Values for OPT_TAKE: mesh size of n4, n8, n16, n32 (uint32_t); WxHxC (uint32_t[3]); one number for all channels, or
 * three (float[3]).
 */
opt_take netopt_take_cfg, netopt_take_shape, netopt_take_channels;

#define NETOPT_CFG(TO)                                                                                                 \
    OPT(TAKE, "--cfg", "n4|n8|n16|n32", "mesh size (an RTL program: only its own)", TO, .take = netopt_take_cfg)
#define NETOPT_SHAPE(TO, HELP) OPT(TAKE, "--shape", "WxHxC", HELP, TO, .take = netopt_take_shape)
/* The three options of pictures. */
#define NETOPT_PICTURE(prep)                                                                                           \
    OPT(WORD, "--order", "bgr|rgb|gray", "channels of a picture (default bgr)", &(prep).order,                         \
        .words = netopt_orders),                                                                                       \
        OPT(TAKE, "--mean", "A[,B,C]", "subtracted from each channel, in the network's order", (prep).mean,            \
            .given = &(prep).has_mean, .take = netopt_take_channels),                                                  \
        OPT(TAKE, "--norm", "A[,B,C]", "factor of each channel after that", (prep).norm, .given = &(prep).has_norm,    \
            .take = netopt_take_channels)

typedef struct netopt_line {
    const char *head, *end; /* of --help, around the options; end: NULL or */
    const opt_group *group;
    size_t groups;
    const char *command; /* named in errors; NULL: none */
    int skip;            /* place of a word that is the command itself, 0: none */
    opt_list *words;     /* words that are no options; NULL: there are none */
} netopt_line;

/* Read argv[1..argc-1]. 0: done; -1: help was printed; otherwise the exit status, the line is printed. */
int netopt_parse(const netopt_line *line, int argc, char **argv);

/* "tandem-net: what 'value'expected" on stderr; 2. */
int netopt_usage(const char *what, const char *value, const char *expected);

/*
 * Does this program have the device (model, rtl, tandem; NULL: none is needed) and its mesh size? 0, or 2 with a line.
 * cpu: the command accepts "cpu", too.
 */
int netopt_fits(const char *device, uint32_t n, bool cpu);

/* WxHxC, each 1..65536. */
bool netopt_shape(const char *text, uint32_t size[3]);
/* FILE or FILE@WxHxC: the file, and the shape if there is one. */
#define NETOPT_PATH 600
void netopt_split_shape(const char *text, char path[NETOPT_PATH], uint32_t size[3]);

extern const char *const netopt_devices[]; /* model, rtl, tandem */
extern const char *const netopt_orders[];  /* bgr, rgb, gray: net_pixel_order */

#endif
