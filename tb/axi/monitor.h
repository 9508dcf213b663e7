/*
 * monitor.h - protocol rules, statistics and the trace hash of one AXI4 or AXI4-Lite port.
 *
 * tb_axi_mon_step() sees nothing but samples, so the same rules run in simulation, on recorded traces and in unit tests. Rules carry the published names of the
 * protocol assertions. Policy: a response at the same edge as the last handshake that it depends on is an error; valid at the first edge after reset is an error;
 * an address is judged whenever its valid is high; data must be stable on used lanes.
 */
#ifndef TB_AXI_MONITOR_H
#define TB_AXI_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port.h"

typedef enum tb_axi_rule {
    AXI4_ERRM_AWADDR_BOUNDARY,
    AXI4_ERRM_ARADDR_BOUNDARY,
    AXI4_ERRM_AWSIZE,
    AXI4_ERRM_ARSIZE,
    AXI4_ERRM_AWVALID_STABLE,
    AXI4_ERRM_WVALID_STABLE,
    AXI4_ERRS_BVALID_STABLE,
    AXI4_ERRM_ARVALID_STABLE,
    AXI4_ERRS_RVALID_STABLE,
    AXI4_ERRM_AWADDR_STABLE,
    AXI4_ERRM_ARADDR_STABLE,
    AXI4_ERRM_WDATA_STABLE,
    AXI4_ERRS_RDATA_STABLE,
    AXI4_ERRS_BRESP_STABLE,
    AXI4_ERRM_WDATA_NUM,
    AXI4_ERRM_WSTRB,
    AXI4_ERRS_RDATA_NUM,
    AXI4_ERRS_RID,
    AXI4_ERRS_BRESP_AW,
    AXI4_ERRS_BRESP_WLAST,
    /* first edge after reset */
    AXI4_ERRM_AWVALID_RESET,
    AXI4_ERRM_WVALID_RESET,
    AXI4_ERRS_BVALID_RESET,
    AXI4_ERRM_ARVALID_RESET,
    AXI4_ERRS_RVALID_RESET,
    TB_AXI_RULES
} tb_axi_rule;

/* "AXI4_ERRM_AWADDR_BOUNDARY" ...; AXI4-Lite ports use the same names. */
const char *tb_axi_rule_name(tb_axi_rule rule);

#define TB_AXI_KEEP 16u /* violations kept */

typedef struct tb_axi_violation {
    tb_axi_rule rule;
    tb_axi_channel channel;
    uint64_t cycle;
    uint64_t addr;  /* of the burst, 0 where none is known */
    char text[128]; /* one sentence */
} tb_axi_violation;

typedef struct tb_axi_mon_cfg {
    const char *name; /* of the port, in reports */
    uint32_t port;    /* number of the port in the trace hash */
    bool lite;
    uint32_t bytes; /* of the data bus */
    uint32_t depth; /* expected bursts in flight; more make the tables grow (0: 32) */
    uint64_t *hash; /* trace hash to add to, or NULL; may be shared between ports that are sampled in a fixed order */
} tb_axi_mon_cfg;

typedef struct tb_axi_stats {
    uint64_t beats[TB_AXI_CHANNELS];  /* handshakes */
    uint64_t stall[TB_AXI_CHANNELS];  /* cycles with valid and without ready */
    uint64_t read_bytes, write_bytes; /* used lanes of R, strobed lanes of W */
    uint64_t error_resp[2];           /* R beats, B */
    uint32_t max_reads, max_writes;   /* most bursts in flight */
} tb_axi_stats;

/* A burst in flight. */
typedef struct tb_axi_open {
    uint64_t addr;
    uint32_t id;
    uint32_t beat;  /* beats seen */
    uint64_t since; /* cycle of its address */
    uint64_t moved; /* of its last beat, or the same */
    uint8_t len, size, burst;
    bool data_done, resp_done;
} tb_axi_open;

typedef struct tb_axi_early {
    uint64_t strb[2];
    bool last;
} tb_axi_early;

typedef struct tb_axi_monitor {
    tb_axi_mon_cfg cfg;
    tb_axi_open *rd, *wr; /* rings */
    uint32_t rd_cap, rd_head, rd_count;
    uint32_t wr_cap, wr_head, wr_count, wr_filled; /* wr_filled: bursts at the head whose data is complete */
    tb_axi_early *early;                           /* ring of data beats that came before their address */
    uint32_t early_cap, early_head, early_count;
    tb_axi_sample prev; /* last sample; payload kept only for channels that were stalled */
    uint8_t prev_w[TB_AXI_MAX_BYTES], prev_r[TB_AXI_MAX_BYTES];
    bool in_reset;
    uint8_t stalled; /* bit per channel: valid and not ready at the last sample */
    bool oom;
    tb_axi_stats stats;
    uint64_t progress;                       /* handshakes on all channels */
    uint64_t last;                           /* cycle of the last one */
    uint64_t stalled_since[TB_AXI_CHANNELS]; /* of each channel that is stalled */
    uint64_t violations;                     /* all of them */
    uint64_t per_rule[TB_AXI_RULES];
    tb_axi_violation first[TB_AXI_KEEP];
} tb_axi_monitor;

/* 0 or -1 (data width, out of memory). Starts as in reset. */
int tb_axi_mon_init(tb_axi_monitor *mon, const tb_axi_mon_cfg *cfg);
void tb_axi_mon_free(tb_axi_monitor *mon);
/* The next sample is the first edge after a reset. */
void tb_axi_mon_reset(tb_axi_monitor *mon);
/* One rising edge. Cycles without any valid may be left out when nothing was stalled. */
void tb_axi_mon_step(tb_axi_monitor *mon, const tb_axi_sample *s);
/* Bursts in flight at the end: reads, writes. */
void tb_axi_mon_open(const tb_axi_monitor *mon, uint32_t *reads, uint32_t *writes);
/* The i-th burst in flight of one direction, the oldest first; NULL: there are no more. */
const tb_axi_open *tb_axi_mon_burst(const tb_axi_monitor *mon, bool write, uint32_t i);
/* "AXI4_ERRM_WSTRB on m0 at cycle 12, address 0x...: text" */
void tb_axi_violation_text(const tb_axi_monitor *mon, const tb_axi_violation *v, char *dst, size_t size);

/* Sample a bound port and step; idle cycles cost a few loads. */
static inline void tb_axi_mon_port(tb_axi_monitor *mon, const tb_axi_port *port, uint64_t cycle) {
    if (!(*port->aw.valid | *port->w_valid | *port->b_valid | *port->ar.valid | *port->r_valid | mon->stalled | (uint8_t)mon->in_reset)) {
        return;
    }
    tb_axi_sample s;
    tb_axi_sample_port(port, cycle, true, &s);
    tb_axi_mon_step(mon, &s);
}

#endif
