/* host.c - what the machine refused: a verdict on a design must not be one on a full disk. */
#include "report.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

static _Atomic int first;

bool rep_host_is(int error) {
    static const int refused[] = {ENOSPC, EDQUOT, EIO, EROFS, ENOMEM, EMFILE, ENFILE, EAGAIN, ENOBUFS, ESTALE, ENOLCK};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (error == refused[i]) {
            return true;
        }
    }
    return false;
}

int rep_host(int error) {
    int none = 0;
    if (rep_host_is(error)) {
        (void)atomic_compare_exchange_strong(&first, &none, error);
    }
    return error;
}

int rep_host_write(int error) {
    int none = 0;
    if (error == EACCES || error == EPERM || error == EFBIG) {
        (void)atomic_compare_exchange_strong(&first, &none, error);
    }
    return rep_host(error);
}

int rep_host_error(void) {
    return atomic_load(&first);
}

void rep_host_forget(void) {
    atomic_store(&first, 0);
}

bool rep_flush(void) {
    static bool lost; /* said already */
    errno = 0;
    if (lost || (fflush(stdout) == 0 && ferror(stdout) == 0)) {
        return !lost;
    }
    lost = true;
    const int error = rep_host_write(errno != 0 ? errno : EIO); /* 0: of an earlier part of a long text */
    fprintf(stderr, "%s: stdout: cannot be written: %s\n", program_invocation_name, strerror(error));
    return false;
}

int rep_end(int status) {
    const bool written = rep_flush();
    if (written && status == 0 && rep_host_error() != 0) {
        fprintf(stderr, "%s: the machine refused: %s; the work may be incomplete\n", program_invocation_name,
                strerror(rep_host_error()));
    }
    return rep_host_error() != 0 ? REP_HOST_EXIT : !written && status == 0 ? 1 : status;
}
