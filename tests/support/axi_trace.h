/*
 * axi_trace.h - traces of one port as text: small, written by hand, for tests and for questions about a rule.
 *
 *     # Anything behind a hash is a comment.
 *     data 32                              header: bits of the data bus (32); `lite`; bits of id, user, awuser ... (0)
 *     near AXI4_ERRM_AWSIZE                a legal trace: rules that it only just keeps
 *     expect AXI4_ERRM_AWSIZE cycle=3      what it breaks, once for each violation; or `expect nothing`
 *     1  AWVALID=1 AWADDR=0x1000 AWREADY=1 the signals that change at cycle 1
 *     3  AWVALID=0                         cycle 2 was like cycle 1
 *     9  end                               the last cycle; `finish` instead: and the run ended with nothing in flight
 *
 * Values are decimal, or hexadecimal with x or z for digits (or the whole value) that are unknown. Signals not named
 * have their default: 0, one full-width INCR beat, all strobes, ARESETN high. A trace begins after the first edge
 * behind a reset, with cycle 0 idle, unless it sets ARESETN=0 at cycle 0.
 *
 * More of the header: max_waits N, max_depth N, exclusives N, from N, `strict`, `no_exclusive`, `error_data_x`,
 * `running`, `severity RULE off|note|warning|error`, `project NAME [VALUE]` with the names of tb_axi_project (`project
 * range BASE BYTES` for one mapped range).
 */
#ifndef TESTS_AXI_TRACE_H
#define TESTS_AXI_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "axi/monitor.h"

#define TB_AXI_TRACE_EXPECTS 32u
#define TB_AXI_TRACE_NEAR 64u

typedef struct tb_axi_expect {
    tb_axi_rule rule;
    uint64_t cycle;
    bool met; /* for the caller */
} tb_axi_expect;

typedef struct tb_axi_trace {
    tb_axi_mon_cfg cfg;
    char title[160]; /* the first comment */
    tb_axi_expect expect[TB_AXI_TRACE_EXPECTS];
    uint32_t expects;
    bool nothing; /* `expect nothing` */
    tb_axi_rule near_rule[TB_AXI_TRACE_NEAR];
    uint32_t nears;
    bool finish;   /* ended with nothing in flight */
    uint64_t last; /* the last cycle */
    tb_axi_range range;
    char *text;       /* the file */
    const char *rows; /* its first cycle */
    uint32_t rows_line;
    /* where the walk is */
    const char *at;
    uint32_t line;
    uint64_t cycle;
    tb_axi_sample now;
    uint8_t wdata[TB_AXI_MAX_BYTES], rdata[TB_AXI_MAX_BYTES];
} tb_axi_trace;

/* Read a file and check all of it. 0, or -1 with one line (file, line, what, what was expected) in err. The struct must
 * not be moved afterwards. */
int tb_axi_trace_open(tb_axi_trace *trace, const char *path, char *err, size_t err_size);
void tb_axi_trace_close(tb_axi_trace *trace);
/* The next cycle, from 0 to the last one; false: there are no more. What `s` points to is valid until the next call. */
bool tb_axi_trace_next(tb_axi_trace *trace, tb_axi_sample *s);
/* All of it through a monitor that the function makes with trace->cfg. The caller frees the monitor. 0 or -1 (out of
 * memory). */
int tb_axi_trace_run(tb_axi_trace *trace, tb_axi_monitor *mon);

#endif
