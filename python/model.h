/*
 * model.h - private to the module tandem.model: its state and its functions.
 */
#ifndef TANDEM_PY_MODEL_H
#define TANDEM_PY_MODEL_H

#include "tandem_py.h"

#include "cmodel.h"

typedef struct model_state {
    nd_numpy np;
} model_state;

static inline const nd_numpy *model_np(PyObject *module) {
    return &((model_state *)PyModule_GetState(module))->np;
}

/* A function of the module: METH_FASTCALL | METH_KEYWORDS. */
#define MODEL_FUNC(name) PyObject *name(PyObject *module, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
#define MODEL_ROW(name, func, doc)                                                                                     \
    { name, (PyCFunction)(void (*)(void))(func), METH_FASTCALL | METH_KEYWORDS, doc }

/* Is it a supported mesh size? false: ValueError. */
bool model_n(uint32_t n, const char *what);

/* model_fp.c */
extern const PyMethodDef model_fp_methods[];
extern const size_t model_fp_count;
/* model_task.c */
extern const PyMethodDef model_task_methods[];
extern const size_t model_task_count;

#endif
