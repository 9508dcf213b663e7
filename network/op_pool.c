/* op_pool.c - pooling. */
#include "op.h"

const net_op net_ops_pool[] = {
    {"Pooling", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {0},
};
