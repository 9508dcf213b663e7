/*
 * explain_priv.h - how the device fills npu_explain. Without npu_dev_cfg.explain every function does nothing.
 */
#ifndef NPU_EXPLAIN_PRIV_H
#define NPU_EXPLAIN_PRIV_H

#include "explain.h"

/* A device was opened; the record of an earlier device of the same run is dropped, unless that one failed. Ports as in
 * the device. */
void npu_explain_begin(npu_dev *dev);
/* The driver wrote a register. */
void npu_explain_written(npu_dev *dev, uint32_t offset, uint32_t value);
/* The golden device refused the task that the last write started. */
void npu_explain_refused(npu_dev *dev);
/* All buffers were dropped. */
void npu_explain_forget(npu_dev *dev);
/* Compare both memories byte by byte, and record the differences as elements of the tasks' outputs. */
void npu_explain_compare(npu_dev *dev);
/* The device is finished: copy its state. A failure that did not stop the run becomes the device's. */
void npu_explain_end(npu_dev *dev);

#endif
