/*
 * copy_device.h - the engine in tandem: register writes go to RTL and golden model, registers and memory are compared.
 */
#ifndef COPY_DEVICE_H
#define COPY_DEVICE_H

#include "copy_hal.h"
#include "copy_model.h"
#include "tb.h"

enum { COPY_PORT_REGS, COPY_PORT_MEM };
#define COPY_MEM_BASE 0x10000000u
#define COPY_MEM_SIZE 0x100000u

typedef struct copy_device {
    tb_run run;
    tb_ddr rtl_mem, model_mem;
    tb_buffers live; /* buffers of the copy in flight */
    copy_model model;
    tb_tlog *log[2]; /* of RTL and model, or NULL */
    copy_hal hal;    /* for the driver */
} copy_device;

/* 0 or -1 with one line in err; copy_device_close() in any case. The struct must not be moved. */
int copy_device_open(copy_device *dev, const tb_run_cfg *cfg, char *err, size_t err_size);
void copy_device_close(copy_device *dev);
/* Contents of both memories. */
void copy_device_fill(copy_device *dev, uint32_t addr, const void *data, size_t bytes);
/* Accept the RTL's bytes in this range, which a bus error made undefined. */
void copy_device_take(copy_device *dev, uint32_t addr, uint32_t bytes);
/* A copy begins: from now on the engine may read its source and write its destination, and nothing else. A copy ends:
 * accesses are failures again. */
void copy_device_begin(copy_device *dev, uint64_t number, uint32_t src, uint32_t dst, uint32_t bytes);
void copy_device_end(copy_device *dev);
/* Tensor logs: in dir a folder for each side, with the destination of each copy when copy_device_log() is called. -1
 * with one line in err. */
int copy_device_dump(copy_device *dev, const char *dir, char *err, size_t err_size);
void copy_device_log(copy_device *dev, uint64_t number, uint32_t dst, uint32_t bytes);
int copy_device_dump_end(copy_device *dev, char *err, size_t err_size);
/* Compare memory and registers; no copy may be in flight. `dst`: destination of the last one, for the report. True:
 * equal. */
bool copy_device_compare(copy_device *dev, uint32_t dst, uint32_t bytes);

#endif
