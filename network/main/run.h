/* run.h - tandem-net run and survey: options and shared code. */
#ifndef NETRUN_H
#define NETRUN_H

#include "../network.h"

typedef struct netrun_options {
    const char *net, *bin; /* bin NULL: weights from `seed` */
    const char *input;     /* raw floats, or NULL: from `seed` */
    const char *image;     /* a picture or .npy as input, or NULL */
    net_picture_prep prep; /* of pictures */
    const char *table;     /* calibration table, or NULL */
    const char *names;     /* of classes, or NULL */
    uint32_t top;          /* classes to print */
    const char *device, *bus, *wave, *json, *result, *output, *dump;
    uint32_t n;
    uint64_t seed;
    uint32_t shape[3]; /* w, h, c of inputs without a shape; 0: not given */
    bool copy_concat, apart, pools_first, merge_convs;
    bool search, partition;  /* from plan */
    bool stalls;             /* counters of each layer */
    const char *plan;        /* "search", "driver" or NULL: the driver's */
    bool float_only;         /* no quantisation: float layers are kept */
    const char *only;        /* "K" or "K-L": these layers alone, with the model's tensors, or NULL */
    bool each;               /* every layer of the NPU alone, */
    uint32_t jobs;           /* so many at a time; 0: processors */
    const char *html;        /* page of it, or NULL */
    const char *broken_text; /* --break, or NULL */
    npu_dev_broken broken;
    double published; /* milliseconds at 200 MHz published for it; 0: none */
} netrun_options;

/* A network from its files to its result. */
typedef struct netrun {
    net_graph graph;
    uint32_t changes;  /* of the optimiser */
    const char *stage; /* current step: "loads", "optimises", "quantises", "runs" */
    npu_dev *dev;
    net_rt *rt;
    float *input;
    double seconds; /* CPU time of the inference */
    uint64_t cycles;
} netrun;

/* Each step in turn; the error line on failure. The options' texts must be valid. */
net_status netrun_prepare(netrun *run, const netrun_options *opt, net_error *err);
net_status netrun_execute(netrun *run, const netrun_options *opt, net_error *err);
void netrun_free(netrun *run);
/* The input of the options into run->input. */
net_status netrun_input(netrun *run, const netrun_options *opt, net_error *err);
/* A device of the options' kind with memory for the graph, or for the part of it. */
net_status netrun_open(const netrun *run, const netrun_options *opt, const net_rt_options *rt, npu_dev **dev,
                       net_error *err);

/* ---- part.c: single layers ---- */

/* --only and --each: the model computes the network once, then layers run on the device with its tensors. Prints a line
 * for each. Returns the exit status. */
int netrun_parts(const netrun_options *opt);

/* "K" or "K-L", numbers of layers below `layers`. false: something else. */
bool netrun_range(const char *text, uint32_t layers, uint32_t *first, uint32_t *last);

/* ---- target.c: other engines ---- */

/* The engine that --target names, NULL: the NPU, or there is no such option. */
const char *nettarget_asked(int argc, char *const *argv);
/* tandem-net run --target NAME ... . Returns the exit status. */
int nettarget_main(int argc, char **argv);

/* Multiply-accumulates of the layers on the NPU. */
uint64_t netrun_npu_macs(const netrun *run);

/* Run, report. Returns the exit status: 2 for files that are damaged or not supported. */
int netrun_one(const netrun_options *opt);
/* A table, a line for each file (`file@WxHxC`: with the shape of its open inputs). Networks of more than `most` million
 * multiply-accumulates are not run. */
int netsurvey(const netrun_options *opt, uint64_t most, const char *const *files, uint32_t count);
/* Number of the argument that is the command ("run"); --seed may stand before it. 0: there is none. */
int netrun_command(int argc, char *const *argv);
/* tandem-net run ..., tandem-net survey ... . Return the exit status. */
int netrun_main(int argc, char **argv);
int netsurvey_main(int argc, char **argv);
/* tandem-net schedule ... (schedule.c). */
int netschedule_main(int argc, char **argv);

#endif
