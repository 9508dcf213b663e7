/*
 * dma.c - how a DMA job becomes AXI bursts: docs/npu/npu.md section 1.
 */
#include "cmodel.h"

#define BEAT_BYTES 16u
#define LINE_BYTES 4096u /* no burst crosses one; it also holds just the 256 beats that a burst may have */

size_t cm_dma_split(uint32_t addr, uint32_t bytes, cm_dma_burst *out, size_t max) {
    size_t count = 0;
    while (bytes > 0) {
        uint32_t room = LINE_BYTES - addr % LINE_BYTES;
        uint32_t take = bytes < room ? bytes : room;
        if (count < max) {
            out[count].addr = addr;
            out[count].bytes = take;
            out[count].beats = (addr % BEAT_BYTES + take + BEAT_BYTES - 1) / BEAT_BYTES;
        }
        count++;
        addr += take; /* a job that runs past 2^32 wraps, as the hardware's address counter does */
        bytes -= take;
    }
    return count;
}
