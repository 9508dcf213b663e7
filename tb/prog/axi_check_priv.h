/*
 * axi_check_priv.h - private to axi-check: the ports of a run, and what is printed of them.
 */
#ifndef TB_PROG_AXI_CHECK_PRIV_H
#define TB_PROG_AXI_CHECK_PRIV_H

#include <stdio.h>

#include "axi_check.h"

struct bus_ports;

/* The whole file. Nothing is printed before all of it was read. */
typedef struct check_run {
    const axi_check_options *o;
    const char *file; /* as lines name it */
    tb_wave *wave;
    tb_axi_wave_ports ports;
    struct bus_ports *others; /* AXI4-Stream, APB */
    FILE *out, *said;         /* collected: standard output and standard error */
    char *out_text, *said_text;
    size_t out_size, said_size;
    unsigned checked, idle, left_out;
    bool failed; /* a port that has all its signals could not be checked */
    uint64_t count[TB_AXI_SEV_ERROR + 1u];
} check_run;

/* One port. */
typedef struct check {
    check_run *run;
    const axi_check_options *o;
    const tb_axi_wave_port *port;
    tb_axi_wave_bus bus;
    tb_axi_wave_seen seen;
    char name[256];              /* of the port, in lines */
    char clock[600], reset[600]; /* full paths */
    uint64_t period, base;       /* number of the first edge */
    tb_axi_monitor *mon;
    bool made, bad_width, late; /* late: the file begins in the middle of traffic */
    uint64_t time;              /* of this edge */
    uint64_t last, edges;       /* that were judged: cycle of the last one, number */
    uint64_t before;            /* handshakes before the first of those */
    uint64_t out_of_reset;
    uint64_t count[TB_AXI_SEV_ERROR + 1u];
    uint64_t printed, hidden;
    FILE *lines; /* collected */
    char *text;
    size_t text_size;
} check;

/* For tb_axi_mon_cfg.report. ctx: check. */
void axi_check_report(void *ctx, const tb_axi_monitor *mon, const tb_axi_violation *v);
/* The cycles that count have not one handshake on the port. */
bool axi_check_idle(const check *c);
/* A port that was read, into the output of the run. */
void axi_check_print(const check *c);
/* The ports of the file: those that can be checked on standard output, the others on standard error. Exit status. */
int axi_check_list(check_run *run);
/* A line on standard error: "PROGRAM: FILE: text". 2, the exit status for bad input. */
__attribute__((format(printf, 2, 3))) int axi_check_complain(check_run *run, const char *format, ...);
/* "AXI4, 32 bits, read only" */
void axi_check_kind(const tb_axi_wave_bus *bus, char *dst, size_t size);

#endif
