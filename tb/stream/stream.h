/*
 * stream.h - the bench's side of a stream of the design: AXI4-Stream, or a plain valid and ready with any payload.
 *
 * Into the design it sends random packets, out of it it takes them, both with random stalls, and judges what the design
 * drives: rules under their published names (AMBA AXI4-Stream protocol assertions, ARM DUI 0534, table of checks), for
 * a plain handshake the same two: what is offered stays, unchanged, until it is taken.
 *
 * A stream that names another one as its origin (`from`) has a scoreboard: the bytes that went in there come out here,
 * in order, packet by packet, whatever the widths of both are.
 */
#ifndef TB_STREAM_H
#define TB_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "../case/rng.h"
#include "../sim/sim.h"
#include "board.h"

#define TB_STREAM_FIELDS 16u
#define TB_STREAM_LENGTHS 6u                      /* classes of packets: 1, 2, 3 .. 4, 5 .. 8, 9 .. 16, more beats */
#define TB_STREAM_BYTES (TB_STREAM_FIELDS * 512u) /* most bytes of a transfer */
#define TB_STREAM_COPIES 4u                       /* streams with the same origin */

typedef enum tb_stream_kind {
    TB_STREAM_DATA,
    TB_STREAM_KEEP,
    TB_STREAM_STRB,
    TB_STREAM_LAST,
    TB_STREAM_ID,
    TB_STREAM_DEST,
    TB_STREAM_USER,
    TB_STREAM_PLAIN /* payload of a plain handshake */
} tb_stream_kind;

/* A signal beside valid and ready. */
typedef struct tb_stream_field {
    tb_stream_kind kind;
    const char *name;
    tb_sig sig;
    uint64_t sum; /* of its value while it waits */
} tb_stream_field;

struct tb_stream;

typedef struct tb_stream_cfg {
    const char *name;          /* in reports; must outlive the stream, as all texts */
    const char *prefix;        /* AXI4-Stream: of "tvalid" ... (tb_sim_find_split); NULL: a plain handshake: */
    const char *valid, *ready; /* its signals; ready NULL: it cannot be stalled */
    const char *payload[TB_STREAM_FIELDS + 1]; /* its payload, ended by NULL */
    unsigned slice, slices;                    /* number `slice` of `slices` streams in the same vectors; 0: not */
    bool source;                               /* of the design: the bench takes; else the bench sends */
    unsigned clock;                            /* the one that it belongs to: index into tb_run_cfg.clocks */
    const char
        *from;      /* of a source: name of the stream into the design whose bytes come out here; NULL: no scoreboard */
    uint32_t depth; /* with from: at most so many transfers inside; 0: any number */
    bool by_key;    /* with from: packets of different TID and TDEST may overtake each other */
    /* A beat into the design was drawn: change its payload (tb_stream_signal), or NULL. stream->ctx is the bench's. */
    void (*draw)(struct tb_stream *stream);
    /* A beat is taken at the coming edge, in either direction; or NULL. */
    void (*taken)(struct tb_stream *stream);
} tb_stream_cfg;

/* Random packets into the design. */
typedef struct tb_stream_traffic {
    uint64_t packets;    /* of a stream without TLAST: transfers */
    uint32_t max_beats;  /* of a packet (0: 16) */
    uint32_t ids, dests; /* TID, TDEST below this (0: 1) */
    uint64_t skip;       /* bit i: packet i (of 64) is left out; the others stay what they are */
    bool sparse;         /* TKEEP with holes, in any beat; else the low lanes of the last beat */
} tb_stream_traffic;

