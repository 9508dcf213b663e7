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
    tb_ddr rtl_mem, model_mem;
    tb_buffers live; /* buffers of the task in flight */
    sac_model model;
    cm_layer_task task; /* that was started last, for the checks of the units */
    uint64_t tasks;     /* started */
    bool gone;          /* the last task met an error response or was aborted: what it wrote is undefined */
    tb_tlog *log[2];    /* of RTL and model, or NULL */
    sac_hal hal;        /* for the driver */
} sac_device;

/*
 * 0 or -1 with one line in err; sac_device_close() in any case. The struct must not be moved. Memory: the constants
 * above, or everything that an address of 32 bits can reach (slower: there are more pages to look at).
 */
int sac_device_open_whole(sac_device *dev, const tb_run_cfg *cfg, const sac_build *build, char *err, size_t err_size);
int sac_device_open(sac_device *dev, const tb_run_cfg *cfg, const sac_build *build, char *err, size_t err_size);
void sac_device_close(sac_device *dev);
/* Contents of both memories. */
void sac_device_fill(sac_device *dev, uint32_t addr, const void *data, size_t bytes);
/*
 * The task in the registers begins: from now on the engine may read its operands and write its output, nothing else. It
 * ends: accesses are failures again.
 */
void sac_device_begin(sac_device *dev);
void sac_device_end(sac_device *dev);
/* An error response or an abort made the output of the task in the registers undefined: accept the RTL's bytes. */
void sac_device_take(sac_device *dev);
/*
 * Compare memory and registers; no task may be in flight. True: equal. `aborted`: the last task has not run to its
 * end.
 */
bool sac_device_compare(sac_device *dev, bool aborted);
/* Tensor logs: in dir a folder for each side, with the output of each task. -1 with one line in err. */
int sac_device_dump(sac_device *dev, const char *dir, char *err, size_t err_size);
void sac_device_log(sac_device *dev);
int sac_device_dump_end(sac_device *dev, char *err, size_t err_size);

#endif
