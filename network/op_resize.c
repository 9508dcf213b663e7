/* op_resize.c - resizing of maps. */
#include "op.h"

const net_op net_ops_resize[] = {
    {"Interp", 1, 2, 1, 1, NULL, NULL, NULL, NULL},
    {0},
};
