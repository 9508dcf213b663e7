/*
 * tandem.h - the default executor: a design in tandem with its golden model, described by tables.
 *
 * A bench is a struct of the design (its golden model, what the driver needs) with a tb_run and, if it has memory, a
 * tb_pair in it. Its tb_tandem says where they are, and which ports, pins and checks the design has; a test names the
 * bench and a body. tb_test_execute() then opens all of it, resets the design, calls the body, and owns what follows:
 * the failure, its waveform, the trace hash, tensor logs, cleanup.
 *
 *     static const tb_tandem_port ports[] = {{.name = "regs", .prefix = "s_axil_"},
 *                                           {.name = "mem", .prefix = "m_axi_", .memory = true}};
 *     const tb_tandem bench = {.bytes = sizeof(device), .run_at = offsetof(device, run),
 *                              .pair_at = offsetof(device, pair),
 *                             .cfg = {.clk = "clk_i", .rst_n = "rst_ni"}, .mem_base = 0, .mem_size = 1u << 20,
 *                             TB_TANDEM_PORTS(ports), .open = open_model};
 *     const tb_test test = {.name = "copy", TB_KNOBS_OF(knobs), .bench = &bench, .body = run_case};
 */
#ifndef TB_TANDEM_H
#define TB_TANDEM_H

#include <stddef.h>

#include "../tlog/tlog.h"
#include "prog.h"

/* Memory of both sides, and what is written to it. */
typedef struct tb_pair {
    tb_ddr rtl, model; /* bytes that were never written have different contents on both sides */
    tb_buffers live;   /* work in flight: what the design may read and write */
    tb_tlog *log[2];   /* tensor logs of RTL and model, or NULL */
} tb_pair;

/* A bus of the design. */
typedef struct tb_tandem_port {
    const char *name;       /* in reports */
    const char *prefix;     /* of its signals: "s_axi_" before "awvalid"; "*_s": the star is the place of that word */
    const char *stream;     /* random stream of its timing; NULL: `name` */
    unsigned slice, slices; /* number `slice` of `slices` ports in the same vectors, [slices*W-1:0]; 0: not */
    bool memory;            /* an AXI4 master of the design, in front of the RTL's memory; else an AXI4-Lite slave */
    bool shadow;            /* an AXI4 slave of the design, driven with bursts against the bench's shadow (shadow_at) */
    unsigned behind;        /* with shadow: which one; ports of the same reach the same memory */
    bool lite;              /* with memory or shadow: the port speaks AXI4-Lite */
    unsigned agent;         /* with memory: what its events call this port (tb_ddr.agent) */
    unsigned clock;         /* the one that it belongs to: index into cfg.clocks */
    void (*rules)(tb_axi_mon_cfg *cfg); /* project rules beyond the protocol, or NULL */
} tb_tandem_port;

/* An APB port of the design. */
typedef struct tb_tandem_apb {
    const char *name, *prefix; /* as of tb_tandem_port */
    unsigned slice, slices;    /* number `slice` of `slices` ports whose PSEL are bits of one vector (tb_apb_cfg) */
    bool requester;            /* of the design, in front of the RTL's memory; else it is a completer */
    bool shadow;               /* a completer that is a memory: for random accesses (tb_apb_send) */
    unsigned behind;           /* as of tb_tandem_port */
    unsigned clock;
} tb_tandem_apb;

/* ---- scoreboards that the description declares (docs/ports.md): the build makes a table of the lines "board" ---- */
typedef enum tb_board_kind {
    TB_BOARD_NONE,
    TB_BOARD_STREAM, /* a: stream into the design, b: stream out of it, in order */
    TB_BOARD_KEYED,  /* packets of different TID and TDEST may overtake each other */
    TB_BOARD_FIFO,   /* in order, at most `number` transfers inside */
    TB_BOARD_MEMORY, /* a: port with a shadow, b: port in front of memory: equal at the end */
    TB_BOARD_FAIR,   /* a: requests, b: grants; number: grants of others while one waits (0: a round robin) */
    TB_BOARD_REGISTERS
} tb_board_kind;

/* A register: bits that have their reset value after a reset, and bits that hold what is written. */
typedef struct tb_board_reg {
    const char *name;
    uint32_t offset, exact, reset, hold;
} tb_board_reg;

typedef struct tb_board_row {
    tb_board_kind kind;
    const char *a, *b;
    uint32_t number;
    const tb_board_reg *reg;
    size_t regs;
} tb_board_row;

