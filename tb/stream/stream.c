#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../case/hash.h"
#include "opt/opt.h"
#include "stream_priv.h"

#define BEATS 16u
#define MOST_BYTES 512u /* of a field */

static const char *const words[] = {"tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser"};

/* ---- signals ---- */

static tb_stream_field *field_of(const tb_stream *s, tb_stream_kind kind) {
    for (unsigned i = 0; i < s->fields; i++) {
        if (s->field[i].kind == kind) {
            return (tb_stream_field *)(uintptr_t)&s->field[i];
        }
    }
    return NULL;
}

static int add(tb_stream *s, tb_stream_kind kind, const char *name, tb_sig sig, char *err, size_t err_size) {
    if (s->fields == TB_STREAM_FIELDS || tb_sig_bytes(sig) > MOST_BYTES) {
        return opt_fail(err, err_size, "stream %s: %s: expected at most %u signals of at most %u bits", s->cfg.name,
                        name, TB_STREAM_FIELDS, MOST_BYTES * 8);
    }
    s->field[s->fields++] = (tb_stream_field){.kind = kind, .name = name, .sig = sig};
    return 0;
}

/* A signal of an AXI4-Stream, or its slice: "tdata", or "t.data" of a struct. */
static tb_sig find_signal(const tb_stream *s, const tb_sim *sim, const char *word) {
    return tb_sim_slice(sim, tb_sim_find_split(sim, s->cfg.prefix, word, 1), s->cfg.slice, s->cfg.slices);
}

static int find_axi(tb_stream *s, const tb_sim *sim, char *err, size_t err_size) {
    int rc = 0;
    s->valid = find_signal(s, sim, "tvalid");
    s->ready = find_signal(s, sim, "tready");
    if (s->valid.ptr == NULL) {
        return opt_fail(err, err_size, "stream %s: there is no port %stvalid", s->cfg.name, s->cfg.prefix);
    }
    if (s->valid.width != 1 || (s->ready.ptr != NULL && s->ready.width != 1)) {
        return opt_fail(err, err_size,
                        "stream %s: tvalid and tready have %u bits, expected 1; slices = N: vectors of N", s->cfg.name,
                        s->valid.width);
    }
    for (unsigned k = 0; k < sizeof words / sizeof *words && rc == 0; k++) {
        const tb_sig sig = find_signal(s, sim, words[k]);
        rc = sig.ptr != NULL ? add(s, (tb_stream_kind)k, words[k], sig, err, err_size) : 0;
    }
    const tb_stream_field *data = field_of(s, TB_STREAM_DATA), *keep = field_of(s, TB_STREAM_KEEP);
    const tb_stream_field *strb = field_of(s, TB_STREAM_STRB);
    const uint32_t bits = data != NULL ? data->sig.width : 0;
    if (rc == 0 && ((keep != NULL && keep->sig.width * 8 != bits) || (strb != NULL && strb->sig.width * 8 != bits))) {
        return opt_fail(err, err_size, "stream %s: tkeep and tstrb must have one bit for each byte of tdata",
                        s->cfg.name);
    }
    return rc;
}

/* A port by its name, or its slice, of `width` bits (0: any). 0, or -1 with one line in err. */
static int find_part(const tb_stream *s, const tb_sim *sim, const char *name, uint32_t width, bool input, tb_sig *out,
                     char *err, size_t err_size) {
    tb_sig whole;
    const unsigned slices = s->cfg.slices > 1 ? s->cfg.slices : 1;
    if (tb_sim_port(sim, name, width * slices, input, &whole, err, err_size) != 0) {
        return -1;
    }
    *out = tb_sim_slice(sim, whole, s->cfg.slice, slices);
    return out->ptr != NULL ? 0
                            : opt_fail(err, err_size, "stream %s: %s: %u bits cannot be divided among %u streams",
                                       s->cfg.name, name, whole.width, slices);
}

