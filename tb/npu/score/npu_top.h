/* npu_top.h - the ends of the wires that the check of the whole NPU compares. */
#ifndef NPU_SCORE_NPU_TOP_H
#define NPU_SCORE_NPU_TOP_H

#include "npu_regs.h"
#include "wires.h"

#define UNITS 3u
#define CHANNELS 2u
#define READERS 6u /* requesters of a channel */
#define WRITERS 3u
#define UNKNOWN 16u /* cycles after a reset in which a clock may run */
/* 16-bit words of perf_level_o: levels of send_buf, of each unit in both channels; bursts in flight */
#define LEVELS_SEND (UNITS * CHANNELS)
#define INFLIGHT_AT 8u

#define UNIT_PORTS                                                                                                     \
    rst_ni, task_valid_i, busy_o, rd_req_valid_o, rd_req_ready_i, rd_req_addr_o, rd_req_bytes_o, rd_valid_i,           \
        rd_ready_o, rd_data_i, wr_req_valid_o, wr_req_ready_i, wr_req_addr_o, wr_req_bytes_o, wr_valid_o, wr_ready_i,  \
        wr_data_o, wr_idle_i, wr_level_i
#define RD_PORTS                                                                                                       \
    flush_i, idle_o, req_valid_i, req_ready_o, req_addr_i, req_bytes_i, dat_valid_o, dat_ready_i, dat_id_o, dat_o,     \
        err_o, ev_beat_o, ev_burst_o, ev_wait_bus_o, ev_wait_user_o, inflight_o, arvalid_o, arready_i, araddr_o,       \
        arlen_o, rvalid_i, rready_o, rdata_i, rresp_i, rlast_i
#define WR_PORTS                                                                                                       \
    flush_i, idle_o, req_valid_i, req_ready_o, req_addr_i, req_bytes_i, wdat_valid_i, wdat_ready_o, wdat_i,            \
        idle_req_o, err_o, ev_beat_o, ev_burst_o, ev_wait_bus_o, ev_wait_data_o, inflight_o, awvalid_o, awready_i,     \
        awaddr_o, awlen_o, wvalid_o, wready_i, wdata_o, wstrb_o, wlast_o, bvalid_i, bready_o, bresp_i
#define SEND_PORTS rst_ni, wvalid_i, wready_o, wdata_i, rvalid_o, rready_i, rdata_o, level_o
#define BUS_PORTS                                                                                                      \
    arvalid, arready, araddr, arlen, rvalid, rready, rdata, rresp, rlast, awvalid, awready, awaddr, awlen, wvalid,     \
        wready, wdata, wstrb, wlast, bvalid, bready, bresp
/* One unit's ends. Requesters of a channel are numbered as in npu_pkg::RdId* and WrId*. */
typedef struct ends {
    const char *name;
    /* its first requester of a read channel, how many they are, its requester of a write channel */
    uint32_t first, count, wr;
    TB_PORTS(ports, UNIT_PORTS);
    tb_sig clock;
} ends;

/* A wire with a different name at each end, compared while `when` is not 0. */
typedef struct link {
    const char *stream;
    tb_sig got, expected;
    const uint8_t *when; /* NULL: always, and it is no wider than 8 bits */
} link;

#define LINKS 24u

/* One channel's ends, and the ports of the NPU that it must be connected to. */
typedef struct channel {
    TB_SIGNALS(rd, RD_PORTS);
    TB_SIGNALS(wr, WR_PORTS);
    TB_SIGNALS(send, SEND_PORTS);
    TB_SIGNALS(bus, BUS_PORTS);
    link link[LINKS];      /* those whose ends are different variables of the simulation */
    uint32_t links, plain; /* so many; the first ones have no `when` */
    bool words_apart;      /* the same for the words between send_buf and dma_wr */
} channel;

/* Bytes on the wires of data, and of a request: address, number of bytes. */
#define WORD 16u
#define ADDRESS 4u
#define BYTES 3u

/* Groups of wires, which are compared when one of them has changed. Valids and readies of requests of reads, of data
 * that was read, of writes; resets, errors, clocks and so on. */
enum { REQUESTS = 1, DATA = 2, WRITES = 4, STATES = 8, ALL_GROUPS = 15 };

/* An address, a word and so on, to be compared in this cycle. */
typedef struct carried {
    const uint8_t *got, *expected;
} carried;

typedef struct carried_name {
    const char *stream, *of;
    uint32_t ch, bytes;
} carried_name;

#define CARRIED_MOST (24u * CHANNELS)

/*
 * What the handshakes of a group say is carried. They are the same in most cycles, and then this is the same as well:
 * only the values differ.
 */
typedef struct load {
    uint32_t count;
    carried both[CARRIED_MOST];
    carried_name name[CARRIED_MOST];
} load;

/*
 * Events of the channels, 16 bytes of the design side by side, and behind them their bursts in flight, {rd0, wr0, rd1,
 * wr1}. Byte i of 8 times the 8 places has in its highest byte a bit for each event, in the order of the counters.
 */
#define EVENTS 16u
typedef struct side_by_side {
    const uint8_t *at;
    uint64_t places[2];
    bool apart; /* they lie elsewhere */
} side_by_side;

#define PORTS bus_err_i, srst_o, drained_i
#define PERF_PORTS perf_event_o, perf_level_o
typedef struct state {
    npu_wires wires;
    /* groups in which something is accepted; STATES: the clocks need a look although no wire of theirs changes */
    uint32_t again;
    uint32_t first;   /* groups to be compared although no wire changes: all in the first cycle */
    bool others;      /* something is in rd_requests or wr_requests, or some links are apart, */
    bool links_apart; /* of those with a `when` */
    /* What is compared whenever something was accepted. Levels of the counters, of send_buf, and as the units see them,
     * by the number of their requester of writes; events of the counters; requesters of data, as GEMM sees them, and of
     * dma_rd. */
    const uint16_t *level, *sent[CHANNELS], *seen[UNITS];
    const uint8_t *event, *gemm_ids, *ids[CHANNELS];
    const uint8_t *read[CHANNELS], *data[CHANNELS]; /* data, as the units see it, and of dma_rd */
    const uint8_t *answered[CHANNELS]; /* valids of B, the only handshakes that change a level without an event */
    side_by_side sides;
    bool data_apart;               /* units see different variables */
    load wr_words;                 /* of data */
    load rd_requests, wr_requests; /* in turn an address, and a number of bytes */
    uint32_t unknown;              /* remaining cycles in which clocks may run */
    /* units that had work: a field of UNITS bits for each of the last cycles, the newest one lowest */
    uint32_t worked;
    ends unit[UNITS]; /* gemm, alu, pool: the order of the clock gates */
    channel ch[CHANNELS];
    TB_PORTS(ports, PORTS);       /* of npu_regs */
    TB_SIGNALS(perf, PERF_PORTS); /* ports of the NPU */
    tb_sig gemm_id;
} state;

/* Events of the channels, by the numbers of their counters (docs/npu/npu.md section 5): channel 0, then 1. */
#define C(name) NPU_PERF_SEL_SEL_##name
#define CHANNEL_EVENTS                                                                                                 \
    (3u << C(READ0_BEATS) | 3u << C(WRITE0_BEATS) | 3u << C(READ0_BURSTS) | 3u << C(WRITE0_BURSTS) |                   \
     3u << C(READ0_WAITS_BUS) | 3u << C(READ0_HELD) | 3u << C(WRITE0_WAITS_BUS) | 3u << C(WRITE0_WAITS_DATA))

int npu_score_top_open(tb_check *c, char *err, size_t err_size);

#endif
