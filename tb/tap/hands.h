/*
 * hands.h - a check of a unit by a table of its handshakes: what the unit offers stays, unchanged, until it is taken;
 * what goes in comes out, in order; and for each transfer a function of the bench, where a golden unit predicts.
 *
 *     static const tb_hand hands[] = {{.valid = "in_valid", .ready = "in_ready", .payload = {"in_data"}},
 *                                     {.valid = "out_valid", .ready = "out_ready", .payload = {"out_data"},
 *                                      .output = true, .held = true, .from = 1}};
 *     static const tb_hands fifo = TB_HANDS("fifo", hands, NULL);
 *     const tb_check_ops *const checks[] = {&fifo.ops};
 *
 * A line of taps.list taps these signals: "my_fifo as fifo -* +in_valid +in_ready ... +rst_ni=not(rst)".
 */
#ifndef TB_HANDS_H
#define TB_HANDS_H

#include "tap/check.h"

#define TB_HANDS_MOST 16u    /* of a unit */
#define TB_HAND_PAYLOAD 12u  /* signals of one */
#define TB_HAND_BYTES 512u   /* of its payload */
#define TB_HAND_INSIDE 4096u /* transfers inside of the unit, with `from` */

typedef struct tb_hand {
    const char *valid, *ready; /* signals of the tap; ready NULL: always */
    const char *payload[TB_HAND_PAYLOAD];
    bool output;    /* the unit offers */
    bool held;      /* with output: valid stays and the payload does not change until ready */
    unsigned from;  /* with output: payloads are those of hand number from - 1, in its order; 0: not */
    unsigned clock; /* index into tb_run_cfg.clocks */
} tb_hand;

typedef struct tb_hands tb_hands;
struct tb_hands {
    tb_check_ops ops; /* must be the first member: a check finds its table by it */
    const tb_hand *hand;
    unsigned count;
    /* A transfer on hand number `hand`; tb_hands_get() has its payload. May note a failure. NULL: nothing. */
    void (*moved)(tb_check *c, unsigned hand);
};

/* Of a check whose ops are those of a tb_hands: payload signal number `field` of a hand, as it is now. */
tb_sig tb_hands_sig(const tb_check *c, unsigned hand, unsigned field);
/* Transfers of a hand so far, without the one that `moved` is called for. */
uint64_t tb_hands_count(const tb_check *c, unsigned hand);

/* The functions of TB_HANDS(). */
int tb_hands_open(tb_check *c, char *err, size_t err_size);
void tb_hands_cycle(tb_check *c);
void tb_hands_clear(tb_check *c);
void tb_hands_finish(tb_check *c);

/* Bytes of a state: of all handshakes that a table may have. */
#define TB_HANDS_STATE (TB_HANDS_MOST * (TB_HAND_BYTES + 512u))
#define TB_HANDS(UNIT, TABLE, MOVED)                                                                                   \
    {                                                                                                                  \
        .ops = {.unit = (UNIT),                                                                                        \
                .state_bytes = TB_HANDS_STATE,                                                                         \
                .open = tb_hands_open,                                                                                 \
                .cycle = tb_hands_cycle,                                                                               \
                .clear = tb_hands_clear,                                                                               \
                .finish = tb_hands_finish},                                                                            \
        .hand = (TABLE), .count = sizeof(TABLE) / sizeof *(TABLE), .moved = (MOVED)                                    \
    }

#endif
