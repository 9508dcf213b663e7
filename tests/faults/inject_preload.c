/*
 * inject_preload.c - library for LD_PRELOAD: the k-th allocation of a program fails, or its clock jumps.
 *
 * glibc itself allocates through these functions, so fopen(), getline() and operator new are covered. Allocations of
 * child processes never fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"

#define DEPTH 10

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
void inject_start(void);

static inject_page *page; /* not NULL: this process counts */
static bool started;
static __thread bool inside;

/* Hash of the callers: allocations from one place of the program are one site. */
static void note_site(uint64_t number) {
    void *frame[DEPTH];
    uint64_t hash = 0xcbf29ce484222325u;
    inside = true;
    const int depth = backtrace(frame, DEPTH);
    inside = false;
    for (int i = 2; i < depth; i++) {
        hash = (hash ^ (uint64_t)(uintptr_t)frame[i]) * 0x100000001b3u;
    }
    for (uint64_t i = 0; i < 64; i++) {
        const uint64_t at = (hash + i) % INJECT_SITES;
        if (page->first[at] == 0) {
            page->site[at] = hash;
            page->first[at] = number;
            return;
        }
        if (page->site[at] == hash) {
            return;
        }
    }
}

static bool fails(void) {
    if (!started || inside) {
        return false;
    }
    const uint64_t number = __atomic_add_fetch(&page->count, 1, __ATOMIC_RELAXED);
    if (page->sites != 0) {
        note_site(number);
    }
    if (page->fail_at == 0 || (page->on != 0 ? number < page->fail_at : number != page->fail_at)) {
        return false;
    }
    if (__atomic_add_fetch(&page->failed, 1, __ATOMIC_RELAXED) == 1 && page->trace != 0) {
        void *frame[2 * DEPTH];
        inside = true;
        backtrace_symbols_fd(frame, backtrace(frame, 2 * DEPTH), 2);
        inside = false;
    }
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size) {
    return size != 0 && fails() ? NULL : __libc_realloc(p, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size) {
    void *got = fails() ? NULL : __libc_memalign(alignment, size);
    if (got == NULL) {
        return ENOMEM;
    }
    *p = got;
    return 0;
}

/* A clock that is set back and forth while the program runs: every fourth reading the jump changes. */
static time_t jump(void) {
    static uint32_t readings;
    static const int step[] = {0, -1, 1, 2, -2, 0};
    const uint32_t n = page == NULL || page->clock == 0 ? 0 : __atomic_add_fetch(&readings, 1, __ATOMIC_RELAXED);
    return page == NULL ? 0 : (time_t)step[n / 4 % 6] * page->clock;
}

int clock_gettime(clockid_t clock, struct timespec *ts) {
    static int (*real)(clockid_t, struct timespec *);
    if (real == NULL) {
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    }
    const int rc = real(clock, ts);
    if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        ts->tv_sec += jump();
    }
    return rc;
}

time_t time(time_t *to) {
    struct timespec ts = {0};
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    if (to != NULL) {
        *to = ts.tv_sec;
    }
    return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
    struct timespec ts = {0};
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &ts);
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = (suseconds_t)(ts.tv_nsec / 1000);
    return 0;
}

static void child(void) {
    started = page != NULL && page->children != 0;
}

/* From here on calls count; a program may call it itself ($INJECT_LATER), when its interpreter has started. */
void inject_start(void) {
    if (page != NULL) {
        started = true;
    }
    (void)prctl((int)INJECT_START, 0, 0, 0, 0);
}

__attribute__((constructor)) static void begin(void) {
    void *frame[2];
    const char *path = getenv("INJECT_PAGE");
    const int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    void *map = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) {
        (void)close(fd);
    }
    if (map == MAP_FAILED) {
        return;
    }
    int32_t none = 0;
    page = map;
    if (!__atomic_compare_exchange_n(&page->owner, &none, (int32_t)getpid(), false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST)) {
        page = NULL; /* a child program */
        return;
    }
    (void)backtrace(frame, 2); /* loads its library, which allocates */
    (void)pthread_atfork(NULL, NULL, child);
    if (getenv("INJECT_LATER") == NULL) {
        inject_start();
    }
}
