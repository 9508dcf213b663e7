/*
 * no_shim.c - programs that simulate nothing (the tests of host libraries) link this in place of a Verilated top.
 */
#include "sim/shim.h"

const tb_shim *tb_shim_get(void) {
    return NULL;
}
