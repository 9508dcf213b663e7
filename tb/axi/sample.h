/*
 * sample.h - all signals of one AXI4 or AXI4-Lite port at one rising clock edge.
 *
 * The input of monitor and log. A source of samples (tb_axi_sample_port() in simulation, a reader of waveforms, a test)
 * needs nothing else of the framework.
 */
#ifndef TB_AXI_SAMPLE_H
#define TB_AXI_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_AXI_MAX_BYTES 128u /* data width 1024 bits */

enum { TB_AXI_FIXED = 0, TB_AXI_INCR = 1, TB_AXI_WRAP = 2 };
enum { TB_AXI_OKAY = 0, TB_AXI_EXOKAY = 1, TB_AXI_SLVERR = 2, TB_AXI_DECERR = 3 };
typedef enum tb_axi_channel { TB_AXI_AW, TB_AXI_W, TB_AXI_B, TB_AXI_AR, TB_AXI_R, TB_AXI_CHANNELS } tb_axi_channel;

/* "AW" ... */
const char *tb_axi_channel_name(tb_axi_channel channel);

/* Every signal of a port: its bit in tb_axi_sample.x. AW and AR have the same order. */
typedef enum tb_axi_signal {
    TB_AXI_ARESETN,
    TB_AXI_AWVALID,
    TB_AXI_AWREADY,
    TB_AXI_AWADDR,
    TB_AXI_AWID,
    TB_AXI_AWLEN,
    TB_AXI_AWSIZE,
    TB_AXI_AWBURST,
    TB_AXI_AWLOCK,
    TB_AXI_AWCACHE,
    TB_AXI_AWPROT,
    TB_AXI_AWQOS,
    TB_AXI_AWREGION,
    TB_AXI_AWUSER,
    TB_AXI_WVALID,
    TB_AXI_WREADY,
    TB_AXI_WDATA,
    TB_AXI_WSTRB,
    TB_AXI_WLAST,
    TB_AXI_WUSER,
    TB_AXI_BVALID,
    TB_AXI_BREADY,
    TB_AXI_BID,
    TB_AXI_BRESP,
    TB_AXI_BUSER,
    TB_AXI_ARVALID,
    TB_AXI_ARREADY,
    TB_AXI_ARADDR,
    TB_AXI_ARID,
    TB_AXI_ARLEN,
    TB_AXI_ARSIZE,
    TB_AXI_ARBURST,
    TB_AXI_ARLOCK,
    TB_AXI_ARCACHE,
    TB_AXI_ARPROT,
    TB_AXI_ARQOS,
    TB_AXI_ARREGION,
    TB_AXI_ARUSER,
    TB_AXI_RVALID,
    TB_AXI_RREADY,
    TB_AXI_RID,
    TB_AXI_RDATA,
    TB_AXI_RRESP,
    TB_AXI_RLAST,
    TB_AXI_RUSER,
    TB_AXI_SIGNALS
} tb_axi_signal;

#define TB_AXI_X(signal) (UINT64_C(1) << (signal))

/* Properties of a signal. */
typedef struct tb_axi_signal_info {
    const char *name;       /* "AWADDR"; "ARESETN" */
    tb_axi_channel channel; /* TB_AXI_CHANNELS: the reset */
    /* width defined by the protocol; 0: a parameter of the port (address, data, strobes, ID, user) */
    uint8_t bits;
    bool lite;     /* AXI4-Lite has it */
    bool required; /* required; others count as tied off: 0, one full-width INCR beat, last */
} tb_axi_signal_info;
/* NULL: no such signal. */
const tb_axi_signal_info *tb_axi_signal_get(tb_axi_signal signal);

/* Widths that are parameters of a port. 0: the port has no such signal, or it is tied off. */
typedef struct tb_axi_widths {
    uint16_t id, awuser, wuser, buser, aruser, ruser;
} tb_axi_widths;

/* Payload of an address channel. */
typedef struct tb_axi_ax {
    uint64_t addr;
    uint64_t id;   /* wider IDs: any number that is equal for equal IDs and 0 for 0 */
    uint64_t user; /* the same */
    /* eight bytes side by side: stability compares them as one word */
    uint8_t len, size, burst, lock, cache, prot, qos, region;
    bool valid, ready;
} tb_axi_ax;

/*
 * All signals just before a rising edge. Payload of a channel counts only while its valid is true and may be left as it
 * is otherwise. Bytes of data and bits of strb are lanes, lane 0 first.
 *
 * x: bit TB_AXI_X(signal) for each signal of which any bit is X or Z; 0 in two-state simulation. The value
 * beside it then has 0 in those bits. X in the payload of a channel whose valid is low is ignored. Of WDATA and RDATA
 * the lanes w_x and r_x count, and they are read only if the bit in x is set.
 */
typedef struct tb_axi_sample {
    uint64_t cycle; /* number of the edge, rising */
    uint64_t x;
    bool reset_n; /* level of ARESETn; with its bit in x: reset, and nothing is checked */
    tb_axi_ax aw, ar;
    struct {
        bool valid, ready, last;
        uint64_t user;
        uint64_t strb[2];
        const uint8_t *data; /* as many bytes as the bus has, valid during the call */
    } w;
    struct {
        bool valid, ready;
        uint8_t resp;
        uint64_t id, user;
    } b;
    struct {
        bool valid, ready, last;
        uint8_t resp;
        uint64_t id, user;
        const uint8_t *data;
    } r;
    uint64_t w_x[2], r_x[2]; /* lanes with any X or Z */
} tb_axi_sample;

/* Byte lanes lo..hi of a bus of `bytes` that beat number `beat` of a burst may use, and the bus-aligned address of that
 * beat (NULL: not wanted). */
void tb_axi_beat(uint64_t addr, unsigned len, unsigned size, unsigned burst, unsigned beat, unsigned bytes,
                 uint64_t *beat_addr, unsigned *lo, unsigned *hi);

#endif
