/* given.c - packets whose bytes the bench gives, and the bytes of a transfer. */
#include <stdlib.h>
#include <string.h>

#include "opt/opt.h"
#include "stream_priv.h"

static const tb_stream_field *field(const tb_stream *s, tb_stream_kind kind) {
    for (unsigned i = 0; i < s->fields; i++) {
        if (s->field[i].kind == kind) {
            return &s->field[i];
        }
    }
    return NULL;
}

/* Is the field part of the bytes of a transfer? */
static bool counts(const tb_stream_field *f) {
    return f->kind == TB_STREAM_DATA || f->kind == TB_STREAM_PLAIN;
}

/* Bytes of a whole transfer. */
static size_t beat_bytes(const tb_stream *s) {
    size_t bytes = 0;
    for (unsigned i = 0; i < s->fields; i++) {
        bytes += counts(&s->field[i]) ? tb_sig_bytes(s->field[i].sig) : 0;
    }
    return bytes;
}

int tb_stream_give(tb_stream *s, const void *data, size_t bytes, char *err, size_t err_size) {
    const size_t beat = beat_bytes(s);
    if (s->cfg.source || beat == 0 || bytes == 0) {
        return opt_fail(err, err_size, "stream %s: %s", s->cfg.name,
                        s->cfg.source ? "it comes out of the design"
                        : beat == 0   ? "it has no data"
                                      : "a packet has at least one byte");
    }
    if (bytes % beat != 0 && field(s, TB_STREAM_KEEP) == NULL) {
        return opt_fail(err, err_size, "stream %s: %zu bytes are no whole beats of %zu, and it has no TKEEP",
                        s->cfg.name, bytes, beat);
    }
    if (!stream_has_given(s)) {
        stream_drop_given(s);
    }
    uint8_t *grown = (uint8_t *)realloc(s->given, s->given_bytes + sizeof bytes + bytes);
    if (grown == NULL) {
        return opt_fail(err, err_size, "out of memory");
    }
    s->given = grown;
    memcpy(s->given + s->given_bytes, &bytes, sizeof bytes);
    memcpy(s->given + s->given_bytes + sizeof bytes, data, bytes);
    s->given_bytes += sizeof bytes + bytes;
    return 0;
}

void stream_drop_given(tb_stream *s) {
    free(s->given);
    s->given = NULL;
    s->given_bytes = s->given_at = s->packet_end = 0;
}

/* The next bytes of the packet into a signal, those behind its end as 0. */
static void put_bytes(tb_stream *s, tb_sig sig, size_t *at) {
    const size_t bytes = tb_sig_bytes(sig), left = s->packet_end - *at, now = left < bytes ? left : bytes;
    memset(sig.ptr, 0, bytes);
    memcpy(sig.ptr, s->given + *at, now);
    if (sig.width % 8 != 0 && sig.width < bytes * 8) { /* bits above the width stay 0 */
        ((uint8_t *)sig.ptr)[sig.width / 8] &= (uint8_t)((1u << sig.width % 8) - 1);
    }
    *at += now;
}

void stream_draw_given(tb_stream *s) {
    size_t size;
    if (s->packet_end == 0) {
        memcpy(&size, s->given + s->given_at, sizeof size);
        s->given_at += sizeof size;
        s->packet_end = s->given_at + size;
    }
    size_t at = s->given_at;
    for (unsigned i = 0; i < s->fields; i++) {
        if (counts(&s->field[i])) {
            put_bytes(s, s->field[i].sig, &at);
        }
    }
    for (unsigned i = 0; i < s->fields; i++) {
        const tb_stream_field *f = &s->field[i];
        if (f->kind == TB_STREAM_KEEP || f->kind == TB_STREAM_STRB) {
            for (uint32_t lane = 0; lane < f->sig.width; lane++) {
                tb_set_field(f->sig, lane, 1, s->given_at + lane < at);
            }
        } else if (!counts(f)) {
            memset(f->sig.ptr, 0, tb_sig_bytes(f->sig));
            if (f->kind == TB_STREAM_LAST) {
                tb_set(f->sig, at == s->packet_end);
            }
        }
    }
    s->given_at = at;
    s->packet_end = at == s->packet_end ? 0 : s->packet_end;
}

size_t tb_stream_bytes(const tb_stream *s, uint8_t *dst) {
    const tb_stream_field *keep = field(s, TB_STREAM_KEEP);
    size_t n = 0;
    for (unsigned i = 0; i < s->fields; i++) {
        const tb_stream_field *f = &s->field[i];
        const size_t bytes = counts(f) ? tb_sig_bytes(f->sig) : 0;
        for (size_t b = 0; b < bytes && n < TB_STREAM_BYTES; b++) {
            if (f->kind != TB_STREAM_DATA || keep == NULL || tb_get_field(keep->sig, (uint32_t)b, 1) != 0) {
                dst[n++] = ((const uint8_t *)f->sig.ptr)[b];
            }
        }
    }
    return n;
}

bool tb_stream_ends(const tb_stream *s) {
    const tb_stream_field *last = field(s, TB_STREAM_LAST);
    return last == NULL || tb_get(last->sig) != 0;
}
