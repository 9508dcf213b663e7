/*
 * bundle.h - private to the program `tandem`: the report of a failure and the folder that holds all of it (--report DIR).
 */
#ifndef TESTCASES_BUNDLE_H
#define TESTCASES_BUNDLE_H

#include "cli.h"
#include "explain.h"

/* Where the text is for. */
typedef enum bundle_text { BUNDLE_SCREEN, BUNDLE_FULL } bundle_text;

#define BUNDLE_STREAMS 64u /* kept */

/* A stream of a task in which RTL and model differ. */
typedef struct bundle_stream {
    char name[64], first[96], got[32], expected[32]; /* first: the first wrong element */
    uint64_t task;                                   /* UINT64_MAX: of none */
    uint64_t wrong, total;
    bool missing; /* on one side; then nothing was compared */
} bundle_stream;

/* A stream that is not in tensors/, because there is no room for it. */
typedef struct bundle_left {
    char name[64];
    unsigned device;
    uint64_t task, bytes; /* task UINT64_MAX: of none */
} bundle_left;

struct bundle {
    const tb_prog_options *o;
    const tandem *t;
    const tb_prog_run *first; /* the run that failed */
    const tc_run *run;        /* the same */
    const tb_result *result;  /* its result */
    char dir[512], temp[560], wave[600];
    char again[1024]; /* command that shows the failure again */
    /* the same case once more, with the device told to explain */
    npu_explain ex;
    tb_result replay;
    bool replayed; /* it could be run */
    bool same;     /* and the first thing that was wrong is what ended the first run */
    char no_replay[512];
    bool has_wave;
    char no_wave[300];
    char no_tensors[256]; /* why there are no streams; empty: there are */
    bundle_stream stream[BUNDLE_STREAMS];
    size_t streams, streams_wrong, streams_all;
    bundle_left *left;
    size_t lefts;
    uint64_t left_bytes;
    char trim_err[256]; /* why tensors/ may be larger than its limit; empty: it is not */
    char headline[512];
    const npu_ex_check *check;   /* the check that names the unit, or NULL */
    uint64_t cycle;              /* of the failure */
    uint64_t look;               /* the cycle to look at: of the failure, or in which the first wrong element was written */
    uint64_t marker;             /* the same, unless it lies before the waveform */
    const tb_axi_burst *culprit; /* the write that brought it there, or NULL */
    unsigned culprit_port;
    uint32_t task; /* the task that it concerns, or NPU_EX_NONE */
};

/* ---- bundle_story.c: what there is to tell ---- */
/* Fill headline, check, cycle and task from the two runs. */
void bundle_judge(struct bundle *b);
/* "GEMM task 3 (conv ...)" of a task. */
void bundle_task_name(const struct bundle *b, uint32_t task, char *dst, size_t size);
/* One line for a check that failed, in the words of the headline. */
void bundle_check_line(const npu_ex_check *check, char *dst, size_t size);
/* Why the replay ended, in one line. */
void bundle_end_line(const struct bundle *b, char *dst, size_t size);
/* Why no check names a unit. */
const char *bundle_checks_text(const struct bundle *b);
/* Wrong elements of a task: "12 of 96 elements, channels 1..3, rows 0..4, columns 0..4". */
void bundle_extent_line(const struct bundle *b, uint32_t task, char *dst, size_t size);
/* One wrong element: place, got, expected. */
void bundle_wrong_line(const struct bundle *b, const npu_ex_wrong *w, char *dst, size_t size);
/* Its two values as text, each of `size` bytes. */
void bundle_wrong_values(const struct bundle *b, const npu_ex_wrong *w, char *got, char *expected, size_t size);
/* The last run ended before its tasks were complete. */
bool bundle_cut_short(const struct bundle *b);
/* Cycles of the bus that a report shows around the failure. */
void bundle_window(const struct bundle *b, uint64_t *from, uint64_t *to);
/* Versions of tools and sources, one "name: value" a line. */
void bundle_versions(const struct bundle *b, FILE *out);
/* Run a program and take the first line of what it prints. False: it could not be run, or failed. */
bool bundle_ask(const char *const *argv, char *dst, size_t size);

/* ---- bundle_text.c ---- */
typedef void bundle_register(void *ctx, const char *name, uint32_t offset, uint32_t value, bool changed, const char *meaning);
/* The registers that a task was started with; changed: other than those of the task of its unit before it. */
void bundle_each_register(const struct bundle *b, uint32_t task, bundle_register *each, void *ctx);
void bundle_report_txt(const struct bundle *b, FILE *out, bundle_text how);
void bundle_registers_txt(const struct bundle *b, FILE *out);
void bundle_axi_txt(const struct bundle *b, FILE *out);
void bundle_wrong_txt(const struct bundle *b, FILE *out);

/* ---- bundle_tensors.c ---- */
/* Compare the tensor logs of the second run, in which so many devices were opened. */
void bundle_read_tensors(struct bundle *b, unsigned devices);

/* Leave no more of them than --report-limit allows. */
void bundle_trim_tensors(struct bundle *b, unsigned devices);
/* "3 streams, 1048704 bytes, ..": why tensors/ is not whole; empty: it is. */
void bundle_left_line(const struct bundle *b, char *dst, size_t size);
/* One stream of them: "gemm.in of task 0, 1048704 bytes". */
void bundle_left_stream(const bundle_left *l, char *dst, size_t size);

/* ---- bundle_wave.c ---- */
/* Write wave.gtkw and timing.svg beside the waveform, where there is one. What cannot be written is said on stderr. */
void bundle_draw_wave(struct bundle *b);

/* ---- bundle_html.c ---- */
void bundle_report_html(const struct bundle *b, FILE *out);
/* Text with the five characters of HTML escaped. */
void bundle_escape(FILE *out, const char *text);

#endif
