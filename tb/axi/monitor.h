/*
 * monitor.h - protocol checker, statistics and trace hash of one AXI4 or AXI4-Lite port.
 *
 * tb_axi_mon_step() works on samples only, so the same rules run in simulation, on recorded traces and in unit tests; X
 * rules fire where samples have X. Both sides of the port are checked. How to use it: docs/axi-checker.md; every rule:
 * docs/axi-rules.md.
 *
 * Policy: a response at the same edge as the last handshake that it depends on is an error; valid in reset or at the
 * first edge after it is an error (at the first edge of a reset in the middle of traffic it is not: a synchronous reset
 * cannot be faster); an address is checked when its valid rises, and again when it changes; data must be stable on used
 * lanes. After a violation the checker continues with the most likely intent of both sides, so that one mistake is one
 * violation.
 */
#ifndef TB_AXI_MONITOR_H
#define TB_AXI_MONITOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "port.h"
#include "rules.h"

#define TB_AXI_KEEP 16u /* errors kept, and as many notes and warnings */

typedef struct tb_axi_violation {
    tb_axi_rule rule;
    tb_axi_severity severity;
    tb_axi_channel channel;
    uint64_t cycle;
    /* the burst that it is about; false: none is known, and the rest is 0 but perhaps addr */
    bool has_burst, write;
    uint64_t number;    /* of the burst: the n-th of its direction on this port, from 1 */
    uint64_t id, addr;  /* its ID and address */
    uint64_t since;     /* cycle in which its address was accepted, or first offered */
    uint8_t len, size;  /* beats - 1, log2 of the bytes of a beat */
    uint8_t burst;      /* TB_AXI_INCR ... */
    uint16_t beat;      /* from 1; 0: not about one beat */
    uint64_t beat_addr; /* bus-aligned address of that beat */
    char text[192];     /* one sentence */
} tb_axi_violation;

#define TB_AXI_QUIET 1000u

struct tb_axi_monitor;
/* Called for each violation that is not off, during tb_axi_mon_step(). */
typedef void (*tb_axi_report_fn)(void *ctx, const struct tb_axi_monitor *mon, const tb_axi_violation *v);

typedef struct tb_axi_range {
    uint64_t base, bytes;
} tb_axi_range;

/* Rules of a project (PROJ_*): off without `on`; each further one only if its limit is not 0 or its switch is true. */
typedef struct tb_axi_project {
    bool on;
    uint32_t max_writes, max_reads; /* bursts in flight */
    bool incr_only, no_lock;
    bool no_narrow;             /* recommendation: bursts of several beats have the width of the bus */
    bool read_only, write_only; /* the other direction stays idle */
    bool order;                 /* a read of bytes waits for the response of the write of these bytes */
    bool reset_async;           /* all valids are low at the first edge of a reset */
    uint64_t ids;               /* IDs are below this */
    uint32_t addr_bits;         /* of the address space, 1 .. 63 */
    const tb_axi_range *ranges; /* that are mapped; must outlive the monitor */
    uint32_t range_count;
    uint32_t align;                             /* bytes, a power of two: start of every burst */
    uint32_t w_gap, r_gap, wlast_to_aw, w_to_b; /* cycles, recommendations */
} tb_axi_project;

/* Zero is the default of every member but `bytes`. tb_axi_mon_defaults() fills in what a port knows. */
typedef struct tb_axi_mon_cfg {
    const char *name; /* of the port, in reports; must outlive the monitor */
    uint32_t port;    /* number of the port in the trace hash */
    bool lite;
    uint32_t bytes;       /* of the data bus: 1 .. 128, AXI4-Lite 4 or 8 */
    tb_axi_widths widths; /* 0: tied off, must be 0 */
    /* expected bursts in flight: tables of this size from the start, so that nothing is allocated later (0: 32) */
    uint32_t depth;
    uint32_t max_depth;  /* more bursts in flight of one direction are not followed (0: no limit, the tables grow) */
    uint32_t exclusives; /* IDs whose exclusive read is tracked (0: 64) */
    uint32_t max_waits;  /* cycles from valid to ready, a recommendation (0: 16; UINT32_MAX: any) */
    bool no_exclusive;   /* leave out AXI4_RECM_EXCL_MATCH and _PAIR */
    bool strict_data;    /* data is stable on all lanes */
    bool error_data_x;   /* RDATA may be X beside SLVERR and DECERR */
    bool
        /* the first sample is in the middle of traffic: until a reset, or until a direction was idle for TB_AXI_QUIET
         * cycles, responses and bursts are not matched */
        running;
    uint64_t from; /* violations before this cycle are neither counted nor reported, but the traffic is followed */
    tb_axi_project proj;
    uint8_t severity[TB_AXI_RULES]; /* tb_axi_severity of each rule */
    tb_axi_report_fn report;        /* or NULL */
    void *report_ctx;
    uint64_t *hash; /* trace hash to add to, or NULL; may be shared between ports that are sampled in a fixed order */
} tb_axi_mon_cfg;

