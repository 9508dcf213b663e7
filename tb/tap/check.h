/*
 * check.h - scoreboards inside a running design: one check for each tapped unit.
 *
 * A check follows its unit's real inputs, predicts the outputs with the golden unit and compares them. As it predicts
 * from the real inputs, right or wrong, a wrong value is blamed on the unit that produced it and on none behind it.
 */
#ifndef TB_CHECK_H
#define TB_CHECK_H

#include "tap/tap.h"

typedef struct tb_check tb_check;
typedef struct tb_checks tb_checks;

#define TB_CHECK_LINE 64 /* bytes; states are aligned to it, those of the instances of a unit are contiguous */

/* Clock gate of the instances of a name: an instance beside such a part, or in one of the scopes around it. */
typedef struct tb_check_gate {
    const char *part, *gate; /* names of instances, the gate's maybe with a scope, "g_clk[0].u_gate" */
} tb_check_gate;

typedef struct tb_check_ops {
    const char *unit;          /* kind of the tap, and name in reports */
    const char *const *inputs; /* units whose output it consumes, NULL-terminated; NULL: none */
    size_t state_bytes;        /* of tb_check.state, which is zeroed */
    tb_port_list ports;        /* signals of its tap, found before open; TB_STATE(state, PORTS) says both */
    /* its wake signals (tb_check_wake), "valid_i, ready_o", and those to watch (tb_check_watch); NULL: none, or open
     * names them */
    const char *wake, *watch;
    /*
     * A gate of clocks: which instances run while en_i of which of its taps is 1, up to one without a part. The checks
     * inside of them are called in these cycles only; names are components of their paths, inner ones come before those
     * around them, and the first and the last gate of a check count. Without taps of the gate clocks always run.
     */
    const tb_check_gate *gates;
    /* Find what else it needs, allocate. 0 or -1 with one line in err. NULL: nothing. */
    int (*open)(tb_check *c, char *err, size_t err_size);
    /*
     * A cycle in which the unit's clock runs, after settle: sample the handshakes. Called in every such cycle, or, with
     * wake signals, when one of them is not 0, when one of those to watch has changed (and in the first cycle, if there
     * are any), after a cycle() that set tb_check.again, and in the first cycle after a reset. NULL: the tap only
     * serves other checks, the next three are NULL, too. It and the functions that it calls in usual cycles have the
     * attribute `hot`: then they are side by side in the program, in few pages.
     */
    void (*cycle)(tb_check *c);
    /*
     * The same for all instances of a unit that are due, instead of cycle(), where a unit has many small ones: bit i
     * for check[i], whose state is element i of the array `state`. Returns those to be called in the next cycle as
     * well; `again` is ignored. Such units come before all others in the list.
     */
    uint64_t (*cycle_all)(tb_check *check, void *state, uint64_t due);
    /* The unit is in reset: drop everything in flight. */
    void (*clear)(tb_check *c);
    /* End of the run, nothing in flight: report missing outputs. May be NULL. */
    void (*finish)(tb_check *c);
    /* Release what open allocated. May be NULL. */
    void (*close)(tb_check *c);
} tb_check_ops;

struct tb_check {
    /* The members used in every cycle are in the first cache line, where the check itself is aligned to one. */
    void (*cycle)(tb_check *c); /* NULL: is called with its crowd */
    void *state;
    tb_checks *all;
    unsigned index; /* number of this instance among those of its unit */
    bool failed;    /* a check is not called any more after its first failure, which leaves it out of step */
    bool again;     /* set by cycle() to be called in the next cycle as well; cleared before each call */
    uint64_t task;  /* number of the unit's task, for reports; counted by the check */
    const tb_check_ops *ops;
    const tb_tap *tap;
    tb_sig reset_n;    /* ptr NULL: never in reset */
    tb_sig clock;      /* enable of the innermost gate; ptr NULL: the clock always runs */
    tb_sig outer;      /* of the outermost one, where there are several */
    uint64_t spare[3]; /* up to whole lines */
};
/* Programs also allocate one by malloc(), so it must not need a larger alignment. */
_Static_assert(sizeof(void *) != 8 || sizeof(tb_check) == 2 * TB_CHECK_LINE, "checks side by side begin with a line");
_Static_assert(_Alignof(tb_check) <= _Alignof(max_align_t), "a check may lie anywhere");

#define TB_CHECK_KEEP 16u /* failures kept, at most one for each check */

typedef struct tb_check_failure {
    const tb_check *check;
    char stream[24]; /* output that differs: "data", "addr" ... */
    uint64_t cycle, task;
    uint64_t transaction; /* number in the stream */
    char where[96];       /* element in the terms of the unit: "n 0, c 3, h 12, w 5"; may be empty */
    char got[80], expected[80];
    bool input_right; /* no unit that it takes its data from had failed before */
} tb_check_failure;

