/* predict_job.c - clock cycles of one operation of the driver: its tasks, as it would start them, without a device. */
#include <string.h>

#include "predict.h"
#include "report/report.h"

#define OUTCOME 24u /* from the last write response to the driver's return: interrupt and register reads */

/* All tasks of a job. Registers keep their values from task to task. false: out of memory. */
static bool list_tasks(npu_job *job, net_tasks *list) {
    uint32_t reg[NPU_TASK_REGS][2];
    uint32_t writes;
    list->count = 0;
    while ((writes = npu_job_next_task(job, reg)) != 0) {
        if (!rep_more(&list->task, list->count, sizeof *list->task)) {
            return false;
        }
        net_task *t = &list->task[list->count];
        if (list->count == 0) {
            memset(t, 0, sizeof *t);
        } else {
            *t = t[-1];
        }
        for (uint32_t i = 0; i < writes; i++) {
            t->reg[reg[i][0] / 4 % 128] = reg[i][1];
        }
        t->writes = writes;
        list->count++;
    }
    return true;
}

bool net_predict_job(npu_job *job, uint32_t n, net_tasks *list, net_rt_estimate *e) {
    if (!list_tasks(job, list)) {
        return false;
    }
    const npu_unit unit = job->unit;
    e->cycles += unit == NPU_UNIT_GEMM   ? net_predict_gemm(list->task, list->count, n, e)
                 : unit == NPU_UNIT_POOL ? net_predict_pool(list->task, list->count, n, e)
                                         : net_predict_alu(list->task, list->count, e);
    e->cycles += OUTCOME;
    e->tasks += list->count;
    return true;
}