static int find_plain(tb_stream *s, const tb_sim *sim, char *err, size_t err_size) {
    const tb_stream_cfg *c = &s->cfg;
    int rc = find_part(s, sim, c->valid, 1, !c->source, &s->valid, err, err_size);
    if (rc == 0 && c->ready != NULL) {
        rc = find_part(s, sim, c->ready, 1, c->source, &s->ready, err, err_size);
    }
    for (unsigned i = 0; rc == 0 && c->payload[i] != NULL; i++) {
        tb_sig sig;
        rc = find_part(s, sim, c->payload[i], 0, !c->source, &sig, err, err_size);
        rc = rc == 0 ? add(s, TB_STREAM_PLAIN, c->payload[i], sig, err, err_size) : rc;
    }
    return rc;
}

int tb_stream_open(tb_stream *s, const tb_sim *sim, const tb_stream_cfg *cfg, tb_rng rng, char *err, size_t err_size) {
    memset(s, 0, sizeof *s);
    s->cfg = *cfg;
    s->data = rng;
    s->rng = tb_rng_fork(&rng, UINT64_MAX);
    return cfg->prefix != NULL ? find_axi(s, sim, err, err_size) : find_plain(s, sim, err, err_size);
}

tb_stream_field *tb_stream_signal(tb_stream *s, const char *end) {
    for (unsigned i = 0; i < s->fields; i++) {
        const size_t name = strlen(s->field[i].name), size = strlen(end);
        if (name >= size && strcmp(s->field[i].name + name - size, end) == 0) {
            return &s->field[i];
        }
    }
    return NULL;
}

void tb_stream_close(tb_stream *s) {
    tb_board_free(&s->board);
    stream_drop_given(s);
}

/* Bits of a field, 0 without it. */
static uint32_t width_of(const tb_stream *s, tb_stream_kind kind) {
    const tb_stream_field *f = field_of(s, kind);
    return f != NULL ? f->sig.width : 0;
}

int tb_stream_follow(tb_stream *s, tb_stream *origin) {
    if (origin->copies == TB_STREAM_COPIES) {
        return -1;
    }
    origin->copy[origin->copies++] = s;
    s->keys = width_of(s, TB_STREAM_ID) == width_of(origin, TB_STREAM_ID) &&
              width_of(s, TB_STREAM_DEST) == width_of(origin, TB_STREAM_DEST);
    s->board.by_key = s->cfg.by_key;
    s->board.users = width_of(s, TB_STREAM_DATA) == width_of(origin, TB_STREAM_DATA) &&
                     width_of(s, TB_STREAM_USER) == width_of(origin, TB_STREAM_USER);
    return 0;
}

void tb_stream_reset(tb_stream *s) {
    s->traffic.packets = 0;
    s->beats = 0;
    stream_drop_given(s);
    s->length = 0;
    s->held = 0;
    s->live = s->driven = s->waits = s->inside = false;
    s->first = true;
    tb_board_clear(&s->board);
    if (!s->cfg.source) {
        tb_set(s->valid, 0);
    } else if (s->ready.ptr != NULL) {
        tb_set(s->ready, 0);
    }
}

/* ---- inputs ---- */

void tb_stream_send(tb_stream *s, const tb_stream_traffic *traffic) {
    if (!s->cfg.source) {
        s->traffic = *traffic;
        s->traffic.max_beats = traffic->max_beats != 0 ? traffic->max_beats : BEATS;
    }
}

bool tb_stream_busy(const tb_stream *s) {
    return s->live || s->beats > 0 || s->traffic.packets > 0 || stream_has_given(s) || tb_board_waiting(&s->board) > 0;
}

/* Random bits for a port of any width; those above it stay 0. */
static void fill(tb_rng *rng, tb_sig sig) {
    uint8_t value[MOST_BYTES];
    const size_t bytes = tb_sig_bytes(sig);
    tb_rng_fill(rng, value, bytes);
    for (uint32_t bit = sig.width; bit < bytes * 8; bit++) {
        value[bit / 8] &= (uint8_t) ~(1u << bit % 8);
    }
    memcpy(sig.ptr, value, bytes);
}

static void set_lanes(tb_sig sig, uint32_t lanes, tb_rng *holes) {
    for (uint32_t i = 0; i < sig.width; i++) {
        tb_set_field(sig, i, 1, i < lanes && (holes == NULL || i == 0 || tb_rng_chance(holes, 3, 4)));
    }
}

