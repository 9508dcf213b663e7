/* host.c - what the machine refused: a verdict on a design must not be one on a full disk. */
#include "report.h"

#include <errno.h>
#include <stdatomic.h>

static _Atomic int first;

bool rep_host_is(int error) {
    static const int refused[] = {ENOSPC, EDQUOT, EIO, EROFS, ENOMEM, EMFILE, ENFILE, EAGAIN, ENOBUFS, ESTALE};
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

int rep_host_error(void) {
    return atomic_load(&first);
}

void rep_host_forget(void) {
    atomic_store(&first, 0);
}
