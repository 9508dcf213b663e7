/*
 * sac_contract.h - arithmetic of the shift-add engine (docs/sac/sac.md, section 3), one function for each line of the
 * contract. Everything is defined for every argument, so that model and RTL also agree on a task that no driver starts.
 */
#ifndef SAC_CONTRACT_H
#define SAC_CONTRACT_H

#include <stdint.h>

#define SAC_CODE_ZERO 7u /* k of a weight that is 0; its code is 7, 15 counts as the same */

/*
 * Contribution of one activation: 0 for a code with k = 7, else +-(x << (k + d)); bit 3 of the 4-bit code: positive;
 * d 0..7. At most 22 bits, signed.
 */
int32_t sac_term(int8_t x, uint8_t code, unsigned d);
/*
 * v / 2^k for k > 0, rounded half away from zero; v * 2^-k otherwise; clamped to -128..127. k -32..31; below -8 it
 * counts as -8, where every value but 0 is clamped.
 */
int8_t sac_shr(int32_t v, int k);
/* Residual sum: shr((a << la) + (b << lb), r); la, lb 0..7, r -16..15. */
int8_t sac_residual(int8_t a, int8_t b, unsigned la, unsigned lb, int r);
/* Average: sum * 2^g / pixels, rounded half away from zero, clamped; g -8..7, pixels 1..16384. */
int8_t sac_average(int32_t sum, uint32_t pixels, int g);

#endif