#define TB_AXI_LATENCY_BINS                                                                                            \
    48u /* 0 .. 15 cycles one by one, then four bins for each doubling, the last one without an end */
#define TB_AXI_DEPTH_BINS 33u /* 0 .. 31 bursts in flight, 32 or more */

#define TB_AXI_LENGTHS 9u /* classes of bursts: 1, 2, 3 .. 4, 5 .. 8 and so on, 129 .. 256 beats */
#define TB_AXI_ALIGNS 13u /* the largest power of two, up to 4 KB, that divides the first address: 2^bin */
#define TB_AXI_ROOMS 5u   /* beats from the end of an INCR burst to the next 4 KB: none, 1, 2 .. 3, 4 .. 15, more */

/* Strobes of a beat of data, and its place in its burst. */
typedef enum tb_axi_strobes {
    TB_AXI_STROBES_ALL,
    TB_AXI_STROBES_LOW,  /* from the lowest lane on */
    TB_AXI_STROBES_HIGH, /* up to the highest lane */
    TB_AXI_STROBES_INNER,
    TB_AXI_STROBES_HOLES,
    TB_AXI_STROBES_NONE,
    TB_AXI_STROBES_KINDS
} tb_axi_strobes;
typedef enum tb_axi_beat_place {
    TB_AXI_BEAT_ONLY,
    TB_AXI_BEAT_FIRST,
    TB_AXI_BEAT_MIDDLE,
    TB_AXI_BEAT_LAST,
    TB_AXI_BEAT_PLACES
} tb_axi_beat_place;

/* Bursts of one direction. Latencies are of complete bursts, in cycles from the accepted address; 0 where data came
 * before it. */
typedef struct tb_axi_dir_stats {
    uint64_t bursts[256];                          /* accepted, by beats - 1 */
    uint64_t first[TB_AXI_LATENCY_BINS];           /* to the first beat of data */
    uint64_t latency[TB_AXI_LATENCY_BINS];         /* to the last beat of a read, to the response of a write */
    uint64_t latency_sum, latency_max;             /* of latency */
    uint64_t complete;                             /* bursts */
    uint64_t depth[TB_AXI_DEPTH_BINS];             /* cycles with so many bursts in flight, up to the last change */
    uint64_t changed;                              /* the cycle of that */
    uint64_t start[TB_AXI_LENGTHS][TB_AXI_ALIGNS]; /* bursts by length and first address */
    uint64_t room[TB_AXI_LENGTHS][TB_AXI_ROOMS];   /* INCR bursts by length and what is left before the next 4 KB */
} tb_axi_dir_stats;

typedef struct tb_axi_stats {
    uint64_t beats[TB_AXI_CHANNELS];                            /* handshakes */
    uint64_t stall[TB_AXI_CHANNELS];                            /* cycles with valid and without ready */
    uint64_t read_bytes, write_bytes;                           /* used lanes of R, strobed lanes of W */
    uint64_t error_resp[2];                                     /* R beats, B */
    uint32_t max_reads, max_writes;                             /* most bursts in flight */
    tb_axi_dir_stats dir[2];                                    /* reads, writes */
    uint64_t strobes[TB_AXI_BEAT_PLACES][TB_AXI_STROBES_KINDS]; /* beats of W */
} tb_axi_stats;

/* A burst in flight. */
typedef struct tb_axi_open {
    uint64_t addr;
    uint64_t id;
    uint64_t number;   /* of its direction, from 1 */
    uint64_t since;    /* cycle of its address */
    uint64_t moved;    /* of its last beat, or the same */
    uint64_t first;    /* of its first beat */
    uint64_t from, to; /* lowest and highest byte that was strobed, if wrote; only with proj.order */
    uint32_t beat;     /* beats seen */
    uint8_t len, size, burst;
    bool lock, data_done, resp_done, wrote;
    bool full;       /* INCR as wide as the bus */
    uint8_t unknown; /* unknown properties because of X or of an illegal address: bits in mon_priv.h */
    uint16_t slack;  /* beats that may have been transferred while valid or ready was X */
} tb_axi_open;

