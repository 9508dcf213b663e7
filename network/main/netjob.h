/* netjob.h - tandem-net: options and the job. */
#ifndef NETJOB_H
#define NETJOB_H

#include "../network.h"

typedef struct netjob_options {
    const char *net, *bin;           /* float network, or an INT8 one when int8_net is NULL; may be NULL */
    const char *int8_net, *int8_bin; /* INT8 network; NULL: quantise the float network */
    const char *images, *calib;
    const char *device;     /* model, rtl, tandem */
    const char *bus, *wave; /* NULL: default of the device */
    const char *result;     /* result file or NULL */
    double norm;            /* input = pixel * norm */
    uint32_t n;             /* mesh size */
    uint32_t count;         /* images on the RTL, where count_given */
    uint64_t seed;
    bool layers;          /* --layers: only FP32, layer by layer */
    bool optimise;        /* --optimise: the graph optimiser before that */
    bool random;          /* weights from random_seed instead of bin */
    uint64_t random_seed; /* weights and input */
    uint32_t shape[3];    /* w, h, c of inputs without a shape; 0: not given */
    const char *input, *dump;
    bool count_given;
    bool asym; /* zero-points for the inputs of layers */
    bool int16;
    bool fp32_only;
    bool gate;
    bool verbose;
} netjob_options;

/* State of a job. */
typedef struct netjob {
    const netjob_options *opt;
    net_images images;
    net_graph fp32, int8;
    bool has_fp32;
    uint64_t *hash;       /* [images][layers] of the INT8 graph on the golden model */
    float *input;         /* one image as input */
    float *fp32_output;   /* [images][elements of the output]; NULL: there is no FP32 network */
    double signal, noise; /* squares of these, and of their differences from INT8 */
    uint32_t agree;       /* images with the same class in both */
    uint32_t count;       /* images on the RTL, in verbose output */
    uint32_t fp32_right, int8_right;
    tb_result result;
} netjob;

/* Print layers, shapes and multiply-accumulates of a .param file. shape: w, h, c of inputs that have none in the file,
 * 0: not given. Returns the exit status: 2 for a file that is damaged or that cannot be executed. */
int netjob_show(const char *path, const uint32_t shape[3]);
/* Run the job, print the report, write the result file. Returns the exit status. */
int netjob_run(const netjob_options *opt);

/* Error line and outcome from a failed call of the library; returns false. */
bool netjob_failed(netjob *job, net_status status, const net_error *err);
/* The passes; false after a failure (noted in job->result). */
bool netjob_load(netjob *job);
bool netjob_fp32(netjob *job);
bool netjob_model(netjob *job);
bool netjob_rtl(netjob *job, npu_dev_kind kind);
/* --layers: the network of the options in FP32. Failures are noted in *result. */
void netjob_layers(const netjob_options *opt, tb_result *result);

#endif
