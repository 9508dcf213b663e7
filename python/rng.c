/* rng.c - random numbers of the testbench (tb/case/rng.h), so that a testcase in Python draws the same numbers as one
 * in C. */
#include "core.h"

#include "case/rng.h"

PyObject *rng_test_seed(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const args_def def = {"test_seed", 3, 3, {"run_seed", "test", "index", NULL}};
    PyObject *in[3];
    uint64_t run_seed = 0;
    uint64_t index = 0;
    (void)self;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u64(in[0], "run_seed", &run_seed) ||
        !arg_u64(in[2], "index", &index)) {
        return NULL;
    }
    const char *test = arg_text(in[1], "test");
    return test != NULL ? PyLong_FromUnsignedLongLong(tb_rng_test_seed(run_seed, test, index)) : NULL;
}

PyObject *rng_draw(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames) {
    static const args_def def = {"draw", 4, 4, {"seed", "name", "lowest", "highest", NULL}};
    PyObject *in[4];
    uint64_t seed = 0;
    int64_t lo = 0;
    int64_t hi = 0;
    (void)self;
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u64(in[0], "seed", &seed) ||
        !arg_int(in[2], "lowest", INT64_MIN, INT64_MAX, &lo) || !arg_int(in[3], "highest", lo, INT64_MAX, &hi)) {
        return NULL;
    }
    const char *name = arg_text(in[1], "name");
    if (name == NULL) {
        return NULL;
    }
    tb_rng rng = tb_rng_stream(seed, name);
    return PyLong_FromLongLong(tb_rng_range_i64(&rng, lo, hi));
}