/* A beat of data that came before its address. */
typedef struct tb_axi_early {
    uint64_t strb[2];
    uint64_t cycle;
    bool last, last_x;
    bool guessed; /* strobes are not known */
} tb_axi_early;

/* The exclusive read that an ID made last. */
typedef struct tb_axi_exclusive {
    uint64_t id;
    tb_axi_ax ax;
    uint64_t x; /* of its signals, in the place of AW's */
} tb_axi_exclusive;

/* A burst with a wrong number of beats, until it is clear where the next one begins. */
typedef struct tb_axi_resync {
    bool active;
    bool missing; /* there was no last beat; else it came too early */
    uint64_t id;
    uint32_t owed;  /* beats that the burst lacks */
    uint32_t beats; /* seen since */
    bool again;     /* later beats were taken as a burst, and may have been its rest: those now may be of that burst */
    tb_axi_open of; /* the burst, as it was when it broke */
} tb_axi_resync;

#define TB_AXI_HELD 256u /* beats of the longest burst */

#define TB_AXI_RESYNCS 4u /* reads of so many IDs at a time */

typedef struct tb_axi_monitor {
    tb_axi_mon_cfg cfg;
    uint32_t size_max;    /* log2 of the bytes of the bus */
    uint32_t max_waits;   /* of cfg, or its default */
    tb_axi_open *rd, *wr; /* rings; a burst that is complete stays until the older ones are */
    uint32_t rd_cap, rd_head, rd_count;
    uint32_t wr_cap, wr_head, wr_count, wr_filled; /* wr_filled: bursts at the head whose data is complete */
    uint32_t rd_live, wr_live;                     /* really in flight */
    tb_axi_early *early;                           /* ring of data beats that came before their address */
    uint32_t early_cap, early_head, early_count;
    tb_axi_sample prev; /* last sample; payload kept only for channels that were stalled */
    uint8_t prev_w[TB_AXI_MAX_BYTES], prev_r[TB_AXI_MAX_BYTES];
    bool begun;
    bool in_reset; /* the next edge with reset high is the first one */
    /* after a reset: a sample in it, or tb_axi_mon_reset(); else the samples just begin */
    bool reset_known;
    bool first_edge;    /* this one is */
    bool low;           /* reset was low at the last sample */
    uint8_t reset_said; /* bit per channel: its valid in this reset is reported */
    uint8_t stalled;    /* bit per channel: valid and not ready at the last sample */
    uint8_t maybe;      /* bit per channel: valid and X on ready: the next sample tells whether that was a handshake */
    uint64_t x_said;    /* bit per signal: its X is reported */
    uint64_t lanes[2];  /* of the bus */
    bool one_id;        /* IDs are ignored: AXI4-Lite, or the port has none */
    bool w_extra;       /* project rules need each beat of W */
    /* last beats of W, while bursts are counted: equal to number[1] when data and addresses are level */
    uint64_t w_lasts;
    bool w_inside;    /* the last beat of W was not the last of its burst */
    uint64_t w_moved; /* cycle of that beat */
    bool r_stray;     /* inside a burst of read data without a request, with this ID */
    uint64_t r_stray_id;
    bool r_told;    /* its violation lies in the cycles that count */
    bool told_data; /* data on a port that only reads is reported */
    bool oom;
    bool over; /* tb_axi_mon_finish() was called */
    tb_axi_exclusive *excl;
    uint32_t excl_cap, excl_count;
    bool excl_lost; /* some were not stored */
    /* reads, writes: bursts in flight that are not followed, until there are none; UINT64_MAX: their number is not
     * known (cfg.running) */
    uint64_t blind[2];
    uint64_t active[2]; /* cycle of the last valid, while that number is not known */
    bool blind_said[2];
    uint32_t wild[2];   /* bursts in flight whose ID was X */
    uint32_t excuse[2]; /* responses that may have no burst, because a handshake was X */
    /* responses that X may have hidden: as many bursts may lack theirs at the end, unless none was in flight since */
    uint32_t unsure[2];
    uint64_t strays[2], stray_at[2]; /* responses without a burst, and the cycle of the last one: excuse nothing */
    tb_axi_resync w_sync, r_sync[TB_AXI_RESYNCS];
    uint64_t sync_strb[TB_AXI_HELD][2]; /* strobes of the beats that w_sync has seen; 0 where they are not known */
    uint32_t syncs;                     /* of r_sync that are active */
    uint64_t stray_b[8];                /* IDs of responses to complete data whose address had not come */
    uint32_t stray_bs;
    uint64_t number[2]; /* bursts accepted: reads, writes */
    tb_axi_stats stats;
    uint64_t begin;                          /* cycle of the first sample */
    uint64_t progress;                       /* handshakes on all channels */
    uint64_t last;                           /* cycle of the last one */
    uint64_t stalled_since[TB_AXI_CHANNELS]; /* of each channel that is stalled */
    uint64_t deadline;                       /* cycle at which the first of them has waited too long */
    uint8_t waited;                          /* bit per channel: reported */
    uint64_t violations;                     /* errors, all of them */
    uint64_t notes;                          /* notes and warnings */
    uint64_t per_rule[TB_AXI_RULES];         /* of any severity but off */
    uint64_t first_cycle[TB_AXI_RULES];      /* of those, if there are any */
    tb_axi_violation first[TB_AXI_KEEP];     /* errors */
    tb_axi_violation first_note[TB_AXI_KEEP];
} tb_axi_monitor;

