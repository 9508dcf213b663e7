/*
 * wave_port.h - AXI4 and AXI4-Lite ports in a waveform file: where they are, their clock and reset, and their values
 * just before each rising edge.
 *
 * Only the names of the design's signals are used; docs/axi-check.md lists the names that are recognised. A damaged
 * file can crash the reader of waveforms, so files are opened within tb_wave_guard().
 */
#ifndef TB_WAVE_PORT_H
#define TB_WAVE_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../wave/wave.h"
#include "sample.h"

#define TB_AXI_WAVE_ELEMENTS 256u

/* Side of a port by the names of its signals: the module's outputs are those of a master, or those of a slave. */
typedef enum tb_axi_side { TB_AXI_SIDE_ANY, TB_AXI_SIDE_MASTER, TB_AXI_SIDE_SLAVE } tb_axi_side;

/* Vectors that hold the signals of several ports, "awaddr[4*32-1:0]": each a slice, port 0 in bit 0. */
typedef struct tb_axi_wave_slice {
    uint64_t of;           /* bit TB_AXI_X(signal): only a slice of this signal belongs to the port */
    uint32_t at, elements; /* number of the port, and of all ports, in such a vector */
} tb_axi_wave_slice;

typedef struct tb_axi_wave_port {
    const char *scope; /* instance path, as in the file */
    char *stem; /* what its signals have before the name of the channel, without separators at its ends: "m0_axi"; may
                   be empty */
    char *path; /* scope and stem: "TOP.dut.m0_axi" */
    tb_axi_side side;                             /* other than ANY only where the names tell it */
    bool twin;                                    /* the same stem exists on the other side, too */
    const tb_wave_signal *signal[TB_AXI_SIGNALS]; /* NULL: the file has no such signal. ARESETN is not set here */
    const tb_wave_signal *second;                 /* a signal with a name that one of those has, too; NULL: none */
    tb_axi_wave_slice slice;
} tb_axi_wave_port;

typedef struct tb_axi_wave_ports {
    tb_axi_wave_port *port; /* by path */
    size_t count;
} tb_axi_wave_ports;

/*
 * All ports: those with AWVALID or ARVALID. A port that several scopes show under one set of handles is listed once, in
 * the outermost scope. Where AWVALID or ARVALID have N bits, 2 to TB_AXI_WAVE_ELEMENTS, and the others a multiple of
 * that, they are N ports: "TOP.dut.m_axi[0]" ... 0 or -1 (out of memory). `wave` must outlive the ports.
 */
int tb_axi_wave_ports_find(const tb_wave *wave, tb_axi_wave_ports *ports);
void tb_axi_wave_ports_free(tb_axi_wave_ports *ports);
/*
 * The port that `prefix` means: its path, the end of its path, or the beginning of either ("top.u_dma.m0_axi_",
 * "u_dma.m0", "top.dut", "m_axi"), in any case; an exact match is preferred. NULL or "": the only complete port. NULL
 * with one line in err, which names the candidates.
 */
const tb_axi_wave_port *tb_axi_wave_ports_get(const tb_axi_wave_ports *ports, const char *prefix, tb_axi_side side,
                                              const char *file, char *err, size_t err_size);
/* A wide signal whose name says that it is a struct of requests or responses ("m_req_o"), which stands in the file
 * without its members. NULL: none. */
const tb_wave_signal *tb_axi_wave_struct(const tb_wave *wave);
/* "TOP.dut.m0_axi", and " (master)" where there is a twin. */
void tb_axi_wave_port_name(const tb_axi_wave_port *port, char *dst, size_t size);

typedef enum tb_axi_wave_protocol { TB_AXI_WAVE_FIND, TB_AXI_WAVE_AXI4, TB_AXI_WAVE_LITE } tb_axi_wave_protocol;

/* A port with all that is needed to sample it. */
typedef struct tb_axi_wave_bus {
    const tb_wave_signal *signal[TB_AXI_SIGNALS]; /* as in the port, without what is not used */
    const tb_wave_signal *clock, *reset;          /* reset: NULL when there is none */
    bool reset_high;                              /* the level that resets */
    bool lite, reads, writes;
    uint32_t bytes; /* of the data bus */
    tb_axi_widths widths;
    tb_axi_wave_slice slice;
} tb_axi_wave_bus;

/* Bits of a signal of the port, which may be a slice of it; 0: there is no such signal. */
uint32_t tb_axi_wave_width(const tb_axi_wave_bus *bus, tb_axi_signal signal);

/*
 * Signals and widths of a port; clock and reset are left out. AXI4-Lite where no signal is there that it does not have.
 * 0, or -1 with one line in err: a signal is missing, or its width is impossible.
 */
int tb_axi_wave_bind(const tb_axi_wave_port *port, tb_axi_wave_protocol protocol, tb_axi_wave_bus *bus, char *err,
                     size_t err_size);
/*
 * Clock and reset of a port. name: a full path, or a name in the scope of the port or further out, in any case; NULL:
 * found by usual names there. 0, or -1 with one line in err. A reset that is not found is no error: bus->reset stays
 * NULL. level: the level of the reset that resets, -1: by its name.
 */
int tb_axi_wave_clock(const tb_wave *wave, const tb_axi_wave_port *port, const char *name, tb_axi_wave_bus *bus,
                      char *err, size_t err_size);
int tb_axi_wave_reset(const tb_wave *wave, const tb_axi_wave_port *port, const char *name, int level,
                      tb_axi_wave_bus *bus, char *err, size_t err_size);

/* s->cycle is the number of the rising edge, from 0; the function may give it another one. Nonzero ends the reading. */
typedef int tb_axi_wave_edge(void *ctx, tb_axi_sample *s, uint64_t time);
/* State of tb_axi_wave_samples(). */
typedef struct tb_axi_wave_seen {
    uint64_t edges;
    bool reset_before; /* the reset was active before the first edge, or is not known to be inactive at it */
} tb_axi_wave_seen;

/*
 * One sample for each rising edge (0 to 1) of the clock in the file, with the values just before it: a signal that
 * changes together with the clock has its old value. A missing signal is tied off: 0, one full-width INCR beat, last.
 * 0, what `edge` returned, or -1 with one line in err.
 */
int tb_axi_wave_samples(tb_wave *wave, const tb_axi_wave_bus *bus, tb_axi_wave_edge *edge, void *ctx,
                        tb_axi_wave_seen *seen, char *err, size_t err_size);

#endif
