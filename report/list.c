/* list.c - growing arrays. */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#define FIRST 16u /* initial capacity; then it doubles at each power of two */

bool rep_more(void *list, size_t count, size_t size) {
    void *old;
    const size_t room = count < FIRST ? FIRST : 2 * count;
    if (count != 0 && (count < FIRST || (count & (count - 1)) != 0)) {
        return true;
    }
    memcpy(&old, list, sizeof old);
    void *more = count > SIZE_MAX / 2 / size ? NULL : realloc(old, room * size);
    if (more != NULL) {
        memcpy(list, &more, sizeof more);
    }
    return more != NULL;
}
