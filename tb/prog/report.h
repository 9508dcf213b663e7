/*
 * report.h - the folder of --report: the report on a failure as a page, as text and as files. The parts that every
 * design has are here (failed checks, how the error spread, bus, waveform, versions); a design adds its own sections
 * and files through tb_report_ops.
 */
#ifndef TB_PROG_REPORT_H
#define TB_PROG_REPORT_H

#include "../run/story.h"
#include "prog.h"

#define TB_REPORT_STREAMS 64u /* kept */
#define TB_REPORT_FILES 8u    /* of a design */

/* A stream of a task in which RTL and model differ. */
typedef struct tb_report_stream {
    char name[64], first[96], got[32], expected[32]; /* first: the first wrong element */
    uint64_t task;                                   /* UINT64_MAX: of none */
    uint64_t wrong, total;
    bool missing; /* on one side; then nothing was compared */
} tb_report_stream;

/* A stream left out of tensors/ because of the size limit. */
typedef struct tb_report_left {
    char name[64];
    unsigned device;
    uint64_t task, bytes; /* task UINT64_MAX: of none */
} tb_report_left;

struct tb_report {
    const tb_prog_options *o;
    const tb_report_ops *ops; /* of the design, or NULL */
    void *more;               /* what ops->begin() returned */
    const tb_prog_run *first; /* the run that failed */
    const tb_result *result;  /* its result */
    char dir[512], temp[560], wave[600];
    char again[1024]; /* command that reproduces the failure */
    /* the same case once more, with a story */
    tb_story own;    /* without ops */
    tb_story *story; /* own, or that of the design */
    tb_result replay;
    bool replayed; /* it could be run */
    bool same;     /* and its first failure is the one that ended the first run */
    char no_replay[512];
    bool has_wave;
    char no_wave[300];
    char no_streams[256]; /* why there are no streams; empty: there are */
    tb_report_stream stream[TB_REPORT_STREAMS];
    size_t streams, streams_wrong, streams_all;
    tb_report_left *left;
    size_t lefts;
    uint64_t left_bytes;
    char trim_err[256]; /* why tensors/ exceeds its limit; empty: it does not */
    char headline[512];
    const tb_story_check *check; /* the check that names the unit, or NULL */
    uint64_t cycle;              /* of the failure */
    /* the cycle to show: of the failure, or in which the first wrong byte was written */
    uint64_t look;
    uint64_t marker;             /* the same, unless it lies before the waveform */
    const tb_axi_burst *culprit; /* the write of that byte, or NULL */
    unsigned culprit_port;
};

typedef void tb_report_writer(const tb_report *r, FILE *out);

/* What a design adds; each but begin, story and end may be NULL. */
struct tb_report_ops {
    /*
     * Before the second run: allocate its log, NULL: out of memory. Its story, which run->story of the executor points
     * to. Release.
     */
    void *(*begin)(void);
    tb_story *(*story)(void *more);
    void (*end)(void *more);
    /* After it: analyse the failure; may set look, culprit and culprit_port. */
    void (*judge)(tb_report *r);
    /* The target of a burst of a port: "output buffer 1 + 64". */
    void (*where)(const tb_report *r, unsigned port, const tb_axi_burst *burst, char *dst, size_t size);
    /* Sections behind "How it spread", on the page and in the text; full: in report.txt, not on the screen. */
    tb_report_writer *html;
    void (*text)(const tb_report *r, FILE *out, bool full);
    const char *style; /* of its sections */
    struct {
        const char *name;
        tb_report_writer *write;
    } file[TB_REPORT_FILES]; /* ends with a name NULL, or when it is full */
};

/* ---- for prog.c ---- */
/* Can the folder be written? -1 with one line in err. */
int tb_report_check(const tb_prog_options *o, char *err, size_t err_size);
/*
 * Before a case: direct its waveform to the folder of the report. NULL without --report, or out of memory.
 */
tb_report *tb_report_begin(tb_prog_run *run);
/*
 * After a failure: run the case once more, write the folder, print a summary of one screen. again: the command that
 * repeats it. 0 or -1 with one line in err.
 */
int tb_report_write(tb_report *r, const char *again, char *err, size_t err_size);
/* Release; an incomplete report is removed. */
void tb_report_end(tb_report *r);

/* ---- report_judge.c: analysis ---- */
/* Fill headline, check and cycles from the two runs. */
void tb_report_judge(tb_report *r);
/* One line for a check that failed, in the words of the headline. */
void tb_report_check_line(const tb_story_check *check, char *dst, size_t size);
/* Why the second run ended, in one line. */
void tb_report_end_line(const tb_report *r, char *dst, size_t size);
/* The reason why no check names a unit. */
const char *tb_report_checks_text(const tb_report *r);
/* The second run ended before its tasks were complete. */
bool tb_report_cut_short(const tb_report *r);
/* Cycles of the bus that a report shows around the failure. */
void tb_report_window(const tb_report *r, uint64_t *from, uint64_t *to);
/* The target of a burst, or "". */
void tb_report_where(const tb_report *r, unsigned port, const tb_axi_burst *burst, char *dst, size_t size);
/* Versions of tools and sources, one "name: value" a line. */
void tb_report_versions(const tb_report *r, FILE *out);

/* ---- report_text.c, report_html.c ---- */
void tb_report_text(const tb_report *r, FILE *out, bool full);
void tb_report_axi(const tb_report *r, FILE *out);
void tb_report_html(const tb_report *r, FILE *out);

/* ---- report_streams.c ---- */
/* Compare the tensor logs of the second run, in which so many devices were opened. */
void tb_report_read_streams(tb_report *r, unsigned devices);
/* Remove as many of them as --report-limit requires. */
void tb_report_trim(tb_report *r, unsigned devices);
/* "3 streams, 1048704 bytes, ..": why tensors/ is incomplete; empty: it is complete. */
void tb_report_left_line(const tb_report *r, char *dst, size_t size);
/* One stream of them: "x.in of task 0, 1048704 bytes". */
void tb_report_left_stream(const tb_report_left *l, char *dst, size_t size);

/* ---- report_wave.c ---- */
/* Write wave.gtkw and timing.svg beside the waveform, where there is one. Errors are printed to stderr. */
void tb_report_draw(tb_report *r);

#endif
