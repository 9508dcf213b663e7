/*
 * device_priv.h - private to tb/prog: the command device, its answers, and the requests to ports (device_ports.c).
 */
#ifndef TB_PROG_DEVICE_PRIV_H
#define TB_PROG_DEVICE_PRIV_H

#include <stdio.h>

#include "options.h"
#include "tandem.h"

#define WORDS 6u
#define MAX_BYTES (1u << 28) /* of a transfer of memory */

/* Packets that came out of a stream and were not asked for yet. */
typedef struct device_out {
    uint8_t *bytes;
    size_t *length; /* of each packet */
    size_t size, room, packets, slots;
    size_t open; /* bytes of the packet that is not complete */
    bool full;   /* out of memory */
} device_out;

typedef struct device {
    const tb_prog *prog;
    tb_prog_options o;
    tb_prog_run run;
    tb_result result;
    const tb_tandem *bench;
    void *self;
    tb_run *r;
    tb_pair *pair; /* NULL: the bench has no memory */
    FILE *in, *out;
    char *word[WORDS + 1]; /* of the request; the name, then its arguments */
    uint64_t number[WORDS];
    const char *name; /* --test */
    const char *wave;
    uint64_t seed;
    device_out *stream; /* what came out of each stream */
    bool over;
} device;

void device_answer(device *d, const char *status, const char *text, const void *bytes, size_t size);
void device_bad(device *d, const char *text);
/* After something that took cycles. */
void device_done(device *d, const char *text);
void device_number(device *d, uint64_t value);

/* ---- requests to ports ---- */
void device_read(device *d);
void device_write(device *d);
void device_send(device *d);
void device_take(device *d);
void device_stall(device *d);
void device_store(device *d);
void device_retrieve(device *d);
/* Keep what comes out of the streams, from now on; and release that. */
void device_listen(device *d);
void device_free(device *d);

#endif
