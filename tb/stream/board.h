/*
 * board.h - scoreboard of streams: bytes come out in the order in which they went in, packet by packet; packets of
 * different keys may overtake each other.
 *
 * A byte goes in and comes out with marks: last of its packet, position byte (TKEEP without TSTRB: its value does not
 * count), user signal, key.
 */
#ifndef TB_BOARD_H
#define TB_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TB_BOARD_KEYS 64u

typedef struct tb_board_byte {
    uint8_t value;
    bool last, position;
    uint32_t user, key;
} tb_board_byte;

/* Bytes of one key on their way. */
typedef struct tb_board_queue {
    bool used;
    uint32_t key;
    tb_board_byte *ring;
    size_t cap, head, count;
    uint64_t packet, byte; /* of the next one to come out, from 1 */
} tb_board_queue;

typedef struct tb_board {
    bool by_key, users; /* users: the user signal of a byte is compared */
    tb_board_queue queue[TB_BOARD_KEYS];
    uint64_t in, out;
    bool oom;
} tb_board;

void tb_board_free(tb_board *board);
/* Forget what is on its way. */
void tb_board_clear(tb_board *board);
/* A byte goes in. */
void tb_board_push(tb_board *board, const tb_board_byte *byte);
/*
 * A byte comes out. NULL: as expected. Otherwise what is wrong ("data", "last", "user", "key", "extra"), with one line
 * in text.
 */
const char *tb_board_pop(tb_board *board, const tb_board_byte *byte, char *text, size_t size);
/* Bytes on their way. */
uint64_t tb_board_waiting(const tb_board *board);

#endif
