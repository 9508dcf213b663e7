/* device_type.c - the type Device: its methods and their documentation. */
#include "core.h"

#define RAISES                                                                                                         \
    "\n\nTypeError, ValueError: arguments. DriverError: the driver refuses it. MemoryError: device memory.\n"          \
    "Divergence, DeviceError: the device has failed. The GIL is released while it runs."
#define SCALES                                                                                                         \
    "in_scale: number, quantiser of the input (127/threshold; INT8: the one it was made with). w_scale: number or "    \
    "float32\n"                                                                                                        \
    "(out,), 127/absmax of each output channel. bias: number or float32 (out,). act: a name of "                       \
    "tandem.model.ACTIVATIONS; act_p: its\n"                                                                           \
    "one or two parameters (drivers/npu/npu.h). out_scale: quantiser of an INT8 output; None: FP32.\n"                 \
    "result = act(sum * (1 / (in_scale * w_scale)) + bias), each step in FP32 (docs/npu/npu.md section 2)."

static PyMethodDef methods[] = {
    {"close", device_close, METH_NOARGS,
     "close()\n--\n\nEnd-of-simulation checks, waveform closed, memory freed. Divergence, DeviceError: the checks "
     "found something new."},
    {"__enter__", device_start, METH_NOARGS, "__enter__()\n--\n\nThe device itself."},
    {"__exit__", device_end, METH_VARARGS, "__exit__(*exc)\n--\n\nclose(). An exception of the block is kept."},
    CORE_ROW("conv2d", device_conv2d,
             "conv2d(x, w, *, in_scale=1.0, w_scale=1.0, bias=None, stride=1, dilation=1, padding=0, groups=1, "
             "act='none', act_p=(), "
             "out_scale=None, split=None)\n--\n\nConvolution, INT8 inside.\n\n"
             "x: float32 or int8 (channels, height, width). w: int8 (out, channels / groups, height, width).\n"
             "stride, dilation: number or (vertical, horizontal); padding: also (top, left, bottom, right).\n" SCALES
             "\nsplit: dict with max_ow, max_oh, max_ic, max_oc, group, serial: limits on the tasks (results never "
             "depend on them).\n"
             "Returns float32 or int8 (out, height, width)." RAISES),
    CORE_ROW("depthwise", device_depthwise,
             "depthwise(x, w, *, in_scale=1.0, w_scale=1.0, bias=None, stride=1, dilation=1, padding=0, act='none', "
             "act_p=(), out_scale=None, "
             "split=None)\n--\n\nDepthwise convolution: one kernel for each channel.\n\nw: int8 (channels, height, "
             "width). All else as "
             "conv2d." RAISES),
    CORE_ROW(
        "qlinear_conv", device_qlinear_conv,
        "qlinear_conv(x, w, *, x_step=1.0, x_zero=0, w_step=1.0, y_step=1.0, y_zero=0, bias=None, stride=1, "
        "dilation=1, padding=0, groups=1, split=None)\n--\n\n"
        "ONNX's QLinearConv, with onnxruntime's bits: int8 tensors are step * (q - zero).\n\n"
        "x: int8 (channels, height, width). w: int8 (out, channels / groups, height, width), its zero is 0. w_step: "
        "number or float32 (out,). bias: int32 (out,), in x_step * w_step. All else as conv2d.\n"
        "Returns int8 (out, height, width)." RAISES),
    CORE_ROW("linear", device_linear,
             "linear(x, w, *, in_scale=1.0, w_scale=1.0, bias=None, act='none', act_p=(), out_scale=None)\n--\n\nFully "
             "connected layer: "
             "sum over i "
             "of w[o][i] * x[i].\n\nx: float32 or int8 (in,). w: int8 (out, in).\n" SCALES
             "\nReturns float32 or int8 (out,)." RAISES),
    CORE_ROW("convert", device_convert,
             "convert(x, scale)\n--\n\nChange precision: float32 to int8 (round(x * scale), halves away from zero, "
             "-127..127), int8 to float32 "
             "(x * scale).\n\nx: float32 or int8 (channels, height, width)." RAISES),
    CORE_ROW(
        "pool", device_pool,
        "pool(x, kernel=None, *, stride=None, padding=0, mode='max', exclude_pad=False, "
        "ceil_mode=False)\n--\n\nPooling.\n\n"
        "x: float32 or int8 (channels, height, width). kernel, stride: number or (vertical, horizontal); kernel None: "
        "the whole map;\n"
        "stride None: the kernel. mode: 'max' or 'average'; exclude_pad: averages over real elements only." RAISES),
    CORE_ROW(
        "alu", device_alu,
        "alu(op, a, p=0, q=0, *, act='none', act_p=(), func='none')\n--\n\nElement-wise operation of the ALU: "
        "act(op(a, p, q)), or func in place of act.\n\n"
        "op: a name of tandem.model.ALU_OPS, no reduction. a: float32 (channels, height, width), or one or two "
        "dimensions; "
        "add_i32: int32.\n"
        "p, q: a number, an array (channels,) with one value for each channel, or (one of them) an array of the shape "
        "of a. func: a name of tandem.model.FUNCTIONS: 'exp', 'recip', 'rsqrt' (1 / root).\n"
        "Returns an array like a." RAISES),
    CORE_ROW("act", device_act,
             "act(x, act, act_p=())\n--\n\nAn activation: alu('copy', x, act=act, act_p=act_p).\n\nx: float32, one to "
             "three dimensions." RAISES),
    CORE_ROW("dot", device_dot,
             "dot(a, b, scale=1.0)\n--\n\nInner product of two vectors times a factor, in the order of the ALU "
             "(docs/npu/npu.md section "
             "3.3).\n\n"
             "a, b: float32 (length,). Returns a float that is an FP32 value." RAISES),
    CORE_ROW("softmax", device_softmax,
             "softmax(x, axis=-1)\n--\n\ne^(x - max) / sum of these along an axis, on the ALU (docs/npu/driver.md, "
             "Rows).\n\nx: float32, one to eight dimensions. Returns an array like x." RAISES),
    CORE_ROW("layer_norm", device_layer_norm,
             "layer_norm(x, gamma=None, beta=None, *, eps=1e-5)\n--\n\n(x - mean) / sqrt(variance + eps) * gamma + "
             "beta along the last axis, on the ALU.\n\nx: float32, one to eight dimensions. gamma, beta: float32 "
             "(elements of that axis,), a beta only with a gamma. Returns an array like x." RAISES),
    CORE_ROW("rms_norm", device_rms_norm,
             "rms_norm(x, gamma=None, *, eps=1e-5)\n--\n\nx / sqrt(mean of x^2 + eps) * gamma along the last axis, "
             "on the ALU.\n\nx, gamma: as layer_norm(). Returns an array like x." RAISES),
    CORE_ROW("global_average", device_global_average,
             "global_average(x)\n--\n\nAverage of each channel, a reduction of the ALU.\n\nx: float32 (channels, "
             "height, width). Returns "
             "float32 (channels,)." RAISES),
    CORE_ROW("upsample2x", device_upsample2x,
             "upsample2x(x)\n--\n\nNearest neighbour, twice as large.\n\nx: float32 or int8 (channels, height, "
             "width)." RAISES),
    CORE_ROW("copy", device_copy,
             "copy(x)\n--\n\nA copy made by the device.\n\nx: float32 or int8 (channels, height, width)." RAISES),
    CORE_ROW("alloc", device_alloc,
             "alloc(nbytes, align=64, kind='scratch')\n--\n\nDeclare a buffer of device memory; its address.\n\n"
             "align: power of two, 16 and more. kind: 'in' (the NPU may not write it), 'out', 'scratch' (both). Guard "
             "bytes lie between "
             "buffers.\n"
             "MemoryError: no room. It lives until free_all()."),
    {"free_all", device_free_all, METH_NOARGS,
     "free_all()\n--\n\nFree all buffers of alloc() and drop the contents of memory."},
    CORE_ROW("write", device_write,
             "write(addr, data)\n--\n\nBytes into device memory, through the back door.\n\ndata: any C-contiguous "
             "array of numbers. "
             "IndexError: outside."),
    CORE_ROW("read", device_read,
             "read(addr, shape, dtype='uint8')\n--\n\nA new array of bytes of device memory (of the RTL, if there "
             "is one). IndexError: "
             "outside."),
    CORE_ROW("read_into", device_read_into,
             "read_into(addr, out)\n--\n\nThe same into an array of the caller's. Returns it."),
    CORE_ROW("read_register", device_read_register,
             "read_register(register)\n--\n\nA register, by name or byte offset, through the bus.\n\nDeviceError, "
             "Divergence: the device "
             "has failed."),
    CORE_ROW("write_register", device_write_register,
             "write_register(register, value)\n--\n\nWrite a register, by name or byte offset, through the bus. The "
             "driver resets the "
             "device before its\n"
             "next operator.\n\nDeviceError, Divergence: the device has failed."),
    {"registers", device_all_registers, METH_NOARGS, "registers()\n--\n\nAll registers: name to value."},
    {"counters", device_counters, METH_NOARGS,
     "counters()\n--\n\nPerformance counters since clear_counters(): name (tandem.COUNTERS, docs/python.md) to number. "
     "All 0 on the "
     "model."},
    {"clear_counters", device_clear_counters, METH_NOARGS,
     "clear_counters()\n--\n\nSet all performance counters to 0."},
    {"bus_stats", device_bus_stats, METH_NOARGS,
     "bus_stats()\n--\n\nStatistics of the three ports since the device was opened: a list of dicts (the model: "
     "empty)."},
    CORE_ROW("wave", device_wave,
             "wave(path=None)\n--\n\nBegin an FST waveform now; None: end the current one.\n\nError: a build "
             "without tracing, the "
             "model, a file "
             "that cannot be written."),
    CORE_ROW("run", device_run, "run(cycles)\n--\n\nAdvance the clock."),
    {"reset", device_reset, METH_NOARGS, "reset()\n--\n\nReset in place: registers and tasks are gone, memory stays."},
    {"compare", device_compare, METH_NOARGS,
     "compare()\n--\n\nCompare RTL and golden model now (kind 'tandem'). Divergence: they differ."},
    {"finish", device_finish, METH_NOARGS,
     "finish()\n--\n\nEnd-of-simulation checks; the final memory is added to trace_hash. Divergence, DeviceError: what "
     "they found."},
    CORE_ROW("inject_flip", device_inject_flip,
             "inject_flip(channel, k)\n--\n\nA broken memory: one bit of the k-th beat of read data of a channel (0, "
             "1) from now is wrong, "
             "once."),
    CORE_ROW(
        "inject_error", device_inject_error,
        "inject_error(channel, direction, k=0)\n--\n\nRespond to the k-th burst from now (0: the next) with an error. "
        "direction: 'read' "
        "or 'write'."),
    CORE_ROW("inject_hang", device_inject_hang,
             "inject_hang(channel, axi, k=0)\n--\n\nA memory that hangs: no handshake on an AXI channel ('AW', 'W', "
             "'B', 'AR', 'R') from "
             "the k-th on."),
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, (void *)device_new},
    {Py_tp_dealloc, (void *)device_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, device_getset},
    {Py_tp_doc, (void *)"Device(kind, n=8, seed=1, *, bus='ideal', memory=1073741824, wave=None, build=None, "
                        "init_seed=None, poison_reads=True, "
                        "max_cycles=0, "
                        "watchdog=100000, wait='irq', timeout_us=1000000, plusargs=None, checks=True)\n--\n\n"
                        "The NPU with its memory and its driver.\n\n"
                        "kind: 'model' (golden model), 'rtl' (Verilated), 'tandem' (both, compared). n: mesh size. "
                        "seed: bus timing, initial state.\n"
                        "bus: timing of memory (ideal, fast, typical, slow, bursty, hostile). memory: bytes (those "
                        "that are used take space). wave: FST "
                        "file of the whole run. build: "
                        "which\n"
                        "build of the RTL (fast, tap, debug; rtl_builds()). init_seed: initial state alone. "
                        "poison_reads: reading bytes that were never "
                        "written is a\n"
                        "failure. max_cycles: failure after so many (0: no limit). watchdog: cycles without progress. "
                        "wait: 'irq' or 'poll'. "
                        "plusargs: for the\n"
                        "design. checks: False: no checks of the units (build tap).\n\n"
                        "A context manager. One thread at a time: others wait. Error: no such build, a file that "
                        "cannot be written."},
    {0, NULL},
};

PyType_Spec device_spec = {.name = "tandem.Device",
                           .basicsize = sizeof(device),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = slots};
