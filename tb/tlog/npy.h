/*
 * npy.h - files of NumPy's format .npy, version 1.0: little endian, C order.
 */
#ifndef TB_TLOG_NPY_H
#define TB_TLOG_NPY_H

#include <stdint.h>
#include <stdio.h>

#include "tlog/tlog.h"

#define TB_NPY_HEADER 256u /* bytes that tb_npy_header() writes at most */

typedef struct tb_npy {
    tb_tlog_type type;
    unsigned axes;
    size_t size[TB_TLOG_AXES];
    uint64_t elements;
} tb_npy;

/* Bytes of an element: 1, 4 or 8. */
size_t tb_npy_bytes(tb_tlog_type type);
/* Number of elements in *out. -1: no axes, too many, or more bytes than memory can have. */
int tb_npy_elements(const tb_npy *npy, uint64_t *out);
/* The header of a file: magic, version, dictionary, padding to a multiple of 64 and at least `least` bytes (a multiple
 * of 64 up to 192). Returns its bytes. */
size_t tb_npy_header(const tb_npy *npy, size_t least, uint8_t dst[TB_NPY_HEADER]);
/*
 * Read and check the header; the file stands at the first element then. `path` is for messages. -1 with one line in
 * err: no .npy, another version, another byte order, another type, Fortran order, a damaged header, or a file whose
 * size is not that of its shape.
 */
int tb_npy_read(FILE *f, const char *path, tb_npy *npy, char *err, size_t err_size);

#endif
