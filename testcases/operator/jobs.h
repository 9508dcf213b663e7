/*
 * jobs.h - private to the jobs test.
 */
#ifndef TESTCASES_JOBS_H
#define TESTCASES_JOBS_H

#include "tensor.h"

/*
 * A small convolution. It has no expected values of its own (the conv test has): verify() keeps the results of the first run and expects those of later ones to
 * be the same. Of the knobs it looks at gap and place; everything else follows from the seed.
 */
extern const tensor_kind jobs_conv_kind;

#endif
