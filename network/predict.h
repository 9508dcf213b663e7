/*
 * predict.h - clock cycles of tasks from their register values alone, private to network/. One file for each unit;
 * docs/npu/performance.md, "Prediction", describes the model and the source of its constants. Bus profile
 * `ideal`: a beat a cycle each way on both channels.
 */
#ifndef NET_PREDICT_H
#define NET_PREDICT_H

#include "../drivers/npu/npu.h"
#include "network.h"
#include "num.h"

/* The registers when a task starts, by offset / 4. */
typedef struct net_task {
    uint32_t reg[128];
    uint32_t writes; /* register writes of the driver for this task */
} net_task;

/* All tasks of a job; `task` is the caller's to free. */
typedef struct net_tasks {
    net_task *task;
    uint32_t count;
} net_tasks;

#define TASK_REG(t, name) ((t)->reg[NPU_REG_##name / 4])
#define TASK_GET(t, name, field) ((TASK_REG(t, name) & NPU_##name##_##field##_MASK) >> NPU_##name##_##field##_LSB)

#define REG_WRITE 2u /* cycles of a register write */

/* Number of 16-byte beats that contain the `bytes` bytes from `addr` on. */
static inline uint64_t net_beats(uint32_t addr, uint64_t bytes) {
    return (addr % 16 + bytes + 15) / 16;
}

/*
 * All tasks of one operator on one unit, in order, on a mesh of n. Adds to mesh, read, write (bounds), fill and drain
 * of *e and returns the cycles from the first register write to the end of the last task; 0: out of memory.
 */
uint64_t net_predict_gemm(const net_task *task, uint32_t count, uint32_t n, net_rt_estimate *e);
uint64_t net_predict_pool(const net_task *task, uint32_t count, uint32_t n, net_rt_estimate *e);
uint64_t net_predict_alu(const net_task *task, uint32_t count, net_rt_estimate *e);

/* One operation of the driver, to its return: adds to *e. The job cannot be run afterwards. `list` may serve for many.
 * false: out of memory. */
bool net_predict_job(npu_job *job, uint32_t n, net_tasks *list, net_rt_estimate *e);

#endif
