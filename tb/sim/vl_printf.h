/*
 * vl_printf.h - force-included when Verilator's runtime library is compiled (scripts/rtl.mk): everything the runtime
 * prints goes through the shim, which keeps the first error message of the model.
 */
#ifndef TB_SIM_VL_PRINTF_H
#define TB_SIM_VL_PRINTF_H

extern "C" int tb_vl_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define VL_PRINTF tb_vl_printf

#endif