/* Packets to send; those that are left out are passed over. */
static bool more(tb_stream *s) {
    for (; s->traffic.packets > 0 && s->number < 64 && (s->traffic.skip >> s->number & 1u) != 0; s->number++) {
        s->traffic.packets--;
    }
    return s->traffic.packets > 0;
}

/* The next beat of a packet. */
static void draw(tb_stream *s) {
    const bool packets = field_of(s, TB_STREAM_LAST) != NULL;
    if (s->beats == 0) {
        s->own = tb_rng_fork(&s->data, s->number++);
        s->traffic.packets--;
        s->beats = packets ? (uint32_t)tb_rng_small(&s->own, 1, s->traffic.max_beats) : 1;
        s->id = tb_rng_range(&s->own, 0, s->traffic.ids > 0 ? s->traffic.ids - 1 : 0);
        s->dest = tb_rng_range(&s->own, 0, s->traffic.dests > 0 ? s->traffic.dests - 1 : 0);
    }
    s->beats--;
    for (unsigned i = 0; i < s->fields; i++) {
        const tb_stream_field *f = &s->field[i];
        const bool whole = s->beats > 0 || !packets;
        switch (f->kind) {
        case TB_STREAM_KEEP:
            set_lanes(f->sig, whole ? f->sig.width : (uint32_t)tb_rng_range(&s->own, 1, f->sig.width),
                      s->traffic.sparse ? &s->own : NULL);
            break;
        case TB_STREAM_STRB: /* all of TKEEP's, which comes first */
            set_lanes(f->sig, f->sig.width, NULL);
            if (field_of(s, TB_STREAM_KEEP) != NULL) {
                memcpy(f->sig.ptr, field_of(s, TB_STREAM_KEEP)->sig.ptr, tb_sig_bytes(f->sig));
            }
            break;
        case TB_STREAM_LAST:
            tb_set(f->sig, s->beats == 0);
            break;
        case TB_STREAM_ID:
            tb_set(f->sig, s->id);
            break;
        case TB_STREAM_DEST:
            tb_set(f->sig, s->dest);
            break;
        default:
            fill(&s->own, f->sig);
            break;
        }
    }
    if (s->cfg.draw != NULL) {
        s->cfg.draw(s);
    }
}

void tb_stream_drive(tb_stream *s, uint64_t cycle) {
    if (s->driven) {
        return;
    }
    s->driven = true;
    if (s->live) {
        return;
    }
    const bool go = s->stall == 0 || !tb_rng_chance(&s->rng, s->stall, 100);
    if (s->cfg.source) {
        if (s->ready.ptr != NULL) {
            tb_set(s->ready, go);
        }
        return;
    }
    s->live = go && (s->beats > 0 || stream_has_given(s) || more(s));
    tb_set(s->valid, s->live);
    if (s->live && s->beats == 0 && stream_has_given(s)) {
        stream_draw_given(s);
        s->since = cycle;
    } else if (s->live) {
        draw(s);
        s->since = cycle;
    }
}

/* ---- what happens ---- */

__attribute__((format(printf, 3, 4))) static void complain(tb_stream *s, const char *wrong, const char *format, ...) {
    va_list args;
    if (s->wrong[0] != '\0') {
        return;
    }
    snprintf(s->wrong, sizeof s->wrong, "%s", wrong);
    const int n = snprintf(s->text, sizeof s->text, "%s: ", s->cfg.name);
    va_start(args, format);
    vsnprintf(s->text + n, sizeof s->text - (size_t)n, format, args);
    va_end(args);
}

static uint8_t byte_of(tb_sig sig, uint32_t lane) {
    return ((const uint8_t *)sig.ptr)[lane];
}

static bool bit_of(const tb_stream_field *f, uint32_t lane) {
    return f == NULL || tb_get_field(f->sig, lane, 1) != 0;
}

/* Of a field; of data the bytes that count. */
static uint64_t sum_of(const tb_stream *s, const tb_stream_field *f) {
    const tb_stream_field *keep = f->kind == TB_STREAM_DATA ? field_of(s, TB_STREAM_KEEP) : NULL;
    if (keep == NULL) {
        return tb_hash_bytes(TB_HASH_INIT, f->sig.ptr, tb_sig_bytes(f->sig));
    }
    uint64_t sum = TB_HASH_INIT;
    for (uint32_t lane = 0; lane < keep->sig.width; lane++) {
        sum = bit_of(keep, lane) ? tb_hash_u64(sum, (uint64_t)lane << 8 | byte_of(f->sig, lane)) : sum;
    }
    return sum;
}

