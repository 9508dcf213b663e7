/*
 * device.h - the NPU as a testcase sees it: memory, a HAL for the driver, results. The device is the RTL, the golden
 * model, or both in tandem.
 */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "npu_hal.h"
#include "tb.h"

typedef enum npu_dev_kind { NPU_DEV_MODEL, NPU_DEV_RTL, NPU_DEV_TANDEM } npu_dev_kind;

typedef struct npu_dev_cfg {
    npu_dev_kind kind;
    uint32_t n;                  /* mesh size; with RTL it must be the one this program was built for */
    bool int16;                  /* without RTL, which says so itself: it has INT16 (parameter EnInt16) */
    const tb_shim *shim;         /* the design to simulate; NULL: the one that this program was built with */
    uint64_t seed;               /* bus timing, initial state */
    bool have_init_seed;         /* the initial state of every register and memory has its own seed, */
    uint64_t init_seed;          /* else it is derived from `seed`; no result may depend on it */
    bool no_checks;              /* builds with taps: the checks of the units are not called */
    const char *const *plusargs; /* "+name" for the design ($test$plusargs), NULL-terminated, or NULL */
    const char *bus_profile;     /* name of a tb_axi_profile: "ideal" ... "hostile"; NULL: ideal */
    const char *wave;            /* FST file or NULL; needs a build with tracing, else an error */
    /* FST file for npu_dev_fail_wave() or NULL; needs a build with tracing, else an error */
    const char *fail_wave;
    /* seconds of CPU time before its first snapshot, see npu_dev_fail_wave() (0: when the device is opened) */
    double fail_wave_delay;
    uint64_t wave_window; /* cycles of that waveform before the failure, a quarter of it after (0: 2,000) */
    const char *dump;     /* folder for tensor logs (docs/debugging.md), DUMP/rtl and DUMP/model, or NULL */
    uint64_t ddr_bytes;   /* size of the memory, at least 64 MiB (0: 64 MiB); it starts at NPU_DEV_DDR_BASE */
    /*
     * its memory ends at 4 GiB, and buffers are scattered over it, by `seed`: only bits 16 to 31 of addresses differ,
     * so the bursts are the same
     */
    bool scatter;
    uint64_t watchdog_cycles; /* failure after so many cycles without progress on any port (0: 100,000) */
    uint64_t max_cycles;      /* failure host:cycles after so many cycles (0: no limit) */
    bool poison_reads;        /* never-written bytes that are read are a failure (default on in testcases) */
    /*
     * filled with a record of the failure (explain.h), or NULL; such a run continues after its first failure where it
     * can
     */
    struct npu_explain *explain;
    /*
     * Called for every access of the RTL's registers through the HAL, before a write and after a read, with the value
     * and the units that the debug port shows busy, as bits of IRQ_STATUS. NULL: no call. It must not use the device.
     */
    void (*on_access)(void *ctx, bool write, uint32_t offset, uint32_t value, unsigned busy);
    void *access_ctx;
} npu_dev_cfg;

#define NPU_DEV_DDR_BASE 0x10000000u

typedef struct npu_dev npu_dev;

/*
 * First failure of a device. When memory differs, `units` has the units (bits of IRQ_STATUS) whose tasks since the last
 * compare point write there.
 */
typedef tb_run_failure npu_dev_failure;

/*
 * NULL on error, with one line in err. A design that fails in its reset is not an error: the device is open, and has
 * failed.
 */
npu_dev *npu_dev_open(const npu_dev_cfg *cfg, char *err, size_t err_size);
/* Runs the end-of-simulation checks first; see npu_dev_finish(). */
void npu_dev_close(npu_dev *dev);

uint32_t npu_dev_n(const npu_dev *dev);
npu_dev_kind npu_dev_get_kind(const npu_dev *dev);
const npu_hal *npu_dev_hal(npu_dev *dev);

typedef enum npu_buf_kind { NPU_BUF_IN, NPU_BUF_OUT, NPU_BUF_SCRATCH } npu_buf_kind;
/*
 * Declare a buffer of device memory and return its address (0: out of memory). align: power of two, at least 16. offset
 * shifts the address by so many bytes past the alignment. There are guard bytes between buffers. NPU_BUF_OUT may be
 * written by the NPU, NPU_BUF_IN may not, NPU_BUF_SCRATCH may be read and written.
 */
uint32_t npu_dev_alloc(npu_dev *dev, uint32_t bytes, uint32_t align, npu_buf_kind kind);
/* Free all buffers (after a compare point); memory contents are dropped. */
void npu_dev_alloc_reset(npu_dev *dev);

