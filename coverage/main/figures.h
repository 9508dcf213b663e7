/* figures.h - private to tandem-cov: figures of code coverage, gates and earlier runs for the summary and the first
 * page.
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
/* "line", "branch", "toggle" of an object: of the total, of a unit. A missing kind has no points. false: not written by
 * tandem-cov. */
bool figures_of(const json_t *object, figure kinds[FIGURE_KINDS]);

#endif
