/*
 * net_random.h - random small networks as .param text, for tests of the runtime. A network follows from its seed alone.
 */
#ifndef NET_RANDOM_H
#define NET_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define NET_RANDOM_TEXT 32768u

/*
 * Write a network of one or two inputs and up to about `layers` layers (1..40) of every kind that the runtime puts on
 * the NPU, and of some that it does not, with branches that meet again. Returns the number of bytes.
 */
size_t net_random_param(uint64_t seed, uint32_t layers, char text[NET_RANDOM_TEXT]);

#endif