/* Rules about what the design offers (AMBA AXI4-Stream, section 2.2.1; TKEEP, TSTRB: 2.4.3; reset: 2.8.2). */
static void check_offer(tb_stream *s, bool valid) {
    static const char *const rule[] = {"TDATA", "TKEEP", "TSTRB", "TLAST", "TID", "TDEST", "TUSER"};
    const bool axi = s->cfg.prefix != NULL;
    if (s->first && valid && axi) {
        complain(s, "axi:AXI4STREAM_ERRM_TVALID_RESET", "TVALID is high at the first edge after reset");
    }
    const tb_stream_field *keep = field_of(s, TB_STREAM_KEEP), *strb = field_of(s, TB_STREAM_STRB);
    for (uint32_t lane = 0; valid && axi && keep != NULL && strb != NULL && lane < keep->sig.width; lane++) {
        if (!bit_of(keep, lane) && bit_of(strb, lane)) {
            complain(s, "axi:AXI4STREAM_ERRM_TKEEP_TSTRB", "lane %u has TSTRB without TKEEP", lane);
        }
    }
    if (!s->waits) {
        return;
    }
    if (!valid) {
        complain(s, axi ? "axi:AXI4STREAM_ERRM_TVALID_STABLE" : "stream:valid", "valid fell before ready");
        return;
    }
    for (unsigned i = 0; i < s->fields; i++) {
        const tb_stream_field *f = &s->field[i];
        if (f->kind == TB_STREAM_DATA && keep != NULL && sum_of(s, keep) != keep->sum) {
            continue; /* other bytes count than did: that is TKEEP's */
        }
        if (sum_of(s, f) != f->sum && f->kind == TB_STREAM_PLAIN) {
            complain(s, "stream:payload", "the payload changed before ready: %s", f->name);
        } else if (sum_of(s, f) != f->sum) {
            char name[64];
            snprintf(name, sizeof name, "axi:AXI4STREAM_ERRM_%s_STABLE", rule[f->kind]);
            complain(s, name, "the payload changed before ready: %s", rule[f->kind]);
        }
    }
}

static uint32_t value_of(const tb_stream *s, tb_stream_kind kind) {
    const tb_stream_field *f = field_of(s, kind);
    return f == NULL ? 0 : f->sig.width <= 32 ? (uint32_t)tb_get(f->sig) : (uint32_t)sum_of(s, f);
}

/* One byte of the beat, into or out of a scoreboard. */
static void count_byte(tb_stream *s, tb_stream *other, const tb_board_byte *byte) {
    char text[200];
    const char *wrong;
    if (!s->cfg.source) {
        tb_board_push(&other->board, byte);
    } else if ((wrong = tb_board_pop(&s->board, byte, text, sizeof text)) != NULL) {
        char name[32];
        snprintf(name, sizeof name, "stream:%s", wrong);
        complain(s, name, "%s", text);
    }
}

/* The beat's bytes in their order; `other`: the stream on whose scoreboard they go. */
static void count_beat(tb_stream *s, tb_stream *other) {
    const tb_stream_field *keep = field_of(s, TB_STREAM_KEEP), *strb = field_of(s, TB_STREAM_STRB);
    const bool last = field_of(s, TB_STREAM_LAST) == NULL || value_of(s, TB_STREAM_LAST) != 0;
    const bool packets = field_of(other, TB_STREAM_LAST) != NULL; /* else the end of a packet is not seen there */
    tb_board_byte held = {0};
    bool holds = false;
    for (unsigned i = 0; i < s->fields; i++) {
        const tb_stream_field *f = &s->field[i];
        const uint32_t bytes = (f->sig.width + 7) / 8;
        for (uint32_t lane = 0; (f->kind == TB_STREAM_DATA || f->kind == TB_STREAM_PLAIN) && lane < bytes; lane++) {
            if (f->kind == TB_STREAM_DATA && !bit_of(keep, lane)) {
                continue;
            }
            if (holds) {
                count_byte(s, other, &held);
            }
            holds = true;
            held =
                (tb_board_byte){.value = byte_of(f->sig, lane),
                                .position = f->kind == TB_STREAM_DATA && !bit_of(strb, lane),
                                .key = other->keys ? value_of(s, TB_STREAM_DEST) << 16 | value_of(s, TB_STREAM_ID) : 0};
        }
    }
    if (holds) { /* the last byte of the beat has its marks */
        held.last = last && packets;
        held.user = value_of(s, TB_STREAM_USER);
        count_byte(s, other, &held);
    }
}