/* cfg of a bound port: lite, bytes, widths; everything else 0. */
void tb_axi_mon_defaults(tb_axi_mon_cfg *cfg, const char *name, const tb_axi_port *port);
/*
 * 0 or -1: out of memory, or an illegal data width, which then is the monitor's one violation (AXI4_AUXM_DATA_WIDTH or
 * AXI4LITE_AUXM_DATA_WIDTH). After -1 the monitor must not be stepped; tb_axi_mon_free() is allowed. Nothing is in
 * flight at first.
 */
int tb_axi_mon_init(tb_axi_monitor *mon, const tb_axi_mon_cfg *cfg);
void tb_axi_mon_free(tb_axi_monitor *mon);
/* The next sample is the first edge after a reset: for benches that do not sample in reset. What is in flight is
 * forgotten. */
void tb_axi_mon_reset(tb_axi_monitor *mon);
/* One rising edge. Cycles without any valid may be left out when nothing was stalled, reset is high and no signal is X.
 */
void tb_axi_mon_step(tb_axi_monitor *mon, const tb_axi_sample *s);
/*
 * The end of a complete run: nothing may be in flight (the rules that end in _EOS), depth statistics reach to `cycle`.
 * Not for runs that were cut off. A second call does nothing.
 */
void tb_axi_mon_finish(tb_axi_monitor *mon, uint64_t cycle);
/* Severity of a rule on this port, never TB_AXI_SEV_DEFAULT. */
tb_axi_severity tb_axi_mon_severity(const tb_axi_monitor *mon, tb_axi_rule rule);
/* Bursts in flight: reads, writes. */
void tb_axi_mon_open(const tb_axi_monitor *mon, uint32_t *reads, uint32_t *writes);
/* The i-th burst in flight of one direction, the oldest first; NULL: there are no more. */
const tb_axi_open *tb_axi_mon_burst(const tb_axi_monitor *mon, bool write, uint32_t i);
/* "AXI4_ERRM_WSTRB on m0 (W) at cycle 12, write 3, ID 0, 0x1000 ...: text"; 320 bytes are enough. */
void tb_axi_violation_text(const tb_axi_monitor *mon, const tb_axi_violation *v, char *dst, size_t size);

/* First cycle of a latency bin; the bin goes to the first cycle of the next one. */
uint64_t tb_axi_latency_from(uint32_t bin);
/* A table of the port's statistics for a person, some lines; as one JSON object without a newline. `cycle`: now. */
void tb_axi_stats_print(const tb_axi_monitor *mon, uint64_t cycle, FILE *out);
void tb_axi_stats_json(const tb_axi_monitor *mon, uint64_t cycle, FILE *out);

/* Sample a bound port outside reset and step; idle cycles cost a few loads. */
static inline void tb_axi_mon_port(tb_axi_monitor *mon, const tb_axi_port *port, uint64_t cycle) {
    if (!(*port->aw.valid | *port->w_valid | *port->b_valid | *port->ar.valid | *port->r_valid | mon->stalled |
          (uint8_t)mon->in_reset)) {
        return;
    }
    tb_axi_sample s;
    tb_axi_sample_port(port, cycle, true, &s);
    tb_axi_mon_step(mon, &s);
}

#endif
