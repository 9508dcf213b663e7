/*
 * axi_check.h - the command axi-check: its options.
 */
#ifndef TB_PROG_AXI_CHECK_H
#define TB_PROG_AXI_CHECK_H

#include "../axi/monitor.h"
#include "../axi/project_set.h"
#include "../axi/wave_port.h"

#define AXI_CHECK_RANGES 16u
#define AXI_CHECK_PROJECT 32u

typedef struct axi_check_options {
    const char *prog, *file, *prefix, *clock, *reset; /* NULL: not given */
    tb_axi_side side;
    tb_axi_wave_protocol protocol;
    int reset_level;   /* that resets; -1: by its name */
    uint64_t from, to; /* cycles that are judged */
    uint64_t max;      /* lines */
    uint64_t max_waits;
    bool have_to, json, stats, notes, strict, list, all, expect_traffic;
    void (*project_rules)(tb_axi_mon_cfg *cfg); /* of the program's design, or NULL */
    bool running, at_rest, open_end, error_data_x;
    uint8_t severity[TB_AXI_RULES];
    /* --project: beside --project-rules, and stronger */
    struct {
        char name[32];
        uint64_t value;
    } project[AXI_CHECK_PROJECT];
    uint32_t projects, ranges;
    tb_axi_range range[AXI_CHECK_RANGES];
} axi_check_options;

/* The work, which a damaged file may break: for tb_wave_guard(). ctx: axi_check_options. Exit status. */
int axi_check_file(void *ctx);

#endif
