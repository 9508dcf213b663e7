/*
 * bus_check.h - private to axi-check: AXI4-Stream and APB ports of a waveform file. Their rules are those of the
 * monitors of a simulation (stream/stream.h, apb/apb.h), fed with values of the file; rules about unknown values (X)
 * come on top.
 */
#ifndef TB_PROG_BUS_CHECK_H
#define TB_PROG_BUS_CHECK_H

#include "axi_check_priv.h"

#define BUS_WORDS 11u

typedef enum bus_kind { BUS_STREAM, BUS_APB, BUS_KINDS } bus_kind;

/* What beside its name makes a port; number i belongs to number i of the names. */
typedef struct bus_port {
    bus_kind kind;
    const tb_wave_signal *signal[BUS_WORDS]; /* by bus_words[kind]; NULL: there is none */
    uint32_t at, elements;                   /* a slice of vectors; elements 0: not */
} bus_port;

struct bus_ports {
    tb_axi_wave_ports name; /* scope, stem and path of each */
    bus_port *port;
};

/* Words of TVALID ... and PSEL ..., ended by NULL. */
extern const char *const bus_words[BUS_KINDS][BUS_WORDS + 1u];

/*
 * All of them: an AXI4-Stream has TVALID and TREADY, an APB port PSEL, PENABLE, PADDR, PWRITE and PWDATA or PRDATA.
 * Where TVALID has N bits and all others a multiple, they are N ports. 0 or -1 (out of memory).
 */
int bus_ports_find(const tb_wave *wave, struct bus_ports *ports);
void bus_ports_free(struct bus_ports *ports);
/* "AXI4-Stream, 32 bits" */
void bus_kind_text(const bus_port *port, char *dst, size_t size);
/* Read and judge a port, and print what was found, into the output of the run. 0, the exit status, or -1: out of
 * memory. */
int bus_check_port(check_run *run, size_t index);

#endif
