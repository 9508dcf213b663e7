/*
 * sac_device.h - the shift-add engine in tandem: register writes go to RTL and golden model, and after each task memory
 * and registers are compared.
 */
#ifndef SAC_DEVICE_H
#define SAC_DEVICE_H

#include "sac_hal.h"
#include "sac_model.h"
#include "tb.h"

enum { SAC_PORT_REGS, SAC_PORT_F, SAC_PORT_W };
#define SAC_MEM_BASE 0x40000000u
#define SAC_MEM_SIZE 0x8000000u

typedef struct sac_device {
    tb_run run;
    tb_pair pair;
    sac_model model;
    cm_layer_task task; /* that was started last, for the checks of the units */
    uint64_t tasks;     /* started */
    bool gone;          /* the last task met an error response or was aborted: what it wrote is undefined */
    sac_hal hal;        /* for the driver */
} sac_device;

/* Its `open` is for the program, which knows its configuration: it calls sac_device_build(). */
extern const tb_tandem sac_bench;
/* The golden model with these sizes, and what the driver needs. 0 or -1 with one line in err. */
int sac_device_build(sac_device *dev, const sac_build *build, char *err, size_t err_size);
/*
 * The task in the registers begins: from now on the engine may read its operands and write its output, nothing else. It
 * ends: accesses are failures again.
 */
void sac_device_begin(sac_device *dev);
void sac_device_end(sac_device *dev);
/*
 * Compare memory and registers; no task may be in flight. True: equal. `aborted`: the last task has not run to its
 * end.
 */
bool sac_device_compare(sac_device *dev, bool aborted);
/* Write the output of the task in the registers to the tensor logs, if there are any. */
void sac_device_log(sac_device *dev);

#endif
