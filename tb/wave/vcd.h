/*
 * vcd.h - private to tb/wave: VCD text from a stream.
 */
#ifndef TB_WAVE_VCD_H
#define TB_WAVE_VCD_H

#include "wave/wave_priv.h"

/* Identifier codes of a file and their handles. */
typedef struct vcd_ids vcd_ids;
vcd_ids *vcd_ids_new(void);
void vcd_ids_free(vcd_ids *ids);
bool vcd_ids_find(const vcd_ids *ids, const char *text, uint32_t *handle);
/* A code that is not in the table yet. -1: out of memory. */
int vcd_ids_add(vcd_ids *ids, const char *text, uint32_t handle);

typedef struct vcd_stream {
    FILE *file;
    const char *name; /* for error lines */
    uint64_t line;
    char *token; /* the last one, terminated */
    size_t len, room;
    char *err;
    size_t err_size;
} vcd_stream;

void vcd_stream_free(vcd_stream *in);
/* Read up to $enddefinitions: scopes, signals, time scale. wave and ids NULL: skip the header of a file that was read
 * before. 0 or -1 with one line in err. */
int vcd_header(vcd_stream *in, tb_wave *wave, vcd_ids *ids);
/* Read the values behind it. sink NULL: only check them, and set the first and last time. 0 (all, or as much as the
 * sink wanted) or -1. */
int vcd_values(vcd_stream *in, tb_wave *wave, const vcd_ids *ids, wave_sink *sink);

#endif
