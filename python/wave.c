/* wave.c - signals of waveform files as arrays. The file is read in a child process, which returns the value changes in
 * memory. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tb.h"

/* Reads the output of the child; false if it ends too early. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static bool take(cursor *c, void *dst, size_t bytes) {
    if ((size_t)(c->end - c->at) < bytes) {
        return false;
    }
    memcpy(dst, c->at, bytes);
    c->at += bytes;
    return true;
}

static void put(const void *src, size_t bytes) {
    fwrite(src, 1, bytes, stdout); /* the stream keeps an error, and the child exits with it */
}

static void put_u32(uint32_t v) {
    put(&v, sizeof v);
}

static void put_text(const char *text) {
    const uint32_t len = (uint32_t)strlen(text);
    put_u32(len);
    put(text, len);
}

static PyObject *take_text(cursor *c) {
    uint32_t len = 0;
    if (!take(c, &len, sizeof len) || (size_t)(c->end - c->at) < len) {
        return PyErr_Format(PyExc_EOFError, "a record of the child is cut off");
    }
    PyObject *text = PyUnicode_DecodeUTF8(c->at, (Py_ssize_t)len, "backslashreplace");
    c->at += len;
    return text;
}

/* ---- list of signals ---- */

typedef struct header {
    uint64_t first, last;
    int32_t exponent;
    uint32_t count;
} header;

static int list_signals(void *ctx) {
    char err[512];
    size_t count;
    int exponent;
    header h;
    tb_wave *wave = tb_wave_open((const char *)ctx, err, sizeof err);
    if (wave == NULL) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    memset(&h, 0, sizeof h);
    tb_wave_times(wave, &h.first, &h.last, &exponent);
    h.exponent = exponent;
    h.count = (uint32_t)count;
    put(&h, sizeof h);
    for (size_t i = 0; i < count; i++) {
        put_text(s[i].scope);
        put_text(s[i].name);
        put_text(s[i].range);
        put_u32(s[i].width);
        put_u32(s[i].handle);
        put_u32(s[i].parameter ? 1 : 0);
    }
    tb_wave_close(wave);
    return 0;
}

static PyObject *one_signal(cursor *c) {
    uint32_t v[3] = {0};
    PyObject *scope = take_text(c);
    PyObject *name = scope != NULL ? take_text(c) : NULL;
    PyObject *range = name != NULL ? take_text(c) : NULL;
    PyObject *path = NULL;
    if (range != NULL && take(c, v, sizeof v)) {
        path = PyUnicode_GET_LENGTH(scope) > 0 ? PyUnicode_FromFormat("%U.%U", scope, name) : Py_NewRef(name);
    }
    PyObject *row =
        path != NULL ? Py_BuildValue("(OIOOI)", path, v[0], range, v[2] != 0 ? Py_True : Py_False, v[1]) : NULL;
    Py_XDECREF(scope);
    Py_XDECREF(name);
    Py_XDECREF(range);
    Py_XDECREF(path);
    return row;
}

static PyObject *signal_list(const char *data, Py_ssize_t bytes) {
    cursor c = {.at = data, .end = data + bytes};
    header h;
    if (!take(&c, &h, sizeof h)) {
        return PyErr_Format(PyExc_EOFError, "the child wrote nothing");
    }
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list != NULL && i < h.count; i++) {
        PyObject *row = one_signal(&c);
        if (row == NULL || PyList_Append(list, row) != 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list != NULL
               ? Py_BuildValue("(KKiN)", (unsigned long long)h.first, (unsigned long long)h.last, (int)h.exponent, list)
               : NULL;
}

/* `self` of a function is its module. */
static const core_state *state_of(PyObject *module) {
    return (const core_state *)PyModule_GetState(module);
}

CORE_METHOD(wave_signals) {
    static const args_def def = {"_wave_signals", 1, 1, {"path", NULL}};
    PyObject *in[1];
    PyObject *path = args_take(&def, args, nargs, kwnames, in) ? arg_path(in[0], "path") : NULL;
    if (path == NULL) {
        return NULL;
    }
    char *name = PyBytes_AS_STRING(path);
    PyObject *bytes = child_run(state_of(self), name, list_signals, name, 1);
    PyObject *result = bytes != NULL ? signal_list(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes)) : NULL;
    Py_XDECREF(bytes);
    Py_DECREF(path);
    return result;
}