struct tb_tandem {
    size_t bytes;           /* of the design's struct; it is zeroed for each case and not moved */
    size_t run_at, pair_at; /* offsets of its tb_run and (with mem_size) of its tb_pair */
    size_t shadow_at; /* with ports that have a shadow: offset of the tb_shadow that they share, or of an array: */
    unsigned shadows; /* of so many (0: one); a port says by `behind` which one it has */
    /*
     * clocks, resets, limits, hooks; their ctx is the design's struct, and seed, waveforms and the like come from the
     * case. profile NULL: the one that the knob "bus" names, "ideal" without such a knob; "reorder" where the knob
     * "answers" says "reordered"
     */
    tb_run_cfg cfg;
    uint64_t mem_base, mem_size;       /* of both memories (tb_ddr_init); size 0: none */
    uint64_t shadow_base, shadow_size; /* of the shadow (tb_shadow_init); size 0: none */
    const char *work;                  /* what a piece of work is called in reports; NULL: "task" */
    const tb_tandem_port *port;        /* numbered in this order, as in the trace hash */
    unsigned ports;
    const tb_stream_cfg *stream; /* numbered in this order; a stream's origin (`from`) stands before it */
    unsigned streams;
    const tb_tandem_apb *apb; /* numbered in this order */
    unsigned apbs;
    const tb_fair_cfg *fair; /* arbiters */
    unsigned fairs;
    const tb_board_row *board; /* of the description */
    unsigned boards;
    const char *const *pin; /* outputs that are watched as interrupts: bits of tb_run.irq */
    unsigned pins;
    const tb_check_ops *const *checks; /* of the units, `*check_count` of them; NULL: none */
    const size_t *check_count;
    /* Each may be NULL. Memories are there, the RTL is not: open the golden model. 0 or -1 with one line in err. */
    int (*open)(void *bench, const tb_prog_run *run, char *err, size_t err_size);
    /* After reset and one cycle: the first accesses. */
    void (*begin)(void *bench);
    /* Release what open() has made; also after it failed. */
    void (*close)(void *bench);
};

#define TB_TANDEM_PORTS(table) .port = (table), .ports = sizeof(table) / sizeof *(table)
#define TB_TANDEM_STREAMS(table) .stream = (table), .streams = sizeof(table) / sizeof *(table)
#define TB_TANDEM_APBS(table) .apb = (table), .apbs = sizeof(table) / sizeof *(table)
#define TB_TANDEM_FAIRS(table) .fair = (table), .fairs = sizeof(table) / sizeof *(table)
#define TB_TANDEM_BOARDS(table) .board = (table), .boards = sizeof(table) / sizeof *(table)
#define TB_TANDEM_PINS(table) .pin = (table), .pins = sizeof(table) / sizeof *(table)

/* Execute a case: test->execute, or test->body on a new test->bench. 0, or -1 with run->err: it could not be run. */
int tb_test_execute(tb_prog_run *run);

/*
 * The same in steps, for programs without cases: a new bench, reset and ready; run: seed, knobs, wave, result. NULL
 * with one line in err; and its end. -1 with one line in err.
 */
void *tb_tandem_open(const tb_tandem *b, tb_prog_run *run, char *err, size_t err_size);
int tb_tandem_close(const tb_tandem *b, void *bench, char *err, size_t err_size);

/* ---- for bodies ---- */

/* Contents of both memories. */
void tb_pair_fill(tb_pair *pair, uint64_t addr, const void *data, size_t bytes);
/* Accept the RTL's bytes in a range, which an error response or a reset made undefined. */
void tb_pair_take(tb_pair *pair, uint64_t addr, uint64_t bytes);
/* The same for everything that work in `live` may write. */
void tb_pair_take_written(tb_pair *pair);
/* Do both sides have written the same? False: not, noted as the failure mem:mismatch. */
bool tb_pair_compare(tb_pair *pair, tb_run *run);
/*
 * Write `pieces` pieces of `bytes` bytes each, the first at `addr` and each `step` behind the one before, as a tensor
 * into the logs of both sides. Does nothing without logs, and in a woken snapshot, which repeats the run.
 */
void tb_pair_log(tb_pair *pair, const tb_run *run, const tb_tlog_entry *entry, uint64_t addr, uint64_t step,
                 size_t pieces, size_t bytes);
/* Memory of one side for a golden model; mem is a tb_ddr. False: outside. */
bool tb_mem_read(void *mem, uint64_t addr, void *data, size_t bytes);
bool tb_mem_write(void *mem, uint64_t addr, const void *data, size_t bytes);

/* A register for tb_compare_registers(). */
typedef struct tb_reg_row {
    const char *name;
    uint32_t reg, mask; /* address; bits that are compared */
    bool unread;        /* not read at all */
} tb_reg_row;
/*
 * Read registers through a port and hold them against expected(ctx, reg, got), which may return `got` where it knows
 * nothing. False: a difference, noted as the failure reg:NAME, or a read failed.
 */
bool tb_compare_registers(tb_run *run, unsigned port, const tb_reg_row *row, size_t rows,
                          uint32_t (*expected)(void *ctx, uint32_t reg, uint32_t got), void *ctx);
/* Read a register (write: write *value). False: the run has failed. ctx: the bench's. */
typedef bool tb_board_access(void *ctx, uint32_t offset, bool write, uint32_t *value);
/*
 * Right after a reset: the registers of the boards hold their reset values, then those that hold what is written do so.
 * False: a difference, noted as the failure reg:NAME, or an access failed.
 */
bool tb_board_registers(const tb_tandem *b, tb_run *run, tb_rng *rng, tb_board_access *access, void *ctx);
/*
 * Wait for an interrupt; without one for `cycles` cycles. After an interrupt nothing may be in flight on the buses,
 * which a failure says in the words of `when` (tb_run_idle). False: failed.
 */
bool tb_wait_irq(tb_run *run, bool irq, unsigned cycles, const char *when);

#endif
