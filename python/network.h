/* network.h - private to the module tandem._core: the type Network. */
#ifndef TANDEM_PY_NETWORK_H
#define TANDEM_PY_NETWORK_H

#include "core.h"

#include "../network/network.h"

typedef struct network {
    PyObject ob_base;
    net_graph graph;
    net_table table;    /* of the last calibration */
    bool busy;          /* a call uses it without the GIL */
    PyObject *where;    /* last_run */
    PyObject *measured; /* calibration */
} network;

/* Lock the network for a call. false: RuntimeError. */
bool network_enter(network *self);
void network_leave(network *self);
/* The exception of a status. */
void network_raise(PyObject *self, net_status status, const net_error *err);
/* Shape of a blob as an array; `count` > 0: with this number as the first dimension. Returns the dimensions. */
int network_shape(const net_shape *s, Py_ssize_t count, Py_ssize_t *shape);
/* Hold the inputs of one inference (`batch`: of several, one row each): float32 with as many elements as the input
 * blobs have. *count: inferences. */
bool network_input(network *self, PyObject *obj, bool batch, nd *x, uint32_t *count);

/* network_calib.c */
CORE_METHOD(network_calibrate);

/* network_run.c */
CORE_METHOD(network_run);
CORE_METHOD(network_reference);

extern PyType_Spec network_spec;

#endif
