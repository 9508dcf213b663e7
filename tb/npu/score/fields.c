/* fields.c - which pieces of the design's memory hold a number of signals. */
#include "fields.h"

#include <inttypes.h>

#include "opt/opt.h"

/* The first signal that has no piece yet; NULL: all have one. */
static const uint8_t *first_left(const tb_sig *sig, const bool *placed, size_t count) {
    const uint8_t *first = NULL;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *byte = (const uint8_t *)sig[i].ptr;
        first = !placed[i] && (first == NULL || byte < first) ? byte : first;
    }
    return first;
}

int npu_score_fields_open(npu_score_fields *f, const tb_sig *sig, size_t count, tb_sig wide, uint16_t *at,
                          npu_score_want *want, char *err, size_t err_size) {
    const uint8_t *low = (const uint8_t *)wide.ptr, *end = low + tb_sig_bytes(wide), *first;
    const size_t step = want != NULL ? sizeof *want : NPU_SCORE_PIECE;
    bool placed[NPU_SCORE_PIECES] = {false};
    for (size_t i = 0; i < count; i++) {
        const uint8_t *byte = (const uint8_t *)sig[i].ptr;
        if (i == NPU_SCORE_PIECES || sig[i].width > 8) {
            return opt_fail(err, err_size, "signal %zu of %zu that are read together has %" PRIu32 " bits", i, count,
                            sig[i].width);
        }
        low = byte < low ? byte : low;
        end = byte >= end ? byte + 1 : end;
    }
    if (end - low < (ptrdiff_t)NPU_SCORE_PIECE) {
        return opt_fail(err, err_size, "signals that are read together need %u bytes of the design", NPU_SCORE_PIECE);
    }
    for (f->count = 0; (first = first_left(sig, placed, count)) != NULL; f->count++) {
        first = end - first >= (ptrdiff_t)NPU_SCORE_PIECE ? first : end - NPU_SCORE_PIECE;
        f->piece[f->count] = (const npu_score_piece_at *)first;
        for (size_t i = 0; i < count; i++) {
            const ptrdiff_t place = (const uint8_t *)sig[i].ptr - first;
            if (!placed[i] && place >= 0 && place < (ptrdiff_t)NPU_SCORE_PIECE) {
                at[i] = (uint16_t)(f->count * step + (size_t)place);
                placed[i] = true;
                if (want != NULL) {
                    ((uint8_t *)&want[f->count].mask)[place] = 0xff;
                }
            }
        }
    }
    for (uint32_t i = f->count; i < NPU_SCORE_PIECES; i++) {
        f->piece[i] = f->piece[0];
    }
    return 0;
}
