/*
 * stream_priv.h - private to tb/stream: packets that the bench has given (given.c).
 */
#ifndef TB_STREAM_PRIV_H
#define TB_STREAM_PRIV_H

#include "stream.h"

/* Is a packet there that was given and has not been sent? */
static inline bool stream_has_given(const tb_stream *s) {
    return s->given_at < s->given_bytes || s->packet_end != 0;
}
/* Set the payload to the next beat of it. */
void stream_draw_given(tb_stream *s);
/* Drop all of them. */
void stream_drop_given(tb_stream *s);

#endif