/* The last beat of a packet was taken. */
static void count_packet(tb_stream *s) {
    const tb_stream_field *keep = field_of(s, TB_STREAM_KEEP);
    bool whole = true;
    for (uint32_t lane = 0; keep != NULL && lane < keep->sig.width; lane++) {
        whole = whole && bit_of(keep, lane);
    }
    unsigned kind = 0;
    while (kind + 1 < TB_STREAM_LENGTHS && s->length > 1u << kind) {
        kind++;
    }
    s->packets++;
    s->partial += !whole;
    s->lengths[kind]++;
    s->length = 0;
}

static void take(tb_stream *s, uint64_t cycle, uint64_t *hash) {
    uint64_t sum = tb_hash_u64(*hash, cycle);
    s->transfers++;
    for (unsigned i = 0; i < s->fields; i++) {
        sum = tb_hash_u64(sum, sum_of(s, &s->field[i]));
    }
    *hash = sum;
    const bool last = value_of(s, TB_STREAM_LAST) != 0;
    s->length++;
    if (last) {
        count_packet(s);
    }
    s->inside = field_of(s, TB_STREAM_LAST) != NULL && !last;
    for (unsigned i = 0; i < s->copies; i++) {
        count_beat(s, s->copy[i]);
        s->copy[i]->held++;
    }
    if (s->cfg.from != NULL) {
        count_beat(s, s);
        s->held -= s->held > 0;
    }
    if (s->log != NULL) {
        s->log(s->log_ctx, s);
    }
    if (s->cfg.taken != NULL) {
        s->cfg.taken(s);
    }
}

void tb_stream_sample(tb_stream *s, uint64_t cycle, uint64_t *hash) {
    const bool valid = tb_get(s->valid) != 0, ready = s->ready.ptr == NULL || tb_get(s->ready) != 0;
    if (s->cfg.source) {
        check_offer(s, valid);
        s->since = valid && !s->waits ? cycle : s->since;
        s->waits = valid && !ready;
        for (unsigned i = 0; s->waits && i < s->fields; i++) {
            s->field[i].sum = sum_of(s, &s->field[i]);
        }
    }
    s->first = false;
    s->stalled += valid && !ready;
    if (valid && ready) {
        s->live = false;
        take(s, cycle, hash);
    }
    if (s->cfg.depth != 0 && s->held > s->cfg.depth) {
        complain(s, "stream:depth", "%" PRIu64 " transfers inside, at most %u were expected", s->held, s->cfg.depth);
    }
}

void tb_stream_finish(tb_stream *s) {
    const uint64_t lost = tb_board_waiting(&s->board);
    if (lost > 0) {
        complain(s, "stream:lost", "%" PRIu64 " bytes that were sent into %s have not come out", lost, s->cfg.from);
    }
    if (s->cfg.source && s->inside) {
        complain(s, "axi:AXI4STREAM_ERRM_STREAM_ALL_DONE_EOS", "the last packet has no TLAST");
    }
}

bool tb_stream_owes(const tb_stream *s, char *text, size_t size) {
    const uint64_t waiting = tb_board_waiting(&s->board);
    if (s->live) {
        snprintf(text, size, "the design has not taken %s since cycle %" PRIu64, s->cfg.name, s->since);
    } else if (waiting > 0) {
        snprintf(text, size, "%" PRIu64 " bytes that were sent into %s have not come out of %s", waiting, s->cfg.from,
                 s->cfg.name);
    }
    return s->live || waiting > 0;
}
