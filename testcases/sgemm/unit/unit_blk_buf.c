/* dut: sgemm_blk_buf */
/* Blocks are written into one half in either direction while the lanes read the other one, each lane for itself. */
#include <string.h>

#include "bench.h"

static const tb_knob knobs[] = {
    {"blocks", 1, 40, TB_KNOB_SMALL, NULL, NULL, "blocks that are loaded"},
    {"stall_write", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles without a word of the loader"},
    {"stall_read", 0, 95, TB_KNOB_SMALL, NULL, NULL, "percent of cycles in which no element is at the lanes"},
    {"short", 0, 100, TB_KNOB_UNIFORM, NULL, NULL, "percent of words with fewer than four elements"},
};

/* What is at each lane: entries as sgemm_mac makes them, of half `half` (sgemm_pkg, Lane*). */
static void lanes(bench *b, bool go, uint32_t half, tb_rng *rng) {
    const tb_sig lane = bench_port(b, "lane_i");
    for (uint32_t k = 0; k < SGEMM_CFG_VEC; k++) {
        uint32_t entry = tb_rng_u32(rng) & 0xFF800000u; /* fields that the buffer does not read are random */
        entry |= (uint32_t)(go && tb_rng_chance(rng, 7, 8)) | half << 1;
        entry |= (uint32_t)tb_rng_range(rng, 0, SGEMM_CFG_DIM - 1) << 2; /* row */
        entry |= (uint32_t)tb_rng_range(rng, 0, SGEMM_CFG_DIM - 1) << 9; /* column */
        entry |= (uint32_t)tb_rng_range(rng, 1, SGEMM_CFG_VEC) << 16;    /* lanes that have an operand */
        memcpy((uint8_t *)lane.ptr + 4 * k, &entry, sizeof entry);
    }
}

/* One block into half `half`, word after word; the lanes read the other half. */
static bool block(bench *b, uint32_t half, bench_stall stall[2], tb_rng *rng) {
    const bool along_k = tb_rng_chance(rng, 1, 2);
    const uint32_t outer = (uint32_t)tb_rng_range(rng, 1, along_k ? SGEMM_CFG_DIM : SGEMM_CFG_VEC);
    const uint32_t groups = (uint32_t)tb_rng_range(rng, 1, (along_k ? SGEMM_CFG_VEC : SGEMM_CFG_DIM) / 4);
    const tb_sig valid = bench_port(b, "wr_valid_i");
    tb_set(bench_port(b, "along_k_i"), along_k);
    for (uint32_t word = 0; word < outer * groups;) {
        const bool write = bench_go(&stall[0]);
        const bool less = tb_rng_chance(rng, (uint32_t)bench_knob(b, "short"), 100);
        tb_set(valid, write);
        tb_set(bench_port(b, "wr_half_i"), half);
        tb_set(bench_port(b, "wr_seg_i"), word / groups);
        tb_set(bench_port(b, "wr_grp_i"), word % groups);
        tb_set(bench_port(b, "wr_mask_i"), less ? (1u << tb_rng_range(rng, 1, 3)) - 1 : 15);
        bench_noise(bench_port(b, "wr_data_i"), rng);
        lanes(b, bench_go(&stall[1]), !half, rng);
        word += write;
        if (!bench_step(b)) {
            return false;
        }
    }
    return true;
}

static void run(bench *b) {
    tb_rng rng = bench_stream(b, "words");
    bench_stall stall[2] = {bench_stall_of(b, "stall_write"), bench_stall_of(b, "stall_read")};
    for (int64_t i = 0; i < bench_knob(b, "blocks"); i++) {
        if (!block(b, i & 1, stall, &rng)) {
            return;
        }
    }
    tb_set(bench_port(b, "wr_valid_i"), 0);
    for (uint32_t c = 0; c < 8 * SGEMM_CFG_DIM; c++) { /* what was loaded last, too */
        lanes(b, bench_go(&stall[1]), (bench_knob(b, "blocks") - 1) & 1, &rng);
        if (!bench_step(b)) {
            return;
        }
    }
}

const bench_unit bench_this = {.name = "unit-blk_buf",
                               .about = "the block buffer: words in both directions, every lane reads",
                               TB_KNOBS_OF(knobs),
                               .run = run};
