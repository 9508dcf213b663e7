/* tensor.c - an operator in progress: its buffers on the device, its errors. Arrays are (c, h, w) with every layout on
 * the device. */
#include "core.h"
#include "num.h"

#include <stdlib.h>
#include <string.h>

#define ALIGN 64u /* of buffers: a multiple of every mesh size */

op op_begin(device *self) {
    return (op){.self = self, .keep = npu_dev_bufs(self->dev)};
}

bool op_end(op *o, const char *what) {
    npu_dev_alloc_drop(o->self->dev, o->keep);
    switch (o->trouble) {
    case OP_DRIVER:
        device_raise(o->self, o->status, what);
        break;
    case OP_DEVICE_MEMORY:
        PyErr_Format(PyExc_MemoryError,
                     "%s: no room for %llu bytes in device memory (Device(memory=...) makes it larger)", what,
                     (unsigned long long)o->bytes);
        break;
    case OP_HOST_MEMORY:
        PyErr_NoMemory();
        break;
    case OP_FINE:
    default:
        device_ok(o->self);
        break;
    }
    device_leave(o->self);
    return PyErr_Occurred() == NULL;
}

bool op_status(op *o, npu_status status) {
    if (status != NPU_OK && o->trouble == OP_FINE) {
        o->trouble = OP_DRIVER;
        o->status = status;
    }
    return status == NPU_OK;
}

void *op_malloc(op *o, size_t bytes) {
    void *p = malloc(bytes > 0 ? bytes : 1);
    if (p == NULL && o->trouble == OP_FINE) {
        o->trouble = OP_HOST_MEMORY;
    }
    return p;
}

uint32_t op_alloc(op *o, uint64_t bytes, npu_buf_kind kind) {
    const uint32_t addr =
        bytes > 0 && bytes <= UINT32_MAX - ALIGN ? npu_dev_alloc(o->self->dev, (uint32_t)bytes, ALIGN, kind) : 0;
    if (addr == 0 && o->trouble == OP_FINE) {
        o->trouble = OP_DEVICE_MEMORY;
        o->bytes = bytes;
    }
    return addr;
}

/* Write into a buffer of this operator. */
static bool write_to(op *o, uint32_t addr, const void *src, size_t bytes) {
    const bool ok = npu_dev_write(o->self->dev, addr, src, bytes);
    if (!ok && o->trouble == OP_FINE) {
        o->trouble = OP_HOST_MEMORY; /* the buffer is inside device memory, so a page of it could not be allocated */
    }
    return ok;
}

uint32_t op_put(op *o, const void *src, uint64_t bytes) {
    const uint32_t addr = op_alloc(o, bytes, NPU_BUF_IN);
    return addr != 0 && write_to(o, addr, src, (size_t)bytes) ? addr : 0;
}

uint32_t op_put_f32(op *o, const uint32_t *v, uint32_t scalar, uint32_t count, uint64_t bytes) {
    uint32_t *all = (uint32_t *)op_malloc(o, (size_t)bytes);
    if (all == NULL) {
        return 0;
    }
    memset(all, 0, (size_t)bytes);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = v != NULL ? v[i] : scalar;
    }
    const uint32_t addr = op_put(o, all, bytes);
    free(all);
    return addr;
}

static uint64_t pixels(const npu_tensor *t) {
    return (uint64_t)t->w * t->h;
}

/* Step and bytes; 0: larger than the memory. */
static uint64_t shape_up(const op *o, npu_tensor *t) {
    if (t->layout == NPU_INT8_NHWC) {
        t->step = tb_align_up(t->c, npu_dev_n(o->self->dev));
        return pixels(t) * t->step;
    }
    if (pixels(t) > UINT32_MAX / 8) {
        return UINT64_MAX;
    }
    t->step = pixels(t) == 1 ? 4 : tb_align_up((uint32_t)pixels(t) * 4, 16);
    return (uint64_t)t->c * t->step;
}

/* Pixels with contiguous channels, from planes of channels (or back). */
static void interleave(const npu_tensor *t, int8_t *nhwc, int8_t *nchw, bool back) {
    const size_t count = (size_t)pixels(t);
    for (size_t p = 0; p < count; p++) {
        for (size_t c = 0; c < t->c; c++) {
            int8_t *a = &nhwc[p * t->step + c];
            int8_t *b = &nchw[c * count + p];
            *(back ? b : a) = *(back ? a : b);
        }
    }
}

static bool put_int8(op *o, const npu_tensor *t, const int8_t *elements) {
    const size_t bytes = (size_t)(pixels(t) * t->step);
    int8_t *all = (int8_t *)op_malloc(o, bytes);
    if (all == NULL) {
        return false;
    }
    memset(all, 0, bytes);
    interleave(t, all, (int8_t *)(uintptr_t)elements, false);
    const bool ok = write_to(o, t->addr, all, bytes);
    free(all);
    return ok;
}

bool op_input(op *o, npu_tensor *t, const void *elements) {
    const uint64_t bytes = shape_up(o, t);
    t->addr = op_alloc(o, bytes, NPU_BUF_IN);
    if (t->addr == 0) {
        return false;
    }
    if (t->layout == NPU_INT8_NHWC) {
        return put_int8(o, t, (const int8_t *)elements);
    }
    const size_t plane = (size_t)pixels(t) * 4;
    if (plane == t->step) {
        return write_to(o, t->addr, elements, plane * t->c);
    }
    bool ok = true;
    for (uint32_t c = 0; ok && c < t->c; c++) {
        ok = write_to(o, t->addr + c * t->step, (const uint8_t *)elements + c * plane, plane);
    }
    return ok;
}

bool op_output(op *o, npu_tensor *t) {
    t->addr = op_alloc(o, shape_up(o, t), NPU_BUF_OUT);
    return t->addr != 0;
}

bool op_fetch(op *o, const npu_tensor *t, void *elements) {
    npu_dev *dev = o->self->dev;
    const size_t plane = (size_t)pixels(t) * 4;
    bool ok = true;
    if (t->layout == NPU_INT8_NHWC) {
        const size_t bytes = (size_t)(pixels(t) * t->step);
        int8_t *all = (int8_t *)op_malloc(o, bytes);
        ok = all != NULL && npu_dev_read(dev, t->addr, all, bytes);
        if (ok) {
            interleave(t, all, (int8_t *)elements, true);
        }
        free(all);
    } else if (plane == t->step) {
        ok = npu_dev_read(dev, t->addr, elements, plane * t->c);
    } else {
        for (uint32_t c = 0; ok && c < t->c; c++) {
            ok = npu_dev_read(dev, t->addr + c * t->step, (uint8_t *)elements + c * plane, plane);
        }
    }
    if (!ok && o->trouble == OP_FINE) {
        o->trouble = OP_HOST_MEMORY;
    }
    return ok;
}

bool tensor_of(const nd *a, const char *what, bool int8, npu_tensor *t) {
    if (a->dims != 3) {
        return arg_refuse(PyExc_ValueError, "%s: expected shape (channels, height, width), got %d dimensions", what,
                          a->dims);
    }
    for (int i = 0; i < 3; i++) {
        if (a->shape[i] < 1 || a->shape[i] > 65535) {
            return arg_refuse(PyExc_ValueError, "%s: dimension %d is %zd, expected 1..65535", what, i, a->shape[i]);
        }
    }
    *t = (npu_tensor){.c = (uint32_t)a->shape[0],
                      .h = (uint32_t)a->shape[1],
                      .w = (uint32_t)a->shape[2],
                      .layout = int8 ? NPU_INT8_NHWC : NPU_FP32_NCHW};
    return true;
}
