/*
 * slave.h - memory-backed AXI4 slave with random latency, back-pressure and errors.
 *
 * Responses are in order, unless the profile reorders those of different IDs. Nothing is allocated after
 * tb_axi_slave_init(). Accesses outside memory get DECERR.
 */
#ifndef TB_AXI_SLAVE_H
#define TB_AXI_SLAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../case/rng.h"
#include "../mem/ddr.h"
#include "port.h"
#include "ready.h"

/* A named bus timing; times are in cycles. */
typedef struct tb_axi_profile {
    const char *name;
    tb_axi_ready_profile aw, w, ar;
    uint16_t read_lat_min, read_lat_max;   /* from AR to the first beat */
    uint16_t write_lat_min, write_lat_max; /* from the last W to B */
    uint16_t gap, gap_max;                 /* chance in 256 of 1..gap_max idle cycles before a beat of R */
    /* chance in 256 at each burst of a long pause of 1..stop_max cycles on all channels */
    uint16_t stop, stop_max;
    uint16_t outstanding; /* largest number of bursts in flight, reads and writes each */
    bool data_first;      /* W may be accepted before its AW */
    bool late_commit;     /* written data reaches memory only when B is sent */
    uint16_t reorder; /* chance in 256, at each beat of R and each B, that a burst of another ID is answered first */
    uint16_t lite_gap_max; /* register accesses: longest delay of each channel */
} tb_axi_profile;

/* Table of profiles, mildest first: ideal, fast, typical, slow, bursty, hostile. Then writes: fast reads, slow writes;
 * and reorder: answers out of order and interleaved across IDs. */
extern const tb_axi_profile tb_axi_profiles[];
extern const size_t tb_axi_profile_count;
/* The profile of this name; NULL: there is none. */
const tb_axi_profile *tb_axi_profile_find(const char *name);
/* The names of all profiles, "ideal, fast, ...", for error lines and help. */
void tb_axi_profile_names(char *dst, size_t size);

typedef struct tb_axi_read_slot {
    uint64_t addr, at; /* at: earliest cycle of the first beat */
    uint32_t id;
    uint16_t beat;     /* next one */
    bool done;         /* answered, while an older burst is not */
    uint16_t err_beat; /* beat with an error; TB_AXI_NO_BEAT, TB_AXI_ALL_BEATS */
    uint8_t err_resp;
    uint8_t len, size, burst;
} tb_axi_read_slot;

typedef struct tb_axi_write_slot {
    uint64_t addr, at;
    uint32_t id;
    uint16_t beats; /* received */
    uint8_t len, size, burst;
    uint8_t err_resp; /* OKAY: none */
    uint16_t err_beat;
    bool have_aw, have_last, decerr, committed, done;
} tb_axi_write_slot;

/* A burst that gets an error response. */
typedef struct tb_axi_inject {
    uint64_t number; /* of the burst, counted from creation */
    uint16_t beat;
    uint8_t resp;
} tb_axi_inject;

#define TB_AXI_SLAVE_CAP 64u /* bursts each way, a power of two */
#define TB_AXI_SLAVE_INJECT 8u
#define TB_AXI_NO_BEAT 0xffffu
#define TB_AXI_ALL_BEATS 0xfffeu
#define TB_AXI_ANY_BEAT 0xfffdu
#define TB_AXI_SLAVE_ERRORS 32u /* addresses kept */

