/*
 * dev_priv.h - inside of the device: its parts and the functions that they share.
 */
#ifndef NPU_DEV_PRIV_H
#define NPU_DEV_PRIV_H

#include "cmodel.h"
#include "device.h"
#include "explain_priv.h"
#include "inflight.h"
#include "npu_regs.h"
#include "score/score.h"
#include "score/task_bits.h"

#define NPU_DEV_CHANNELS 2u
#define NPU_REG_WORDS 128u         /* the register space, in words */
#define NPU_DEV_CYCLES_PER_US 200u /* the clock of the simulated device: 200 MHz */

/* port numbers of the trace hash */
enum { PORT_AXIL = 0, PORT_M0 = 1, PORTS = 3 };

typedef struct dev_buf {
    uint32_t addr, bytes;
    npu_buf_kind kind;
} dev_buf;

/* Event flags of a w1c register: those that rose since the last compare point, on each side. */
typedef struct dev_events {
    uint32_t rtl, model;             /* rose in this window */
    uint32_t stale_rtl, stale_model; /* were still 1 when the window began: a second event would not show */
    uint32_t unsure;                 /* cleared by the driver in a cycle in which they may have risen */
} dev_events;

#define MAX_EVENT_REGS 4u /* registers of class w1c */

/* Registers and bits of a unit. */
typedef struct npu_unit_regs {
    const char *name;
    uint32_t ctrl, en_mask;    /* a write with this bit starts a task */
    uint32_t count, done_mask; /* completed tasks */
    uint32_t busy_mask;        /* in STATUS */
    uint32_t irq_mask;         /* in IRQ_STATUS */
    uint32_t bus_err[2][2];    /* in ERR: [channel][0 read, 1 write] */
    uint32_t refused;          /* in ERR: a start that was dropped */
} npu_unit_regs;
extern const npu_unit_regs npu_units[UNITS];

typedef struct npu_perf_sampler {
    bool on, fixed; /* fixed: the width of a window does not grow */
    tb_sig events, levels;
    npu_dev_perf_window *window;
    size_t count, cap;
    uint32_t width;
} npu_perf_sampler;

typedef struct npu_tlog npu_tlog;

/* The part of the register program that determines the tasks. */
typedef struct npu_program {
    uint32_t reg[NPU_REG_WORDS]; /* as written since the last reset */
    uint32_t absent;             /* mask: units that this build does not have */
    bool int16;                  /* this build has EnInt16 */
    uint32_t started[UNITS];     /* accepted tasks since the last reset */
    uint64_t number[UNITS];      /* and since the device was opened */
    bool has_before;             /* a GEMM task was accepted since the last reset: */
    cm_gemm_task before;
} npu_program;

struct npu_dev {
    npu_dev_cfg cfg;
    npu_hal hal;
    bool has_rtl, has_model;

    dev_buf *buf;
    size_t bufs, buf_cap;
    uint64_t next_addr;

    /* RTL side */
    tb_run run; /* failures are kept here on the model, too */
    tb_ddr ddr;
    uint32_t wd_excuses;      /* successive timeouts of the watchdog at which the mesh was at work, */
    uint64_t wd_excused_at;   /* last at this cycle */
    uint32_t wd_looked;       /* successive samples since the timeout in which it was not; */
    uint64_t wd_looked_since; /* the last progress was at this cycle */
    uint32_t irq_enable;      /* last value that the driver wrote */
    uint64_t compare_cycles;  /* cycles of register reads for compare points */
    uint64_t hash;            /* once finished */
    npu_perf_sampler perf;
    npu_score_ctx score;
    uint64_t errors_seen[NPU_DEV_CHANNELS][2]; /* error responses at the last compare point: reads, writes */
    npu_tlog *tlog;                            /* cfg.dump; NULL: none */
    struct npu_hang *hang;                     /* while the report is written */

    /* model side */
    cm_device *model;
    tb_ddr model_ddr;
    uint32_t model_unit;  /* mask of the unit whose task is executed */
    double model_seconds; /* CPU time of its tasks */

    npu_program program;
    npu_inflight inflight;
    bool overlaps_allowed; /* npu_dev_allow_overlap() */