struct tb_check_plan;
struct tb_check_found;

struct tb_checks {
    const tb_sim *sim;
    tb_taps taps;
    tb_check *check;
    size_t count;
    struct tb_check_block *memory; /* of all checks, with their states */
    struct tb_check_plan *plan;    /* which checks are to be called when */
    struct tb_check_path *path;    /* of the last check whose clock was found; NULL: there are no gates of clocks */
    struct tb_check_found *found;  /* of the unit whose checks are opened */
    /* no check sleeps; one that compares only a part to save time may compare all */
    bool every_cycle;
    void *ctx; /* of the bench: parameters of the design that checks need */
    tb_check_failure failure[TB_CHECK_KEEP];
    size_t failures;
};

/*
 * A check for each tap whose kind is in `ops`; a tap of a kind that is not there is an error. A design without taps has
 * no checks. The order of `ops` is the order of the checks within a cycle, after those in reset: a unit is listed
 * before those that contain it, so it is blamed when both detect an error in the same cycle. Every unit of `ops` must
 * have at least one tap when there are taps at all, unless its name is in `absent` (NULL-terminated, NULL: none, or
 * TB_CHECKS_SOME: a bench that holds a part of the design; there checks run in every cycle, whatever their wake signals
 * are). 0 or -1.
 */
extern const char *const TB_CHECKS_SOME[];
int tb_checks_open(tb_checks *checks, const tb_sim *sim, const tb_check_ops *const *ops, size_t nops,
                   const char *const *absent, void *ctx, char *err, size_t err_size);
void tb_checks_close(tb_checks *checks);
/* Every cycle after settle, before the edge. True while no check has failed. */
bool tb_checks_cycle(tb_checks *checks);
/* Nothing is in flight any more. True when no check has failed. */
bool tb_checks_finish(tb_checks *checks);
/* One line: "fifo 1 (top.u_core...): data, task 3, transaction 17, n 0, c 3 ..., cycle 2041: got -12, expected -11; its
 * input was right" */
void tb_check_text(const tb_check_failure *failure, char *dst, size_t size);

/* ---- for checks ---- */
/* Memory until tb_checks_close(), zeroed; begins with a line. NULL: there is none. */
void *tb_check_memory(tb_checks *checks, size_t bytes);
/* Signal of the tap; width 0: any. 0 or -1 with one line in err. */
int tb_check_sig(tb_check *c, const char *name, uint32_t width, tb_sig *out, char *err, size_t err_size);
/* Signals of the tap by a list, for open: of the same list as the instance before, they need not be searched for. */
int tb_check_list(const tb_check *c, tb_ports ports, char *err, size_t err_size);
/*
 * Bind, for every check before its open: these signals, the reset (rst_ni, where the tap has it) and the enable of the
 * gated clock. 0 or -1.
 */
int tb_check_ports(tb_check *c, tb_ports ports, char *err, size_t err_size);
/*
 * Call cycle() only when this signal of up to 32 bits, or another wake signal, is not 0, or after `again`. For open.
 * Cycles without these signals must be irrelevant to the check. 0 or -1.
 */
int tb_check_wake(tb_check *c, tb_sig sig, char *err, size_t err_size);
/* The same for some bits of a signal of up to 8. */
int tb_check_wake_bits(tb_check *c, tb_sig sig, uint8_t bits, char *err, size_t err_size);
/*
 * Call cycle() also when this signal of up to 32 bits has another value than in the cycle before. For signals that are
 * compared with each other and not followed: as long as none of them changes, they need one comparison. 0 or -1.
 */
int tb_check_watch(tb_check *c, tb_sig sig, char *err, size_t err_size);
/* Note a failure of this cycle; only the first of each check counts. `where` may be NULL. */
__attribute__((cold)) void tb_check_fail(tb_check *c, const char *stream, uint64_t transaction, const char *where,
                                         const char *got, const char *expected);
/* The same with formatted text: "where|got|expected", or "got|expected" without a place. */
__attribute__((cold, format(printf, 4, 5))) void tb_check_failf(tb_check *c, const char *stream, uint64_t transaction,
                                                                const char *format, ...);
/* The failure that tb_check_value() notes. */
__attribute__((cold)) void tb_check_differs(tb_check *c, const char *stream, uint64_t transaction, uint64_t got,
                                            uint64_t expected);
/* The same for integers up to 64 bits, printed in hexadecimal; does nothing when they are equal. True: equal. */
static inline bool tb_check_value(tb_check *c, const char *stream, uint64_t transaction, uint64_t got,
                                  uint64_t expected) {
    if (got != expected) {
        tb_check_differs(c, stream, transaction, got, expected);
    }
    return got == expected;
}

#endif
