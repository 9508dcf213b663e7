/*
 * regs_stim.c - values for the task registers: most of them legal together, or at the edge of what the hardware
 * accepts.
 */
#include "regs_bench.h"

#include "npu_regs.h"

static uint32_t pair(tb_rng *r, uint32_t lo_max, uint32_t hi_max) {
    const uint32_t lo = (uint32_t)tb_rng_small(r, 1, lo_max);
    return lo | (uint32_t)tb_rng_small(r, 1, hi_max) << 16;
}

/* One bit of each byte of `bits` set with probability 1 in 8. */
static bool rare(uint32_t bits) {
    return (bits & 7u) == 0;
}

static uint32_t plausible_gemm(tb_rng *r, uint32_t offset, uint32_t bits) {
    uint32_t mode = 0;
    switch (offset) {
    case NPU_REG_GEMM_IFM_SIZE:
    case NPU_REG_GEMM_OFM_SIZE:
    case NPU_REG_GEMM_CHANNELS:
        return rare(bits) ? (bits >> 16 & 31u) * 0x10001u + 0x10001u : pair(r, 40, 40);
    case NPU_REG_GEMM_CTRL:
        mode = bits & (NPU_GEMM_CTRL_FENCE_MASK | NPU_GEMM_CTRL_EXT_MASK | NPU_GEMM_CTRL_PSUM_ADD_MASK |
                       NPU_GEMM_CTRL_LAYOUT_MASK | 0x0007f800u);
        mode |= (bits & 1u) ? NPU_GEMM_CTRL_DIV_IC_MASK
                            : bits & (NPU_GEMM_CTRL_BIAS_MASK | NPU_GEMM_CTRL_OSCALE_MASK | NPU_GEMM_CTRL_REQUANT_MASK);
        mode |= rare(bits >> 3) ? (bits >> 12 & 3u) << NPU_GEMM_CTRL_OP_LSB : 0;
        mode |= (bits >> 14 & 3u) == 0 ? NPU_GEMM_CTRL_WGT_RES_MASK : 0;
        mode |= (bits >> 14 & 15u) == 0 ? NPU_GEMM_CTRL_WGT_KEEP_MASK : 0;
        mode &= ~NPU_GEMM_CTRL_PAD_MODE_MASK;
        return mode | (1 + bits % 3) << NPU_GEMM_CTRL_KERNEL_LSB | (1 + (bits >> 4) % 2) << NPU_GEMM_CTRL_STRIDE_LSB;
    case NPU_REG_GEMM_EXT_KERNEL:
        return 0x01010000u | (1 + (bits & 3u)) | ((1 + ((bits >> 2) & 3u)) << 8);
    case NPU_REG_GEMM_EXT_STRIDE:
        return (1 + (bits & 3u)) | ((1 + ((bits >> 2) & 3u)) << 8);
    case NPU_REG_GEMM_ACT:
        return (bits & 3u) == 0   ? (bits >> 4) % NPU_GEMM_ACT_TYPE_COUNT
               : (bits & 7u) == 1 ? (bits >> 4) % NPU_ALU_ACT_FUNC_COUNT << NPU_ALU_ACT_FUNC_LSB
                                  : 0;
    default: /* groups and factors take any value; addresses and steps are multiples of every N */
        return offset > NPU_REG_GEMM_IFM_ADDR + 0x1Cu && offset != NPU_REG_GEMM_PSUM_CSTEP ? bits : bits & ~31u;
    }
}

static uint32_t plausible_alu(tb_rng *r, uint32_t offset, uint32_t bits) {
    switch (offset) {
    case NPU_REG_ALU_SIZE:
        return (bits >> 8) | 1u;
    case NPU_REG_ALU_ROWS:
        return pair(r, 65535, 65535);
    case NPU_REG_ALU_CTRL: /* mostly element-wise, p from anywhere, q a scalar */
        return (rare(bits >> 20) ? bits % NPU_ALU_CTRL_OP_COUNT : bits % 13) << NPU_ALU_CTRL_OP_LSB |
               ((bits >> 4) % 3) << NPU_ALU_CTRL_P_KIND_LSB |
               (rare(bits >> 8) ? (bits >> 12) % 3 : 0) << NPU_ALU_CTRL_Q_KIND_LSB |
               (bits & 0x8000u) >> (15 - NPU_ALU_CTRL_DUP_LSB);
    case NPU_REG_ALU_ACT:
        return (bits & 3u) == 0   ? (bits >> 4) % NPU_GEMM_ACT_TYPE_COUNT
               : (bits & 7u) == 1 ? (bits >> 4) % NPU_ALU_ACT_FUNC_COUNT << NPU_ALU_ACT_FUNC_LSB
                                  : 0;
    case NPU_REG_ALU_P:
    case NPU_REG_ALU_Q:
        return bits;
    default:
        return offset > NPU_REG_ALU_ACT ? bits : bits & ~3u;
    }
}

static uint32_t plausible_pool(tb_rng *r, uint32_t offset, uint32_t bits) {
    switch (offset) {
    case NPU_REG_POOL_IFM_SIZE:
        return pair(r, 40, 40) + 0x00140014u;
    case NPU_REG_POOL_OFM_SIZE:
        return pair(r, 4, 4);
    case NPU_REG_POOL_WINDOW:
        return 0x01010202u + (bits & 0x03030303u);
    case NPU_REG_POOL_PAD:
        return bits & 0x0101u;
    case NPU_REG_POOL_CTRL:
        return bits & 1u ? NPU_POOL_CTRL_TYPE_AVG << NPU_POOL_CTRL_TYPE_LSB |
                               (bits & (NPU_POOL_CTRL_INT8_MASK | NPU_POOL_CTRL_EXCLUDE_PAD_MASK))
                         : bits & (NPU_POOL_CTRL_INT8_MASK | NPU_POOL_CTRL_EXCLUDE_PAD_MASK);
    case NPU_REG_POOL_CHANNELS:
        return (bits >> 20) + 1;
    case NPU_REG_POOL_RECIP:
        return bits;
    default:
        return bits & ~31u;
    }
}

uint32_t regs_plausible(tb_rng *rng, uint32_t offset) {
    const uint32_t bits = tb_rng_u32(rng);
    if (offset >= NPU_REG_POOL_IFM_ADDR) {
        return plausible_pool(rng, offset, bits);
    }
    if (offset >= NPU_REG_ALU_A_ADDR) {
        return plausible_alu(rng, offset, bits);
    }
    return offset >= NPU_REG_GEMM_IFM_ADDR ? plausible_gemm(rng, offset, bits) : bits;
}

uint32_t regs_edgy(tb_rng *rng, uint32_t offset) {
    static const uint32_t sizes[] = {0, 1, 255, 256, 257, 128, 512, 513, 1024, 1025, 65535, 127, 64, 65};
    const uint32_t last = sizeof sizes / sizeof *sizes - 1;
    const uint32_t a = sizes[tb_rng_range(rng, 0, last)];
    const uint32_t c = sizes[tb_rng_range(rng, 0, last)];
    const bool size = offset == NPU_REG_GEMM_IFM_SIZE || offset == NPU_REG_GEMM_CHANNELS ||
                      offset == NPU_REG_GEMM_OFM_SIZE || offset == NPU_REG_ALU_ROWS ||
                      offset == NPU_REG_POOL_IFM_SIZE || offset == NPU_REG_POOL_OFM_SIZE;
    const uint32_t flip = 1u << tb_rng_range(rng, 0, 31);
    return size ? a | (c << 16) : regs_plausible(rng, offset) ^ flip;
}