    /* tandem; masks have a bit for each unit */
    uint32_t pending;          /* units that started something since the last compare point */
    uint32_t done_seen[UNITS]; /* COUNT as the driver last read it */
    uint32_t begun[UNITS];     /* COUNT when this window began */
    uint32_t stray;            /* units with a start in this window that was injected, and refused */
    uint32_t undefined;        /* units whose outputs of this window are undefined because of a bus error or a reset */
    /* tasks were dropped, or met a bus error: some of their outputs may be missing */
    bool lost;
    bool resetting;        /* a soft reset has begun, and its end was not seen yet */
    bool refused;          /* the golden device refused a task in this window */
    bool result_undefined; /* so is ALU_RESULT, until the next reduction */
    dev_events ev[MAX_EVENT_REGS];
    bool finished;
};

static inline bool npu_dev_failed(const npu_dev *dev) {
    return tb_run_failed(&dev->run);
}
/* "output buffer 0x10000040 + 12" of an address, or "no buffer". */
void npu_dev_where(const npu_dev *dev, uint64_t addr, char *dst, size_t size);

/* ---- rtl.c ---- */
/*
 * Create, bind and reset the design. A failure during this is one of dev->run, not an error. 0 or -1 with one line in
 * err.
 */
int npu_rtl_open(npu_dev *dev, char *err, size_t err_size);
/* Part of npu_dev_allow_overlap(): on the buses. */
void npu_rtl_allow_overlap(npu_dev *dev, bool allow);

/* ---- hang.c: hooks of the run (tb/run/run.h) ---- */
bool npu_hang_has_work(void *ctx);
bool npu_hang_computes(void *ctx);
bool npu_hang_root(void *ctx, tb_run_hang kind, char *name, size_t name_size, char *text, size_t size);
void npu_hang_lines(void *ctx, bool end, FILE *out);
void npu_hang_where(void *ctx, uint64_t addr, char *dst, size_t size);

/* ---- tlog_dev.c: no effect without a log ---- */
int npu_tlog_open(npu_dev *dev, char *err, size_t err_size);
/* A task is about to be started, and the device will accept it. */
void npu_tlog_start(npu_dev *dev, unsigned unit, const npu_score_task *task);
/* The model has executed the started task. */
void npu_tlog_model_done(npu_dev *dev, unsigned unit);
/* After settle. */
void npu_tlog_cycle(npu_dev *dev);
/* The driver has read COUNT. */
void npu_tlog_count(npu_dev *dev, unsigned unit, uint32_t count);
/* Tasks in flight are gone, registers have their reset values. */
void npu_tlog_reset(npu_dev *dev);

/* ---- perf.c ---- */
/* After settle, while the sampler is on. */
void npu_perf_sample(npu_dev *dev);
void npu_perf_free(npu_dev *dev);

/* ---- mem_check.c ---- */
/* Before a register write reaches any side: registers the buffers of a task that it starts. */
void npu_program_write(npu_dev *dev, uint32_t offset, uint32_t value);
/* Registers and tasks are gone. */
void npu_program_reset(npu_dev *dev);
/*
 * Tasks dropped by a reset have stopped for good: accesses to their buffers are failures again, and outputs that they
 * have not written are undefined.
 */
void npu_program_dropped(npu_dev *dev);
/* The driver has read COUNT. */
void npu_program_count(npu_dev *dev, unsigned unit, uint32_t count);
/* An access to memory was wrong: the RTL's, or the model's. */
void npu_mem_wrong(npu_dev *dev, const tb_ddr_event *event, bool rtl);

/* ---- hal.c ---- */
/*
 * A soft reset is over: transactions that were in flight then have finished, and their errors belong to no task. Does
 * nothing when there was none.
 */
void npu_reset_over(npu_dev *dev);
void npu_hal_fill(npu_dev *dev);
/* Registers and tasks are gone (soft reset, reset); memory stays. */
void npu_hal_on_reset(npu_dev *dev);

/* ---- compare.c ---- */
/* All fields of a register as a mask; 0 for an offset without a register. */
uint32_t npu_reg_fields(uint32_t offset);
/* Number of a w1c register among those, -1 for others. */
int npu_reg_events(uint32_t offset);
/* A value of an event register was read, before it is cleared or without clearing. */
void npu_events_rtl(npu_dev *dev, int which, uint32_t value);
void npu_events_model(npu_dev *dev);
/* Ignore the error responses so far: they belong to tasks that a reset has dropped. */
void npu_bus_forget(npu_dev *dev);
/* Has there been an error response since the last compare point? */
bool npu_bus_error_waits(const npu_dev *dev);
/* Units (mask) whose COUNT, as last read by the driver, is not yet that of the golden device. */
uint32_t npu_unfinished(npu_dev *dev);
/* Compare if every started task is complete, as far as the driver has read the counts. */
void npu_compare_point(npu_dev *dev);
void npu_compare_now(npu_dev *dev);

#endif
