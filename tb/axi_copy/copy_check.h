/*
 * copy_check.h - checks of the engine's units inside the design (tb/tap/check.h).
 */
#ifndef COPY_CHECK_H
#define COPY_CHECK_H

#include "tb.h"

extern const tb_check_ops *const copy_checks[];
extern const size_t copy_check_count;

#endif
