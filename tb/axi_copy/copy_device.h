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
    tb_pair pair;
    copy_model model;
    copy_hal hal; /* for the driver */
} copy_device;

extern const tb_tandem copy_bench;

/*
 * A copy begins: from now on the engine may read its source and write its destination, and nothing else. It ends:
 * accesses are failures again.
 */
void copy_device_begin(copy_device *dev, uint64_t number, uint32_t src, uint32_t dst, uint32_t bytes);
void copy_device_end(copy_device *dev);
/* A bus error made the bytes in this range undefined: accept those of the RTL, and its ERR. */
void copy_device_take(copy_device *dev, uint32_t addr, uint32_t bytes);
/* Write the destination of a copy to the tensor logs, if there are any. */
void copy_device_log(copy_device *dev, uint64_t number, uint32_t dst, uint32_t bytes);
/* Compare memory and registers; no copy may be in flight. True: equal. */
bool copy_device_compare(copy_device *dev);

#endif
