/* op_eltwise.c - operations on pairs of elements, on several blobs, and along axes. */
#include "op.h"

const net_op net_ops_eltwise[] = {
    {"Eltwise", 2, NET_ANY, 1, 1, NULL, NULL, NULL, NULL},
    {"BinaryOp", 1, 2, 1, 1, NULL, NULL, NULL, NULL},
    {"UnaryOp", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {"Reduction", 1, 1, 1, 1, NULL, NULL, NULL, NULL},
    {0},
};