/*
 * Free the buffers that were declared after the first `keep` ones, and drop their contents (after a compare point):
 * memory of one operator. npu_dev_bufs() returns the number of buffers.
 */
size_t npu_dev_bufs(const npu_dev *dev);
void npu_dev_alloc_drop(npu_dev *dev, size_t keep);

/*
 * Tasks that are started from now on may have buffers that overlap, their own or those of tasks in flight (otherwise a
 * failure): for tests that start tasks whose results are undefined on purpose. The bus checks then also accept reads of
 * bytes that are being written.
 */
void npu_dev_allow_overlap(npu_dev *dev, bool allow);

/* Back-door access to memory, on both devices. false: outside memory. */
bool npu_dev_write(npu_dev *dev, uint32_t addr, const void *src, size_t bytes);
bool npu_dev_read(npu_dev *dev, uint32_t addr, void *dst, size_t bytes);

/*
 * Compare both sides now (kind TANDEM; otherwise nothing). The HAL also calls it at each compare point. true: equal.
 */
bool npu_dev_compare(npu_dev *dev);
/*
 * End-of-simulation checks (outstanding transactions, guards) and the final memory contents added to the trace hash.
 * true: no failure so far.
 */
bool npu_dev_finish(npu_dev *dev);
const npu_dev_failure *npu_dev_get_failure(const npu_dev *dev);

/*
 * Repeat the run from the last snapshot and write cfg.fail_wave around the failure (around the current cycle, if there
 * is none). Takes at most a minute. 0, or -1 with one line in err. 1 with a line: there is no snapshot before the
 * window, because of cfg.fail_wave_delay; the caller repeats the run without a delay. The device is finished after it.
 */
int npu_dev_fail_wave(npu_dev *dev, char *err, size_t err_size);

/*
 * Write the rest of the tensor logs; npu_dev_close() does it otherwise. After a failure the RTL first continues until
 * the started tasks are complete; these cycles count. 0; 1: written, with a remark in err; -1 with one line in err.
 */
int npu_dev_dump_finish(npu_dev *dev, char *err, size_t err_size);

/*
 * Begin a waveform now (path), or end the current one (NULL). 0, or -1 with one line in err: no RTL, a build without
 * tracing, a file that cannot be written.
 */
int npu_dev_wave(npu_dev *dev, const char *path, char *err, size_t err_size);

uint64_t npu_dev_cycles(const npu_dev *dev); /* RTL clock cycles; 0 for the model */
/* cycles of these that the testbench spent reading registers for compare points, in tandem */
uint64_t npu_dev_compare_cycles(const npu_dev *dev);
uint64_t npu_dev_macs(const npu_dev *dev); /* MACs executed by the golden model; 0 for RTL alone */
uint64_t npu_dev_trace_hash(const npu_dev *dev);
/*
 * Seconds of CPU time since npu_dev_open() in the Verilated model (sampled) and in everything else, without the golden
 * model's tasks.
 */
void npu_dev_time_split(const npu_dev *dev, double *rtl, double *harness);

/*
 * ---- time series of events and levels, from the debug port of the RTL (docs/npu/npu.md section 5) ----
 */
#define NPU_DEV_PERF_EVENTS 36u      /* counters 0.. */
#define NPU_DEV_PERF_LEVELS 12u      /* marks */
#define NPU_DEV_PERF_FIRST_LEVEL 40u /* number of the first mark */
typedef struct npu_dev_perf_window {
    uint64_t from; /* first cycle */
    uint32_t cycles;
    uint32_t event[NPU_DEV_PERF_EVENTS]; /* cycles with this event; without number 0, which is every cycle */
    uint16_t level[NPU_DEV_PERF_LEVELS]; /* the highest value */
} npu_dev_perf_window;
/*
 * Sample every cycle from the first event on. window: cycles of a window; 0: chosen so that there are 48 to 96 windows
 * (shorter runs: a window for each cycle). false: there is no such port (the model; RTL without it), nothing is
 * sampled.
 */
bool npu_dev_perf_start(npu_dev *dev, uint32_t window);
/*
 * Stop; returns the number of windows up to the last one with an event. They belong to the device and are valid until
 * it starts again or is closed.
 */
size_t npu_dev_perf_stop(npu_dev *dev, const npu_dev_perf_window **windows);

/*
 * Statistics of the three ports since the device was opened: lengths, latencies, bursts in flight, efficiency, rules.
 * As a table, or as one line of JSON (a list with one object for each port). Nothing is written for the model, which
 * has no bus.
 */
