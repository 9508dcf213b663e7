/* Identifier codes of a VCD file: a hash table from their text to handles. */
#include "wave/vcd.h"

#include <stdlib.h>
#include <string.h>

#include "case/hash.h"

typedef struct vcd_id {
    char *text; /* NULL: free place */
    uint32_t handle;
} vcd_id;

struct vcd_ids {
    vcd_id *id;
    size_t used, room; /* room is a power of two */
};

vcd_ids *vcd_ids_new(void) {
    vcd_ids *ids = calloc(1, sizeof *ids);
    if (ids != NULL) {
        ids->room = 1024;
        ids->id = calloc(ids->room, sizeof *ids->id);
        if (ids->id == NULL) {
            free(ids);
            ids = NULL;
        }
    }
    return ids;
}

void vcd_ids_free(vcd_ids *ids) {
    if (ids == NULL) {
        return;
    }
    for (size_t i = 0; i < ids->room; i++) {
        free(ids->id[i].text);
    }
    free(ids->id);
    free(ids);
}

static vcd_id *place_of(vcd_id *id, size_t room, const char *text) {
    size_t at = (size_t)tb_hash_final(tb_hash_str(TB_HASH_INIT, text)) & (room - 1);
    while (id[at].text != NULL && strcmp(id[at].text, text) != 0) {
        at = (at + 1) & (room - 1);
    }
    return &id[at];
}

bool vcd_ids_find(const vcd_ids *ids, const char *text, uint32_t *handle) {
    const vcd_id *id = place_of(ids->id, ids->room, text);
    *handle = id->handle;
    return id->text != NULL;
}

int vcd_ids_add(vcd_ids *ids, const char *text, uint32_t handle) {
    if (2 * ids->used >= ids->room) {
        vcd_id *more = calloc(2 * ids->room, sizeof *more);
        if (more == NULL) {
            return -1;
        }
        for (size_t i = 0; i < ids->room; i++) {
            if (ids->id[i].text != NULL) {
                *place_of(more, 2 * ids->room, ids->id[i].text) = ids->id[i];
            }
        }
        free(ids->id);
        ids->id = more;
        ids->room *= 2;
    }
    vcd_id *id = place_of(ids->id, ids->room, text);
    id->text = strdup(text);
    id->handle = handle;
    ids->used++;
    return id->text != NULL ? 0 : -1;
}
