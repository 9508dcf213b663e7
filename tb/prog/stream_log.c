/* stream_log.c - tensor logs of the streams and handshakes of a design: what was transferred, in its order. */
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

static size_t stream_bytes(const tb_stream *s) {
    size_t bytes = 0;
    for (unsigned i = 0; i < s->fields; i++) {
        bytes += tb_sig_bytes(s->field[i].sig);
    }
    return bytes;
}

/* `bytes` bytes that have been transferred. */
static void append(tb_stream_log *s, const char *name, size_t bytes) {
    if (s->run->replay.on || bytes == 0) { /* a woken snapshot repeats the run */
        return;
    }
    const tb_tlog_entry entry = {.stream = name[0] != '\0' ? name : "stream",
                                 .task = UINT64_MAX,
                                 .unit = "ports",
                                 .stream_order = true,
                                 .type = TB_TLOG_U8,
                                 .axes = 2,
                                 .axis = {"t", "byte"},
                                 .size = {0, bytes}};
    (void)tb_tlog_append(s->log, &entry, s->bytes);
}

/* A transfer: its ports one after the other, each in whole bytes, the lowest first. */
static void took(void *ctx, const tb_wait *w) {
    tb_stream_log *s = (tb_stream_log *)ctx;
    size_t at = 0;
    for (unsigned i = 0; i < TB_WAITS_PAYLOAD && w->payload[i].ptr != NULL; i++) {
        tb_get_bytes(w->payload[i], s->bytes + at);
        at += tb_sig_bytes(w->payload[i]);
    }
    append(s, w->name, at);
}

/* The same of a stream of the bench, in any clock. */
static void stream_took(void *ctx, const tb_stream *stream) {
    tb_stream_log *s = (tb_stream_log *)ctx;
    size_t at = 0;
    for (unsigned i = 0; i < stream->fields; i++) {
        tb_get_bytes(stream->field[i].sig, s->bytes + at);
        at += tb_sig_bytes(stream->field[i].sig);
    }
    append(s, stream->cfg.name, at);
}

tb_stream_log *tb_stream_log_open(tb_run *run, const char *dir, char *err, size_t err_size) {
    char path[1100];
    size_t most = 1;
    for (unsigned i = 0; i < run->waits.count; i++) {
        const size_t bytes = bytes_of(&run->waits.wait[i]);
        most = bytes > most ? bytes : most;
    }
    for (unsigned i = 0; i < run->streams; i++) {
        const size_t bytes = stream_bytes(run->stream[i]);
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
    for (unsigned i = 0; i < run->streams; i++) {
        run->stream[i]->log = stream_took;
        run->stream[i]->log_ctx = s;
    }
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