void npu_dev_bus_stats(const npu_dev *dev, bool json, FILE *out);

/* The monitor of a channel to memory, 0 or 1: "m0" or "m1"; NULL: the model has none. It belongs to the device. */
const tb_axi_monitor *npu_dev_bus_monitor(const npu_dev *dev, unsigned channel);

/*
 * Rules of a port of this NPU beyond those of the protocol: registers if cfg->lite, else a channel to memory. The other
 * members of cfg do not change.
 */
void npu_dev_axi_rules(tb_axi_mon_cfg *cfg);

/* Reset in place: registers, queues and in-flight transactions are gone, memory stays. */
void npu_dev_reset(npu_dev *dev);

/*
 * ---- faults (tb/npu/faults.c): RTL and tandem only; nothing happens on the model alone ----
 */
/* Respond to the k-th burst (0 = next) of a kind on a channel with SLVERR: dir 0 read, 1 write. */
void npu_dev_inject_error(npu_dev *dev, unsigned channel, unsigned dir, uint64_t k);
/* The same with TB_AXI_SLVERR or TB_AXI_DECERR and a beat, see tb_axi_slave_inject_as(). */
void npu_dev_inject_response(npu_dev *dev, unsigned channel, unsigned dir, uint64_t k, uint8_t resp, uint16_t beat);
/*
 * A broken memory: after `from_k` more handshakes (0: none) an AXI channel (tb_axi_channel) of channel 0 or 1 stops for
 * good (tb_axi_slave_hang).
 */
void npu_dev_inject_hang(npu_dev *dev, unsigned channel, unsigned axi_channel, uint64_t from_k);
/*
 * A broken memory: the k-th beat of read data of a channel from now (1: the next) is wrong, once (tb_axi_slave_flip).
 */
void npu_dev_inject_flip(npu_dev *dev, unsigned channel, uint64_t k);
/* A slow memory: up to `most` cycles between two handshakes of an AXI channel (tb_axi_slave_slow). */
void npu_dev_inject_slow(npu_dev *dev, unsigned channel, unsigned axi_channel, uint16_t most);
/* A memory that stops for good, or returns one wrong beat: for trying out failure reports (--break of the programs). */
typedef struct npu_dev_broken {
    bool on;
    bool flip;             /* one beat of read data is wrong, the memory does not stop */
    unsigned channel, axi; /* DMA channel; tb_axi_channel */
    uint64_t from;         /* after so many handshakes */
} npu_dev_broken;
/* "m0.R:12", "m1.R:12:flip". false: syntax error. */
bool npu_dev_broken_parse(const char *text, npu_dev_broken *broken);
/* Inject a parsed fault; nothing without `on`. */
void npu_dev_inject_broken(npu_dev *dev, const npu_dev_broken *broken);
/* Remove all faults of both memories, also errors that are still to be injected. */
void npu_dev_mend(npu_dev *dev);
/*
 * Handshakes of an AXI channel since the device was opened; error responses so far, on both channels (writes: bursts;
 * reads: beats).
 */
uint64_t npu_dev_handshakes(const npu_dev *dev, unsigned channel, unsigned axi_channel);
uint64_t npu_dev_error_responses(const npu_dev *dev, bool write);
/*
 * Start a task of a unit (number of its bit in IRQ_STATUS) behind the driver's back, with settings that no unit
 * accepts: it must be refused with ERR.OVERRUN or ERR.CONFIG and the interrupt, and change nothing else. Only the RTL
 * gets the write; the control register is restored. false: a failure was noted, or the build does not have the unit.
 */
bool npu_dev_stray_start(npu_dev *dev, unsigned unit);
/* Advance the clock. */
void npu_dev_run(npu_dev *dev, uint64_t cycles);
/*
 * Change the watchdog's limit (npu_dev_cfg.watchdog_cycles); 0: back to the value with which the device was opened.
 */
void npu_dev_watchdog(npu_dev *dev, uint64_t cycles);

/*
 * Called after a timeout of the driver, to find out whether the device hangs: waits for a handshake between device and
 * memory, at most the watchdog's cycles. true: the device has failed, with its report; false: it is idle or still
 * works.
 */
bool npu_dev_check_hang(npu_dev *dev);
/*
 * The report on a hang (watchdog, or a register access without a response): root, chain of waits, bus, state of every
 * unit; several lines of at most about 80 characters, the last one with its newline. NULL: there was no hang. Valid
 * until the device is closed.
 */
const char *npu_dev_hang_text(const npu_dev *dev);

#endif
