/* stream_log.c - tensor logs of the handshakes of a design beside its buses: what was transferred, in its order. */
#include "stream_log.h"

#include <stdlib.h>
#include <string.h>

#include "../case/store.h"
#include "opt/opt.h"

struct tb_stream_log {
    const tb_run *run;
    tb_tlog *log;
    uint8_t *bytes; /* of a transfer */
};

static size_t bytes_of(const tb_wait *w) {
    size_t bytes = 0;
    for (unsigned i = 0; i < TB_WAITS_PAYLOAD && w->payload[i].ptr != NULL; i++) {
        bytes += tb_sig_bytes(w->payload[i]);
    }
    return bytes;
}

/* A transfer: its ports one after the other, each in whole bytes, the lowest first. */
static void took(void *ctx, const tb_wait *w) {
    tb_stream_log *s = (tb_stream_log *)ctx;
    size_t at = 0;
    if (s->run->replay.on || w->payload[0].ptr == NULL) { /* a woken snapshot repeats the run */
        return;
    }
    const tb_tlog_entry entry = {.stream = w->name[0] != '\0' ? w->name : "stream",
                                 .task = UINT64_MAX,
                                 .unit = "ports",
                                 .stream_order = true,
                                 .type = TB_TLOG_U8,
                                 .axes = 2,
                                 .axis = {"t", "byte"},
                                 .size = {0, bytes_of(w)}};
    for (unsigned i = 0; i < TB_WAITS_PAYLOAD && w->payload[i].ptr != NULL; i++) {
        tb_get_bytes(w->payload[i], s->bytes + at);
        at += tb_sig_bytes(w->payload[i]);
    }
    (void)tb_tlog_append(s->log, &entry, s->bytes);
}

tb_stream_log *tb_stream_log_open(tb_run *run, const char *dir, char *err, size_t err_size) {
    char path[1100];
    size_t most = 1;
    for (unsigned i = 0; i < run->waits.count; i++) {
        const size_t bytes = bytes_of(&run->waits.wait[i]);
        most = bytes > most ? bytes : most;
    }
    tb_stream_log *s = (tb_stream_log *)calloc(1, sizeof *s);
    uint8_t *bytes = (uint8_t *)malloc(most);
    if (s == NULL || bytes == NULL) {
        free(s);
        free(bytes);
        (void)opt_fail(err, err_size, "out of memory");
        return NULL;
    }
    *s = (tb_stream_log){.run = run, .bytes = bytes};
    snprintf(path, sizeof path, "%s/streams", dir);
    s->log = tb_make_folder(dir, err, err_size) == 0 ? tb_tlog_create(path, err, err_size) : NULL;
    if (s->log == NULL) {
        (void)tb_stream_log_close(s, err, err_size);
        return NULL;
    }
    run->waits.took = took;
    run->waits.ctx = s;
    return s;
}

int tb_stream_log_close(tb_stream_log *s, char *err, size_t err_size) {
    int rc = 0;
    if (s != NULL) {
        rc = s->log != NULL ? tb_tlog_close(s->log, err, err_size) : 0;
        free(s->bytes);
        free(s);
    }
    return rc;
}