typedef struct tb_stream {
    tb_stream_cfg cfg;
    void *ctx;           /* of the bench, for draw and taken */
    tb_sig valid, ready; /* ready.ptr NULL: always */
    tb_stream_field field[TB_STREAM_FIELDS];
    unsigned fields;
    tb_rng rng, data, own; /* of stalls; each packet has a branch of `data`: the one that is being sent */
    uint64_t number;       /* of the next packet */
    unsigned stall;        /* percent of cycles in which the bench stands */
    tb_stream_traffic traffic;
    uint32_t beats; /* left of the packet that is being sent */
    uint64_t id, dest;
    bool live;                   /* the bench offers a beat */
    bool driven;                 /* since the last edge of its clock */
    bool waits;                  /* the design has offered a beat before the last edge, and it was not taken */
    bool first;                  /* the next edge is the first one after a reset */
    bool inside;                 /* the last beat was not the last of its packet */
    uint64_t since;              /* cycle of the first offer of what waits */
    uint64_t transfers, packets; /* beats taken; those of them with TLAST */
    uint64_t lengths[TB_STREAM_LENGTHS], partial; /* packets by beats; those whose last beat lacks lanes (TKEEP) */
    uint32_t length;                              /* beats of the packet that is being taken */
    uint64_t stalled;                             /* cycles with valid and without ready */
    tb_board board;                               /* of a source with `from` */
    uint64_t held;                                /* of it: transfers that went in and have not come out */
    bool keys;                                    /* TID and TDEST are those of the origin, too */
    struct tb_stream *copy[TB_STREAM_COPIES];     /* of a stream into the design: where its bytes come out */
    unsigned copies;
    uint8_t *given; /* packets that the bench has given, one after the other, each behind its number of bytes */
    size_t given_bytes, given_at, packet_end; /* of them; where the next byte is; where the packet ends that is sent */
    void (*log)(void *ctx,
                const struct tb_stream *s); /* called for each transfer, with its payload in place; or NULL */
    void *log_ctx;
    /* first failure: its signature without the name of the stream, and one line; empty: none */
    char wrong[64], text[256];
} tb_stream;

/*
 * The signal whose name ends so ("addr" of "s_desc_addr"; of AXI4-Stream the words are the names, "tuser"); NULL: there
 * is none.
 */
tb_stream_field *tb_stream_signal(tb_stream *s, const char *end);
/* Find the signals. 0, or -1 with one line in err (a signal is missing, or has the other direction). */
int tb_stream_open(tb_stream *s, const tb_sim *sim, const tb_stream_cfg *cfg, tb_rng rng, char *err, size_t err_size);
void tb_stream_close(tb_stream *s);
/* The bytes of `origin`, a stream into the design, come out of s. 0, or -1: it has copies enough. */
int tb_stream_follow(tb_stream *s, tb_stream *origin);
/* Drop what is in flight and what was to come (reset of the design). */
void tb_stream_reset(tb_stream *s);
/* Begin to send random packets; replaces what is left of earlier ones. Of a source: nothing. */
void tb_stream_send(tb_stream *s, const tb_stream_traffic *traffic);
/*
 * Into the design: send a packet of these bytes, after those that were given before. Without TLAST: transfers, whose
 * bytes are those of the payload's signals one after the other, each in whole bytes. TID, TDEST and TUSER are 0.
 * Copied. 0, or -1 with one line in err: TKEEP is missing and the bytes fill no whole beats.
 */
int tb_stream_give(tb_stream *s, const void *data, size_t bytes, char *err, size_t err_size);
/*
 * The bytes of the transfer that `log` is called for: of TDATA those that TKEEP enables, of a plain payload all.
 * Returns their number; dst has room for TB_STREAM_BYTES.
 */
size_t tb_stream_bytes(const tb_stream *s, uint8_t *dst);
/* Does the transfer end a packet? True for each transfer where there is no TLAST. */
bool tb_stream_ends(const tb_stream *s);
/* Is anything to be sent, or to come out? */
bool tb_stream_busy(const tb_stream *s);
/* Before settle, once a cycle of its clock: set inputs. */
void tb_stream_drive(tb_stream *s, uint64_t cycle);
/* After settle, before the edge: rules, scoreboard. Streams into the design first. hash: the trace hash. */
void tb_stream_sample(tb_stream *s, uint64_t cycle, uint64_t *hash);
/* The end of a complete run: packets are complete, everything has come out. */
void tb_stream_finish(tb_stream *s);
/* What the design owes on this stream, for a report. False: nothing. */
bool tb_stream_owes(const tb_stream *s, char *text, size_t size);

#endif
