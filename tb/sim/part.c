/*
 * part.c - parts of ports: fields of packed structs, slices of vectors. Each is a copy of its own, so that whoever
 * drives a bus need not know where its signals lie.
 */
#include <stdlib.h>

#include "sim_priv.h"

/* A copy of bits lsb .. lsb + width - 1 of `whole`, which is a port or an older part. */
typedef struct part {
    tb_sig whole, copy;
    uint32_t lsb;
    bool input;    /* of the design */
    uint8_t *last; /* of an input: what the port has got */
} part;

struct tb_sim_parts {
    part *part;
    size_t count, cap;
};

static void put_bits(tb_sig to, uint32_t lsb, tb_sig from) {
    for (uint32_t bit = 0; bit < from.width; bit += 64) {
        const uint32_t bits = from.width - bit < 64 ? from.width - bit : 64;
        tb_set_field(to, lsb + bit, bits, tb_get_field(from, bit, bits));
    }
}

static void get_bits(tb_sig to, tb_sig from, uint32_t lsb) {
    for (uint32_t bit = 0; bit < to.width; bit += 64) {
        const uint32_t bits = to.width - bit < 64 ? to.width - bit : 64;
        tb_set_field(to, bit, bits, tb_get_field(from, lsb + bit, bits));
    }
}

bool tb_sim_is_input(const tb_sim *sim, tb_sig s) {
    for (size_t i = 0; i < sim->cfg.shim->nports; i++) {
        if (sim->ports[i].ptr == s.ptr) {
            return sim->ports[i].input;
        }
    }
    for (size_t i = 0; sim->parts != NULL && i < sim->parts->count; i++) {
        if (sim->parts->part[i].copy.ptr == s.ptr) {
            return sim->parts->part[i].input;
        }
    }
    return false;
}

/* Room for one more; NULL: out of memory. */
static part *new_part(tb_sim *sim) {
    struct tb_sim_parts *parts = sim->parts;
    if (parts == NULL) {
        parts = sim->parts = (struct tb_sim_parts *)calloc(1, sizeof *parts);
    }
    if (parts != NULL && parts->count == parts->cap) {
        const size_t cap = parts->cap != 0 ? 2 * parts->cap : 32;
        part *more = (part *)realloc(parts->part, cap * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        parts->part = more;
        parts->cap = cap;
    }
    return parts != NULL ? &parts->part[parts->count] : NULL;
}

/* A part that is there already, or a new one. The table of parts is the only thing of `sim` that changes. */
static tb_sig part_of(const tb_sim *sim, tb_sig whole, uint32_t lsb, uint32_t width) {
    const tb_sig none = {.ptr = NULL, .width = 0};
    for (size_t i = 0; sim->parts != NULL && i < sim->parts->count; i++) {
        const part *p = &sim->parts->part[i];
        if (p->whole.ptr == whole.ptr && p->lsb == lsb && p->copy.width == width) {
            return p->copy;
        }
    }
    part *p = new_part((tb_sim *)(uintptr_t)sim);
    const tb_sig size = {.ptr = NULL, .width = width};
    const size_t bytes = (tb_sig_bytes(size) + 7) / 8 * 8; /* as bytes of a bus they are read in words */
    uint8_t *memory = p != NULL ? (uint8_t *)calloc(2, bytes) : NULL;
    if (memory == NULL) {
        return none;
    }
    *p = (part){.whole = whole,
                .copy = {.ptr = memory, .width = width},
                .lsb = lsb,
                .input = tb_sim_is_input(sim, whole),
                .last = memory + bytes};
    get_bits(p->copy, whole, lsb);
    memcpy(p->last, memory, bytes);
    sim->parts->count++;
    return p->copy;
}

tb_sig sim_part_find(const tb_sim *sim, const char *name) {
    const tb_shim *shim = sim->cfg.shim;
    for (size_t i = 0; i < shim->nfields; i++) {
        const tb_shim_field *f = &shim->fields[i];
        if (strcmp(f->name, name) == 0) {
            const tb_shim_port *port = &sim->ports[f->port];
            return part_of(sim, (tb_sig){.ptr = port->ptr, .width = port->width}, f->lsb, f->width);
        }
    }
    return (tb_sig){.ptr = NULL, .width = 0};
}

tb_sig tb_sim_slice(const tb_sim *sim, tb_sig whole, unsigned index, unsigned count) {
    if (whole.ptr == NULL || count <= 1) {
        return whole;
    }
    if (whole.width % count != 0 || index >= count) {
        return (tb_sig){.ptr = NULL, .width = 0};
    }
    const uint32_t width = whole.width / count;
    return part_of(sim, whole, index * width, width);
}

void sim_parts_put(tb_sim *sim) {
    for (size_t i = sim->parts->count; i-- > 0;) { /* a part of a part before that */
        part *p = &sim->parts->part[i];
        if (p->input && memcmp(p->copy.ptr, p->last, tb_sig_bytes(p->copy)) != 0) {
            put_bits(p->whole, p->lsb, p->copy);
            memcpy(p->last, p->copy.ptr, tb_sig_bytes(p->copy));
        }
    }
}

void sim_parts_get(tb_sim *sim) {
    for (size_t i = 0; i < sim->parts->count; i++) {
        const part *p = &sim->parts->part[i];
        if (!p->input) {
            get_bits(p->copy, p->whole, p->lsb);
        }
    }
}

void sim_parts_free(tb_sim *sim) {
    for (size_t i = 0; sim->parts != NULL && i < sim->parts->count; i++) {
        free(sim->parts->part[i].copy.ptr);
    }
    if (sim->parts != NULL) {
        free(sim->parts->part);
    }
    free(sim->parts);
    sim->parts = NULL;
}
