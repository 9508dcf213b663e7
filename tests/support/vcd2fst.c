/*
 * vcd2fst.c - writes what is in a waveform file as FST, through the library that Verilator ships: tests need FST files,
 * and gtkwave's program of this name is not installed everywhere. usage: vcd2fst FILE OUT.fst
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wave/wave.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define FST_CONFIG_INCLUDE "gtkwave/fst_config.h"
#include <gtkwave/fastlz.c>
#include <gtkwave/fstapi.c>
#include <gtkwave/lz4.c>
#pragma GCC diagnostic pop

typedef struct writer {
    void *fst;
    fstHandle *handle; /* by handle of the input */
    uint64_t time;
    bool begun;
} writer;

static void leave(writer *w, const char *scope, size_t common) {
    for (const char *p = scope + common; scope[0] != '\0' && p != NULL; p = strchr(p + 1, '.')) {
        fstWriterSetUpscope(w->fst);
    }
}

static void enter(writer *w, const char *scope) {
    char name[4096];
    snprintf(name, sizeof name, "%s", scope);
    for (char *p = strtok(name, "."); p != NULL; p = strtok(NULL, ".")) {
        fstWriterSetScope(w->fst, FST_ST_VCD_MODULE, p, NULL);
    }
}

static void header(writer *w, tb_wave *wave) {
    size_t count = 0;
    const char *scope = "";
    const tb_wave_signal *s = tb_wave_signals(wave, &count);
    for (size_t i = 0; i < count; i++) {
        char name[4096];
        if (strcmp(scope, s[i].scope) != 0) {
            leave(w, scope, 0);
            enter(w, s[i].scope);
            scope = s[i].scope;
        }
        snprintf(name, sizeof name, "%s%s%s", s[i].name, s[i].range[0] != '\0' ? " " : "", s[i].range);
        const fstHandle h = fstWriterCreateVar(w->fst, s[i].parameter ? FST_VT_VCD_PARAMETER : FST_VT_VCD_WIRE,
                                               FST_VD_IMPLICIT, s[i].width, name, w->handle[s[i].handle]);
        w->handle[s[i].handle] = w->handle[s[i].handle] != 0 ? w->handle[s[i].handle] : h;
    }
    leave(w, scope, 0);
}

static int change(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    writer *w = ctx;
    (void)width;
    if (!w->begun || time != w->time) {
        fstWriterEmitTimeChange(w->fst, time);
        w->time = time;
        w->begun = true;
    }
    fstWriterEmitValueChange(w->fst, w->handle[handle], bits);
    return 0;
}

int main(int argc, char **argv) {
    char err[512] = "";
    uint64_t first;
    uint64_t last;
    int exponent;
    writer w = {.fst = NULL};
    tb_wave *wave = argc == 3 ? tb_wave_open(argv[1], err, sizeof err) : NULL;
    if (wave == NULL) {
        fprintf(stderr, "%s\n", argc == 3 ? err : "usage: vcd2fst FILE OUT.fst");
        return 2;
    }
    const size_t handles = tb_wave_handles(wave);
    uint8_t *want = malloc(handles + 1);
    w.fst = fstWriterCreate(argv[2], 1);
    w.handle = calloc(handles + 1, sizeof *w.handle);
    if (want == NULL || w.fst == NULL || w.handle == NULL) {
        fprintf(stderr, "%s: cannot be written\n", argv[2]);
        return 2;
    }
    memset(want, 1, handles + 1);
    tb_wave_times(wave, &first, &last, &exponent);
    fstWriterSetTimescale(w.fst, exponent);
    fstWriterSetPackType(w.fst, FST_WR_PT_LZ4);
    header(&w, wave);
    const int rc = tb_wave_read(wave, want, first, UINT64_MAX, change, &w, err, sizeof err);
    if (rc == 0 && w.time != last) {
        fstWriterEmitTimeChange(w.fst, last);
    }
    fstWriterClose(w.fst);
    if (rc != 0) {
        fprintf(stderr, "%s\n", err);
    }
    free(want);
    free(w.handle);
    tb_wave_close(wave);
    return rc == 0 ? 0 : 2;
}