/* ---- their values ---- */

typedef struct reading {
    const char *path;
    uint32_t *handle;
    uint32_t count;
    uint64_t from, to;
    uint32_t *number; /* in the child: number of a handle among those that are read, from 1 on */
} reading;

/* Number, time, then words of the value and of its unknown bits, lowest word first. */
static int change(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    const reading *r = (const reading *)ctx;
    put_u32(r->number[handle] - 1);
    put(&time, sizeof time);
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t low = 0; low < width; low += 64) {
            uint64_t word = 0;
            for (uint32_t i = 0; i < 64 && low + i < width; i++) {
                const char b = bits[width - 1 - low - i];
                word |= (uint64_t)(pass == 0 ? b == '1' : b != '0' && b != '1') << i;
            }
            put(&word, sizeof word);
        }
    }
    return ferror(stdout);
}

/* Writes the widths first. */
static int read_open(reading *r, tb_wave *wave) {
    const uint32_t handles = tb_wave_handles(wave);
    uint8_t *want = calloc((size_t)handles + 1, 1);
    uint32_t *width = calloc((size_t)handles + 1, sizeof *width);
    r->number = calloc((size_t)handles + 1, sizeof *r->number);
    char err[512] = "out of memory";
    size_t count;
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    bool ok = want != NULL && r->number != NULL && width != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        width[s[i].handle] = s[i].width;
    }
    for (uint32_t i = 0; ok && i < r->count; i++) {
        ok = r->handle[i] < handles && width[r->handle[i]] != 0;
        if (!ok) {
            snprintf(err, sizeof err, "%.400s: no signal has handle %u", r->path, r->handle[i]);
            break;
        }
        want[r->handle[i]] = 1;
        r->number[r->handle[i]] = i + 1;
        put_u32(width[r->handle[i]]);
    }
    ok = ok && tb_wave_read(wave, want, r->from, r->to, change, r, err, sizeof err) == 0;
    if (!ok) {
        fprintf(stderr, "%s\n", err);
    }
    return ok ? 0 : 1;
}

static int read_changes(void *ctx) {
    char err[512];
    reading *r = (reading *)ctx;
    tb_wave *wave = tb_wave_open(r->path, err, sizeof err);
    if (wave == NULL) {
        fprintf(stderr, "%s\n", err);
        return 1;
    }
    return read_open(r, wave);
}

/* Arrays of one signal that are being filled. */
typedef struct series {
    uint32_t width, words, bytes; /* bytes of an element, up to 64 bits */
    size_t changes, at;
    PyObject *times, *values, *unknown;
    nd t, v, u;
} series;

static void series_free(series *s, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        nd_release(&s[i].t);
        nd_release(&s[i].v);
        nd_release(&s[i].u);
        Py_XDECREF(s[i].times);
        Py_XDECREF(s[i].values);
        Py_XDECREF(s[i].unknown);
    }
    PyMem_Free(s);
}

static bool series_new(const core_state *state, series *s) {
    const nd_type type = s->bytes == 1 ? ND_U8 : s->bytes == 2 ? ND_U16 : s->bytes == 4 ? ND_U32 : ND_U64;
    const Py_ssize_t shape[2] = {(Py_ssize_t)s->changes, s->words};
    const int dims = s->words > 1 ? 2 : 1;
    s->times = nd_new(&state->np, ND_U64, 1, shape, &s->t);
    s->values = s->times != NULL ? nd_new(&state->np, type, dims, shape, &s->v) : NULL;
    s->unknown = s->values != NULL ? nd_new(&state->np, type, dims, shape, &s->u) : NULL;
    return s->unknown != NULL;
}

