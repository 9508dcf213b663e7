/*
 * hang_wait.h - dependencies of a stall: every unit has a function that decides from its registers whether the unit
 * waits, and for which units, is idle, or is stuck although nothing it needs is missing. Only the last is a root.
 */
#ifndef NPU_HANG_WAIT_H
#define NPU_HANG_WAIT_H

#include "hang.h"

/* Units; those that exist on each channel are two numbers. */
enum {
    HU_REGS,
    HU_GEMM_SLOT,
    HU_ALU_SLOT,
    HU_POOL_SLOT,
    HU_CLOCK, /* 3: GEMM, ALU, POOL */
    HU_GEMM = HU_CLOCK + 3,
    HU_CREDIT, /* of ofm_buf, kept in gemm */
    HU_PORT,   /* write port of ifm_buf, in gemm */
    HU_QUEUE,
    HU_IFM_LD,
    HU_LAYOUT,
    HU_WGT_LD = HU_LAYOUT + 2,
    HU_PAR_LD = HU_WGT_LD + 2,
    HU_IM2COL,
    HU_ACC,
    HU_POST,
    HU_REQUANT = HU_POST + 2,
    HU_TRANSPOSE = HU_REQUANT + 2,
    HU_SEND = HU_TRANSPOSE + 2,
    HU_RD = HU_SEND + 2,
    HU_WR = HU_RD + 2,
    HU_ALU = HU_WR + 2,
    HU_WALK,
    HU_CHAN = HU_WALK + 2,
    HU_MATH = HU_CHAN + 2,
    HU_POOL = HU_MATH + 2,
    HU_POOL_LD,
    HU_POOL_LINE = HU_POOL_LD + 2,
    HU_POOL_SEQ = HU_POOL_LINE + 2,
    HU_POOL_OP = HU_POOL_SEQ + 2,
    HU_POOL_OUT = HU_POOL_OP + 2,
    HU_MEMORY = HU_POOL_OUT + 2, /* 2 x TB_AXI_CHANNELS */
    HU_COUNT = HU_MEMORY + 2 * TB_AXI_CHANNELS
};

#define NPU_WAITS 8u

typedef struct npu_wait {
    npu_hang *h;
    int unit;
    const char *path; /* of the instance */
    unsigned ch;      /* channel, 0 where there is one */
    struct {
        int to;
        bool blame; /* `to` is known to be stuck, whatever its own function says */
        char text[112];
    } wait[NPU_WAITS];
    size_t waits;
    bool idle;      /* has no work */
    bool stuck;     /* has work, and nothing it needs is missing */
    char text[128]; /* why */
} npu_wait;

typedef struct npu_hang_unit {
    const char *name;  /* in signatures: the module's */
    const char *label; /* in the report; with its channel, where there are two */
    const char *path;
    void (*waits)(npu_wait *w);
} npu_hang_unit;
extern const npu_hang_unit npu_hang_units[HU_COUNT];

/* The unit waits for `to`. */
__attribute__((format(printf, 3, 4))) void hang_waits_for(npu_wait *w, int to, const char *format, ...);
/* `to` is the root. */
__attribute__((format(printf, 3, 4))) void hang_blames(npu_wait *w, int to, const char *format, ...);
__attribute__((format(printf, 2, 3))) void hang_stuck(npu_wait *w, const char *format, ...);
/* The unit has no work. */
void hang_idles(npu_wait *w);

/* Registers of this unit, of a part of it, of another unit. */
uint64_t hang_reg(npu_wait *w, const char *name);
uint64_t hang_bits(npu_wait *w, const char *name, uint32_t lsb, uint32_t bits);
uint64_t hang_part(npu_wait *w, const char *part, const char *name);
uint64_t hang_other(npu_wait *w, int unit, const char *name);
/* Does the unit's check still expect outputs of the unit? */
bool hang_owes(npu_wait *w, int unit);
/* valid and not ready */
static inline bool hang_offers(npu_wait *w, const char *valid, const char *ready) {
    return hang_reg(w, valid) != 0 && hang_reg(w, ready) == 0;
}

void npu_wait_regs(npu_wait *w);
void npu_wait_slot(npu_wait *w);
void npu_wait_clock(npu_wait *w);
void npu_wait_gemm(npu_wait *w);
void npu_wait_credit(npu_wait *w);
void npu_wait_port(npu_wait *w);
void npu_wait_queue(npu_wait *w);
void npu_wait_ifm_ld(npu_wait *w);
void npu_wait_layout(npu_wait *w);
void npu_wait_wgt_ld(npu_wait *w);
void npu_wait_par_ld(npu_wait *w);
void npu_wait_im2col(npu_wait *w);
void npu_wait_acc(npu_wait *w);
void npu_wait_post(npu_wait *w);
void npu_wait_requant(npu_wait *w);
void npu_wait_transpose(npu_wait *w);
void npu_wait_send(npu_wait *w);
void npu_wait_rd(npu_wait *w);
void npu_wait_wr(npu_wait *w);
void npu_wait_alu(npu_wait *w);
void npu_wait_walk(npu_wait *w);
void npu_wait_chan(npu_wait *w);
void npu_wait_math(npu_wait *w);
void npu_wait_pool(npu_wait *w);
void npu_wait_pool_ld(npu_wait *w);
void npu_wait_pool_line(npu_wait *w);
void npu_wait_pool_seq(npu_wait *w);
void npu_wait_pool_op(npu_wait *w);
void npu_wait_pool_out(npu_wait *w);
void npu_wait_memory(npu_wait *w);

#endif
