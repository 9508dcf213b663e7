/*
 * vl_signed.h - force-included when Verilated code is compiled (scripts/rtl.mk): sign extension as compilers know it.
 * The runtime of Verilator writes it as -(x & sign) | x, for which g++ has no vector instruction and which it does not
 * drop where nothing is left to extend: 40 % of the time of the mesh at N=32. Same results, with the same arguments:
 * the bits of x above its width are zero.
 */
#ifndef TB_SIM_VL_SIGNED_H
#define TB_SIM_VL_SIGNED_H

#include "verilated.h" /* before the macros: it defines functions of these names */

static inline IData tb_vl_extend(int width, IData x) {
    switch (width) {
    case 8: return static_cast<IData>(static_cast<int8_t>(x));
    case 16: return static_cast<IData>(static_cast<int16_t>(x));
    default: return static_cast<IData>(static_cast<int32_t>(x << (32 - width)) >> (32 - width));
    }
}

#define VL_EXTENDS_II(width_to, width, x) tb_vl_extend(width, x)
#define VL_MULS_III(width, a, b) (tb_vl_extend(width, a) * tb_vl_extend(width, b))

#endif
