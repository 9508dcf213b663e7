/*
 * copy_regs.h - registers of the copy engine, as rtl/axi_copy/axi_copy_regs.sv has them.
 */
#ifndef COPY_REGS_H
#define COPY_REGS_H

enum {
    COPY_SRC = 0x00,
    COPY_DST = 0x04,
    COPY_LEN = 0x08,
    COPY_CTRL = 0x0c,
    COPY_STATUS = 0x10,
    COPY_ERR = 0x14,
    COPY_COUNT = 0x18,
    COPY_CONFIG = 0x1c
};
enum { COPY_CTRL_START = 1, COPY_CTRL_IRQ_EN = 2, COPY_STATUS_BUSY = 1, COPY_STATUS_DONE = 2 };
enum { COPY_ERR_READ = 1, COPY_ERR_WRITE = 2, COPY_ERR_RANGE = 4 };
#define COPY_LEN_MAX 0xffffffu

#endif
