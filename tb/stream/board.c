#include "board.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tb_board_free(tb_board *board) {
    for (unsigned i = 0; i < TB_BOARD_KEYS; i++) {
        free(board->queue[i].ring);
    }
    memset(board, 0, sizeof *board);
}

void tb_board_clear(tb_board *board) {
    for (unsigned i = 0; i < TB_BOARD_KEYS; i++) {
        tb_board_queue *q = &board->queue[i];
        q->head = q->count = 0;
        q->byte = 0;
    }
    board->in = board->out = 0;
}

/* The queue of a key, a new one if need be; NULL: there are too many keys. */
static tb_board_queue *queue_of(tb_board *board, uint32_t key) {
    for (unsigned i = 0; i < TB_BOARD_KEYS; i++) {
        tb_board_queue *q = &board->queue[i];
        if (!board->by_key || !q->used || q->key == key) {
            q->used = true;
            q->key = key;
            return q;
        }
    }
    return NULL;
}

static bool grow(tb_board_queue *q) {
    const size_t cap = q->cap != 0 ? 2 * q->cap : 1024;
    tb_board_byte *ring = (tb_board_byte *)malloc(cap * sizeof *ring);
    for (size_t i = 0; ring != NULL && i < q->count; i++) {
        ring[i] = q->ring[(q->head + i) % q->cap];
    }
    if (ring != NULL) {
        free(q->ring);
        q->ring = ring;
        q->cap = cap;
        q->head = 0;
    }
    return ring != NULL;
}

void tb_board_push(tb_board *board, const tb_board_byte *byte) {
    tb_board_queue *q = queue_of(board, byte->key);
    if (q == NULL || (q->count == q->cap && !grow(q))) {
        board->oom = true;
        return;
    }
    q->ring[(q->head + q->count++) % q->cap] = *byte;
    board->in++;
}

const char *tb_board_pop(tb_board *board, const tb_board_byte *byte, char *text, size_t size) {
    tb_board_queue *q = queue_of(board, byte->key);
    if (q == NULL || q->count == 0) {
        snprintf(text, size, "byte %" PRIu64 ": got 0x%02x, which was not sent", board->out + 1, byte->value);
        return "extra";
    }
    const tb_board_byte want = q->ring[q->head];
    q->head = (q->head + 1) % q->cap;
    q->count--;
    board->out++;
    q->byte++;
    const int n = snprintf(text, size, "packet %" PRIu64 ", byte %" PRIu64 ": ", q->packet + 1, q->byte);
    char *rest = n > 0 && (size_t)n < size ? text + n : text;
    const size_t room = size - (size_t)(rest - text);
    if (want.last) {
        q->packet++;
        q->byte = 0;
    }
    if (want.key != byte->key) {
        snprintf(rest, room, "got key 0x%x, expected 0x%x (TDEST and TID)", byte->key, want.key);
        return "key";
    }
    if (want.position != byte->position || (!want.position && want.value != byte->value)) {
        snprintf(rest, room, "got %s0x%02x, expected %s0x%02x", byte->position ? "position byte " : "", byte->value,
                 want.position ? "position byte " : "", want.value);
        return "data";
    }
    if (want.last != byte->last) {
        snprintf(rest, room, "got %s, expected %s", byte->last ? "the end of the packet" : "no end of the packet",
                 want.last ? "it" : "more bytes");
        return "last";
    }
    if (board->users && want.user != byte->user) {
        snprintf(rest, room, "got user 0x%x, expected 0x%x", byte->user, want.user);
        return "user";
    }
    return NULL;
}

uint64_t tb_board_waiting(const tb_board *board) {
    return board->in - board->out;
}
