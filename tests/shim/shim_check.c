/* shim_check.c - drives shim_toy through the shim for tests/test_shim.py: prints what it sees as key=value lines. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

typedef struct toy {
    const tb_shim *shim;
    void *inst;
    tb_shim_port ports[16];
    const tb_shim_var *vars;
    uintptr_t base; /* of them */
} toy;

static void *port(toy *t, const char *name) {
    for (size_t i = 0; i < t->shim->nports; i++) {
        if (strcmp(t->ports[i].name, name) == 0) {
            return t->ports[i].ptr;
        }
    }
    printf("no_port=%s\n", name);
    exit(1);
}

static void open_toy(toy *t, uint64_t seed) {
    t->shim = tb_shim_get();
    t->inst = t->shim->create(NULL, seed);
    if (!t->inst || t->shim->nports > 16) {
        printf("create=failed\n");
        exit(1);
    }
    t->shim->ports(t->inst, t->ports);
    *(uint8_t *)port(t, "mode_i") = 0;
    *(uint8_t *)port(t, "clk_i") = 0;
}

static void clock_toy(toy *t, uint8_t mode, uint64_t time) {
    *(uint8_t *)port(t, "mode_i") = mode;
    t->shim->set_time(t->inst, time);
    *(uint8_t *)port(t, "clk_i") = 0;
    t->shim->eval(t->inst);
    *(uint8_t *)port(t, "clk_i") = 1;
    t->shim->eval(t->inst);
    if (t->shim->trace_dump) {
        t->shim->trace_dump(t->inst, time);
    }
}

static void print_ports(toy *t) {
    for (size_t i = 0; i < t->shim->nports; i++) {
        printf("port=%s %" PRIu32 " %s\n", t->ports[i].name, t->ports[i].width, t->ports[i].input ? "in" : "out");
    }
}

static void values(toy *t) {
    const uint32_t wide[4] = {1, 2, 3, 0};
    memcpy(port(t, "wide_i"), wide, sizeof wide);
    *(uint16_t *)port(t, "short_i") = 0xabc;
    *(uint32_t *)port(t, "word_i") = 0xf0000000u;
    *(uint64_t *)port(t, "long_i") = UINT64_C(0xf000000000);
    clock_toy(t, 0, 1);
    const uint32_t *out = port(t, "wide_o");
    printf("wide=%08" PRIx32 " %08" PRIx32 " %08" PRIx32 " %08" PRIx32 "\n", out[3], out[2], out[1], out[0]);
    printf("sum=%" PRIx64 "\n", *(const uint64_t *)port(t, "sum_o"));
}

static void print_var(const toy *t, const tb_shim_var *v) {
    printf("var=%s %s %" PRIu32, v->scope, v->name, v->width);
    for (uint32_t word = (v->width - 1) / 32 + 1; word > 0; word--) {
        uint32_t value = 0;
        const uint32_t bits = v->width - 32 * (word - 1) < 32 ? v->width - 32 * (word - 1) : 32;
        memcpy(&value, (const uint32_t *)(t->base + v->at) + (word - 1), bits <= 8 ? 1 : bits <= 16 ? 2 : 4);
        printf(" %" PRIx32, value);
    }
    printf("\n");
}

/* Public signals; they follow the design while their pointers stay. */
static void vars(toy *t) {
    size_t count, again;
    t->vars = t->shim->vars(t->inst, &count, &t->base);
    printf("vars=%zu %d %d\n", count, t->shim->vars(t->inst, &again, &t->base) == t->vars && again == count,
           t->base != 0);
    for (size_t i = 0; i < count; i++) {
        print_var(t, &t->vars[i]);
    }
    for (uint64_t i = 0; i < 3; i++) {
        uint32_t seen = 0;
        *(uint16_t *)port(t, "short_i") = (uint16_t)(0x123u + i);
        clock_toy(t, 0, 2 + i);
        for (size_t k = 0; k < count; k++) {
            const tb_shim_var *v = &t->vars[k];
            if (strcmp(v->name, "count_q") == 0) {
                seen = seen >> 4 | (uint32_t) * (const uint8_t *)(t->base + v->at) << 4;
            } else if (strcmp(v->name, "short_i") == 0) {
                printf("short=%x\n", (unsigned)*(const uint16_t *)(t->base + v->at));
            }
        }
        printf("parts=%02x %02x\n", (unsigned)seen, (unsigned)*(const uint8_t *)port(t, "parts_o"));
    }
}

/* What a mode does to a fresh instance, and that another one beside it does not notice. */
static void mode(uint8_t number, uint64_t time) {
    toy a;
    toy b;
    open_toy(&a, 5);
    open_toy(&b, 5);
    clock_toy(&a, number, time);
    clock_toy(&b, 0, time);
    clock_toy(&a, number, time + 1);
    const char *message = a.shim->assert_message(a.inst);
    printf("mode%u=%d %s\n", (unsigned)number, a.shim->finished(a.inst), message ? message : "-");
    if (message) {
        char text[200], path[100];
        tb_sim_assert_text(message, text, sizeof text, path, sizeof path);
        printf("said%u=%s | %s\n", (unsigned)number, text, path);
    }
    printf("other%u=%d %s\n", (unsigned)number, b.shim->finished(b.inst),
           b.shim->assert_message(b.inst) ? "failed" : "-");
    a.shim->destroy(a.inst);
    b.shim->destroy(b.inst);
}

int main(int argc, char **argv) {
    toy t;
    open_toy(&t, 1);
    printf("top=%s\ntrace=%d\n", t.shim->top, t.shim->trace_open != NULL);
    print_ports(&t);
    if (t.shim->trace_open && argc > 1) {
        char err[128] = "";
        printf("bad_open=%d %s\n", t.shim->trace_open(t.inst, "/nonexistent/x.fst", err, sizeof err), err);
        printf("open=%d\n", t.shim->trace_open(t.inst, argv[1], err, sizeof err));
    }
    values(&t);
    vars(&t);
    if (t.shim->trace_close) {
        t.shim->trace_flush(t.inst);
        t.shim->trace_close(t.inst);
    }
    t.shim->destroy(t.inst);
    for (uint64_t seed = 0; seed < 4; seed++) {
        open_toy(&t, seed);
        clock_toy(&t, 0, 1);
        printf("state=%08" PRIx32 "\n", *(const uint32_t *)port(&t, "state_o"));
        t.shim->destroy(t.inst);
    }
    mode(1, 10);
    mode(2, 20);
    mode(3, 30);
    mode(4, 40);
    return 0;
}
