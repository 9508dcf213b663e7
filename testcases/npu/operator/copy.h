/*
 * copy.h - copies and upsampling, for tests that mix operators.
 */
#ifndef TESTCASES_COPY_H
#define TESTCASES_COPY_H

#include "tensor.h"

extern const tensor_kind copy_kind, upsample_kind;

#endif
