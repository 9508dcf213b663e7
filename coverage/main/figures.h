/* figures.h - private to tandem-cov: what the summary and the first page say of code coverage, gates and earlier runs.
 */
#ifndef COVERAGE_FIGURES_H
#define COVERAGE_FIGURES_H

#include <jansson.h>

#include "tool.h"

/* Code coverage of one kind: line, branch or toggle. */
typedef struct figure {
    const char *name; /* as in the JSON of `tandem-cov code report` */
    uint64_t points, covered, waived;
    double percent, before; /* with the waived points left out; of all */
} figure;

enum { FIGURE_LINE, FIGURE_BRANCH, FIGURE_TOGGLE, FIGURE_KINDS };

/* A JSON file, NULL with a line in err. */
json_t *figures_load(const char *path, cov_error *err);
/* "line", "branch", "toggle" of an object: of the total, of a unit. A kind that is not there has no points. false: it
 * is not what tandem-cov writes. */
bool figures_of(const json_t *object, figure kinds[FIGURE_KINDS]);

#endif
