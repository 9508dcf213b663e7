/*
 * FST through the library that Verilator ships (scripts/host.mk: TB_WAVE_FSTAPI when its sources are there). A
 * Verilated program with tracing has the same library with the same names, so the build makes every symbol of this
 * object local but those that begin with wave_.
 *
 * On damaged data the library calls exit() or waits for a byte that never comes: both are turned into an error here.
 * Its crashes are left to tb_wave_guard().
 */
#include "wave/wave_priv.h"
#include "opt/opt.h"

#ifdef TB_WAVE_FSTAPI

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_EOF 100000u /* bytes that the library may read beyond the end of a file */

/* The library's exits carry no context, and two threads may each read a file. */
static _Thread_local struct {
    jmp_buf out;
    unsigned eof;
} fst_way;

__attribute__((noreturn)) static void fst_leave(int code) {
    (void)code;
    longjmp(fst_way.out, 1);
}

static int fst_getc(FILE *file) {
    const int c = getc(file);
    if (c == EOF && ++fst_way.eof > MAX_EOF) {
        fst_leave(0);
    }
    return c;
}

/* one call may fail often: the caller's standard error is not the place for it */
__attribute__((format(printf, 2, 3))) static int fst_message(FILE *file, const char *format, ...) {
    (void)file;
    (void)format;
    return 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define exit fst_leave
#undef fgetc
#define fgetc fst_getc
#define fprintf fst_message
#define perror(text) ((void)(text))
#define FST_CONFIG_INCLUDE "gtkwave/fst_config.h"
#include <gtkwave/fastlz.c>
#include <gtkwave/fstapi.c>
#include <gtkwave/lz4.c>
#undef exit
#undef fgetc
#undef fprintf
#undef perror
#pragma GCC diagnostic pop

bool wave_fst_library(void) {
    return true;
}

static int fst_damaged(const tb_wave *wave, char *err, size_t err_size) {
    return opt_fail(err, err_size, "%s: damaged FST", wave->path);
}

/* The library follows the lengths of the blocks wherever they lead, even in circles: they have to end where the file
 * does. */
static bool fst_blocks_fit(const char *path) {
    struct stat st;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return false;
    }
    bool ok = fstat(fileno(file), &st) == 0;
    for (uint64_t at = 0; ok && at < (uint64_t)st.st_size;) {
        unsigned char head[9];
        uint64_t len = 0;
        ok = fseeko(file, (off_t)at, SEEK_SET) == 0 && fread(head, sizeof head, 1, file) == 1;
        for (int i = 1; ok && i < 9; i++) {
            len = len << 8 | head[i];
        }
        if (ok && len == 0 && at > 0) {
            break; /* the rest was being written */
        }
        ok = ok && len >= 8 && len < (uint64_t)st.st_size - at;
        at += len + 1;
    }
    fclose(file);
    return ok;
}

static bool fst_has_bits(unsigned type) {
    return type != FST_VT_VCD_REAL && type != FST_VT_VCD_REAL_PARAMETER && type != FST_VT_VCD_REALTIME &&
           type != FST_VT_GEN_STRING && type != FST_VT_SV_SHORTREAL;
}

static int fst_header(tb_wave *wave) {
    struct fstHier *h;
    const uint32_t handles = fstReaderGetMaxHandle(wave->lib);
    while ((h = fstReaderIterateHier(wave->lib)) != NULL) {
        int bad = 0;
        if (h->htyp == FST_HT_SCOPE) {
            bad = wave_scope(wave, h->u.scope.name, strlen(h->u.scope.name),
                             h->u.scope.typ == FST_ST_VCD_STRUCT || h->u.scope.typ == FST_ST_VCD_UNION);
        } else if (h->htyp == FST_HT_UPSCOPE) {
            bad = wave_upscope(wave);
        } else if (h->htyp == FST_HT_VAR) {
            const bool bits = fst_has_bits(h->u.var.typ) && h->u.var.length > 0;
            const uint32_t handle = h->u.var.handle - 1u;
            bad = handle >= handles || wave_handle(wave, handle, bits ? h->u.var.length : 0) != 0 ||
                  (bits && wave_add(wave, h->u.var.name, strlen(h->u.var.name), h->u.var.length, handle,
                                    h->u.var.typ == FST_VT_VCD_PARAMETER) != 0);
        }
        if (bad) {
            return -1;
        }
    }
    return wave->signals > 0 ? 0 : -1;
}

static void fst_change(void *ctx, uint64_t time, fstHandle handle, const unsigned char *value) {
    if (value != NULL && handle > 0) {
        (void)wave_put(ctx, time, handle - 1u, (const char *)value, strlen((const char *)value));
    }
}

static int fst_read(tb_wave *wave, wave_sink *sink, char *err, size_t err_size) {
    fst_way.eof = 0;
    if (setjmp(fst_way.out) != 0) {
        return fst_damaged(wave, err, err_size);
    }
    fstReaderClrFacProcessMaskAll(wave->lib);
    for (uint32_t h = 0; h < wave->handles; h++) {
        if (sink->want[h] && wave->width[h] > 0) {
            fstReaderSetFacProcessMask(wave->lib, h + 1);
        }
    }
    /* behind the end of the file its last values still hold */
    fstReaderSetLimitTimeRange(wave->lib, sink->from < wave->last ? sink->from : wave->last, sink->to);
    return fstReaderIterBlocks2(wave->lib, fst_change, NULL, sink, NULL) != 0 ? 0 : fst_damaged(wave, err, err_size);
}

static void fst_close(tb_wave *wave) {
    fst_way.eof = 0;
    if (setjmp(fst_way.out) == 0) {
        fstReaderClose(wave->lib);
    }
}

int wave_open_fst(tb_wave *wave, char *err, size_t err_size) {
    fst_way.eof = 0;
    if (setjmp(fst_way.out) != 0) {
        return fst_damaged(wave, err, err_size);
    }
    wave->lib = fst_blocks_fit(wave->file) ? fstReaderOpen(wave->file) : NULL;
    if (wave->lib == NULL) {
        return fst_damaged(wave, err, err_size);
    }
    wave->close = fst_close;
    wave->read = fst_read;
    wave->first = fstReaderGetStartTime(wave->lib);
    wave->last = fstReaderGetEndTime(wave->lib);
    wave->exponent = fstReaderGetTimescale(wave->lib);
    if (wave->first > wave->last || fst_header(wave) != 0) {
        return fst_damaged(wave, err, err_size);
    }
    return 0;
}

#else

bool wave_fst_library(void) {
    return false;
}

int wave_open_fst(tb_wave *wave, char *err, size_t err_size) {
    return opt_fail(err, err_size, "%s: this build has no FST library", wave->path);
}

#endif
