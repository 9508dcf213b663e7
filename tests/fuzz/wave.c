/* wave.c - waveform files: signals have their bits, times never fall. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fuzz.h"
#include "wave/wave_priv.h"

/* What the child that reads an FST has seen of the program: libFuzzer counts in the process that called it. */
extern uint8_t __start___sancov_cntrs[] __attribute__((weak, visibility("hidden")));
extern uint8_t __stop___sancov_cntrs[] __attribute__((weak, visibility("hidden")));

typedef struct walk {
    const tb_wave *wave;
    const uint32_t *width; /* by handle */
    uint32_t handles;
    uint64_t time;
    uint32_t changes;
} walk;

static int change(void *ctx, uint64_t time, uint32_t handle, const char *bits, uint32_t width) {
    walk *w = ctx;
    if (handle >= w->handles || w->width[handle] != width || time < w->time) {
        fuzz_fail("a change is one of a signal, after the one before", "it is not");
    }
    for (uint32_t i = 0; i < width; i++) {
        if (strchr("01xz", bits[i]) == NULL || bits[i] == '\0') {
            fuzz_fail("a value has a bit at every place", "it has not");
        }
    }
    w->time = time;
    return ++w->changes > 100000 ? 1 : 0;
}

static int walk_file(tb_wave *wave, char *err, size_t err_size) {
    size_t count = 0;
    const tb_wave_signal *signal = tb_wave_signals(wave, &count);
    const uint32_t handles = tb_wave_handles(wave);
    uint8_t *want = calloc((size_t)handles + 1, 1);
    uint32_t *width = calloc((size_t)handles + 1, sizeof *width);
    int status = -1;
    if (want != NULL && width != NULL) {
        uint64_t first = 0;
        uint64_t last = 0;
        uint64_t period = 0;
        int exponent = 0;
        char path[1024];
        walk w = {.wave = wave, .width = width, .handles = handles};
        for (size_t i = 0; i < count; i++) {
            want[signal[i].handle] = 1;
            width[signal[i].handle] = signal[i].width;
            if (i < 50 && (size_t)snprintf(path, sizeof path, "%s.%s", signal[i].scope, signal[i].name) < sizeof path) {
                (void)tb_wave_find(wave, path);
            }
        }
        const tb_wave_signal *clock = tb_wave_clock(wave);
        if (clock != NULL && (size_t)snprintf(path, sizeof path, "%s.%s", clock->scope, clock->name) < sizeof path) {
            char line[400] = "";
            (void)tb_wave_period(wave, path, &period, line, sizeof line);
        }
        tb_wave_times(wave, &first, &last, &exponent);
        status = tb_wave_read(wave, want, first, last, change, &w, err, err_size);
        status = status == 1 ? 0 : status;
        if (status == 0 && last > first) {
            w.time = 0;
            status = tb_wave_read(wave, want, first + (last - first) / 2, last, change, &w, err, err_size);
            status = status == 1 ? 0 : status;
        }
    }
    free(want);
    free(width);
    return status;
}

void fuzz_vcd(const uint8_t *data, size_t size) {
    char err[400] = "";
    tb_wave *wave = wave_open_with(fuzz_file(data, size), wave_open_vcd, err, sizeof err);
    if (wave == NULL) {
        fuzz_check_line(err);
        return;
    }
    if (walk_file(wave, err, sizeof err) != 0) {
        fuzz_check_line(err);
    }
    tb_wave_close(wave);
}

typedef struct order {
    const char *path;
    uint8_t *seen; /* shared with the child */
} order;

static int read_fst(void *ctx) {
    const order *o = ctx;
    char err[400] = "";
    tb_wave *wave = tb_wave_open(o->path, err, sizeof err);
    int status = wave != NULL ? walk_file(wave, err, sizeof err) : -1;
    tb_wave_close(wave);
    if (status != 0) {
        fuzz_check_line(err);
    }
    if (o->seen != NULL) {
        memcpy(o->seen, __start___sancov_cntrs, (size_t)(__stop___sancov_cntrs - __start___sancov_cntrs));
    }
    return status != 0;
}

void fuzz_fst(const uint8_t *data, size_t size) {
    static uint8_t *shared;
    const size_t counters =
        __start___sancov_cntrs == NULL ? 0 : (size_t)(__stop___sancov_cntrs - __start___sancov_cntrs);
    if (shared == NULL) {
        shared = mmap(NULL, counters + 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) {
            fuzz_fail("memory shared with the child", "cannot be made");
        }
    }
    memset(shared, 0, counters + 1);
    char err[400] = "";
    order o = {.path = fuzz_file(data, size), .seen = counters > 0 ? shared : NULL};
    fuzz_told = &shared[counters];
    const int status = tb_wave_guard(o.path, read_fst, &o, 5, 512, err, sizeof err);
    fuzz_told = NULL;
    if (shared[counters] != 0) {
        fuzz_fail("the child found a property that does not hold",
                  "run it alone with a debugger that follows children");
    }
    if (status < 0) {
        fuzz_check_line(err);
    }
    for (size_t i = 0; i < counters; i++) {
        __start___sancov_cntrs[i] = __start___sancov_cntrs[i] > shared[i] ? __start___sancov_cntrs[i] : shared[i];
    }
}