/* The next record; false: there is none. `words` has space for value and unknown bits of the widest signal. */
static bool record(cursor *c, const series *s, uint32_t count, uint32_t *number, uint64_t *time, const char **words) {
    if (!take(c, number, sizeof *number) || *number >= count || !take(c, time, sizeof *time)) {
        return false;
    }
    const size_t bytes = (size_t)s[*number].words * 16;
    if ((size_t)(c->end - c->at) < bytes) {
        return false;
    }
    *words = c->at;
    c->at += bytes;
    return true;
}

static void store(series *s, uint64_t time, const char *words) {
    /* little-endian: the low bytes of a word come first */
    const size_t bytes = s->words > 1 ? (size_t)s->words * 8 : s->bytes;
    ((uint64_t *)s->t.data)[s->at] = time;
    memcpy((char *)s->v.data + s->at * bytes, words, bytes);
    memcpy((char *)s->u.data + s->at * bytes, words + (size_t)s->words * 8, bytes);
    s->at++;
}

static PyObject *series_list(const series *s, uint32_t count) {
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (uint32_t i = 0; list != NULL && i < count; i++) {
        PyObject *row = PyTuple_Pack(3, s[i].times, s[i].values, s[i].unknown);
        if (row == NULL) {
            Py_CLEAR(list);
        } else {
            PyList_SET_ITEM(list, (Py_ssize_t)i, row);
        }
    }
    return list;
}

static PyObject *collect(const core_state *state, uint32_t count, const char *data, Py_ssize_t bytes) {
    cursor c = {.at = data, .end = data + bytes};
    uint32_t number;
    uint64_t time;
    const char *words;
    series *s = PyMem_Calloc(count > 0 ? count : 1, sizeof *s);
    if (s == NULL) {
        return PyErr_NoMemory();
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = take(&c, &s[i].width, sizeof s[i].width);
        s[i].words = (s[i].width + 63) / 64;
        s[i].bytes = s[i].width <= 8 ? 1 : s[i].width <= 16 ? 2 : s[i].width <= 32 ? 4 : 8;
    }
    for (cursor first = c; ok && record(&first, s, count, &number, &time, &words);) {
        s[number].changes++;
    }
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = series_new(state, &s[i]);
    }
    while (ok && record(&c, s, count, &number, &time, &words)) {
        store(&s[number], time, words);
    }
    if (!ok && PyErr_Occurred() == NULL) {
        PyErr_SetString(PyExc_EOFError, "a record of the child is cut off");
    }
    PyObject *list = ok ? series_list(s, count) : NULL;
    series_free(s, count);
    return list;
}

static bool take_handles(PyObject *obj, reading *r) {
    PyObject *seq = arg_sequence(obj, "handles", "a list of integers");
    if (seq == NULL) {
        return false;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(seq);
    bool ok = count < 1 << 24;
    r->handle = ok ? PyMem_Calloc((size_t)count + 1, sizeof *r->handle) : NULL;
    if (r->handle == NULL) {
        PyErr_NoMemory();
        ok = false;
    }
    for (Py_ssize_t i = 0; ok && i < count && i < PySequence_Fast_GET_SIZE(seq); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(seq, i);
        Py_INCREF(item);
        ok = arg_u32(item, "handles", 0, UINT32_MAX, &r->handle[i]);
        Py_DECREF(item);
    }
    r->count = (uint32_t)count;
    Py_DECREF(seq);
    return ok;
}

CORE_METHOD(wave_read) {
    static const args_def def = {"_wave_read", 4, 2, {"path", "handles", "first", "last", NULL}};
    PyObject *in[4];
    reading r = {.to = UINT64_MAX};
    if (!args_take(&def, args, nargs, kwnames, in) || !arg_u64(in[2], "first", &r.from) ||
        !arg_u64(in[3], "last", &r.to)) {
        return NULL;
    }
    PyObject *path = arg_path(in[0], "path");
    PyObject *bytes = NULL;
    PyObject *result = NULL;
    if (path != NULL && take_handles(in[1], &r)) {
        r.path = PyBytes_AS_STRING(path);
        bytes = child_run(state_of(self), r.path, read_changes, &r, 1);
    }
    if (bytes != NULL) {
        result = collect(state_of(self), r.count, PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
    }
    PyMem_Free(r.handle);
    Py_XDECREF(bytes);
    Py_XDECREF(path);
    return result;
}