typedef struct tb_axi_slave {
    tb_axi_port *port;
    tb_ddr *mem;
    unsigned agent; /* set by the caller: number of this slave in the events of the memory (tb_ddr.agent); 0 at first */
    const tb_axi_profile *profile;
    tb_rng rng;
    uint64_t cycle;
    tb_axi_ready aw_rdy, w_rdy, ar_rdy;
    /* reads: slots [rd_head, rd_tail) */
    tb_axi_read_slot rd[TB_AXI_SLAVE_CAP];
    uint32_t rd_head, rd_tail, rd_now; /* rd_now: the burst whose beat comes next or is on the bus */
    uint64_t r_at;
    bool r_live;
    /* writes: B for wr_head, data of wr_data, address of wr_tail next */
    tb_axi_write_slot wr[TB_AXI_SLAVE_CAP];
    uint32_t wr_head, wr_data, wr_tail, wr_now; /* wr_now: the burst whose B is on the bus */
    bool b_live;
    uint8_t *wr_buf; /* TB_AXI_SLAVE_CAP x 256 beats */
    uint64_t *wr_strb;
    uint64_t stop_until;
    /* channels that hang (tb_axi_slave_hang): a bit each; handshakes left before that */
    uint8_t hang, hung;
    uint64_t hang_left[TB_AXI_CHANNELS];
    /* channels that are slow (tb_axi_slave_slow): most cycles between two handshakes; cycle of the next one */
    bool slow_on;
    uint16_t slow[TB_AXI_CHANNELS];
    uint64_t slow_at[TB_AXI_CHANNELS];
    uint64_t flip_in; /* tb_axi_slave_flip: the beat of read data so many from now; 0: none */
    tb_axi_inject inject[2][TB_AXI_SLAVE_INJECT];
    uint32_t injects[2];
    uint64_t bursts[2]; /* accepted: reads, writes */
    uint64_t errors[2]; /* error responses sent */
    /* their addresses, number i in place i % TB_AXI_SLAVE_ERRORS: of the beat (reads), of the burst (writes) */
    uint64_t error_addr[2][TB_AXI_SLAVE_ERRORS];
} tb_axi_slave;

/* Returns 0 or -1 (out of memory). The port, the memory and the profile must outlive the slave. */
int tb_axi_slave_init(tb_axi_slave *slave, tb_axi_port *port, tb_ddr *mem, const tb_axi_profile *profile, tb_rng rng);
void tb_axi_slave_free(tb_axi_slave *slave);
/* Drop what is in flight (reset of the design); incomplete write data is lost. */
void tb_axi_slave_reset(tb_axi_slave *slave);
/* Before settle: set ready, valid and payload for this cycle. */
void tb_axi_slave_drive(tb_axi_slave *slave, uint64_t cycle);
/* After settle, before the edge: process the handshakes of this cycle. */
void tb_axi_slave_sample(tb_axi_slave *slave);
/*
 * Respond to the k-th burst from now (0: the next accepted) with an error, TB_AXI_SLVERR or TB_AXI_DECERR. dir: 0 read,
 * 1 write. beat, of a read: the beat with the error (the last one where there are fewer), TB_AXI_ALL_BEATS, or
 * TB_AXI_ANY_BEAT: one of them at random; the data of such a beat are junk. Of a write: the first `beat` beats are
 * written nevertheless (TB_AXI_ALL_BEATS: all, TB_AXI_ANY_BEAT: a random number); at the addresses of the others memory
 * holds junk then. false: too many pending.
 */
bool tb_axi_slave_inject_as(tb_axi_slave *slave, unsigned dir, uint64_t k, uint8_t resp, uint16_t beat);
/* The same with SLVERR: of a read on any beat; of a write all bytes become junk. */
bool tb_axi_slave_inject(tb_axi_slave *slave, unsigned dir, uint64_t k);
/*
 * A broken memory: after `k` more handshakes on the channel (0: none) its ready (AW, W, AR) or valid (R, B) never rises
 * again; a beat of R or B that is already valid counts as one of them and always completes. A reset does not repair it.
 */
void tb_axi_slave_hang(tb_axi_slave *slave, tb_axi_channel channel, uint64_t k);
/* A slow memory: from now on up to `most` cycles pass on the channel between two handshakes, at random. 0: as in the
 * profile. */
void tb_axi_slave_slow(tb_axi_slave *slave, tb_axi_channel channel, uint16_t most);
/* End all faults: no channel hangs or is slow any more, and no error waits to be injected. */
void tb_axi_slave_mend(tb_axi_slave *slave);
/* A broken memory: the k-th beat of read data from now (1: the next) has the second highest bit of each byte inverted,
 * once. */
void tb_axi_slave_flip(tb_axi_slave *slave, uint64_t k);

#endif
