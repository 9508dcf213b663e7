/*
 * ncnn_names.c - names of the variants and events of ncnn_ref.h, and the table of Sigmoid and Mish.
 */
#include "ncnn_ref.h"

#include <stdio.h>
#include <string.h>

const char *ncnn_variant_name(ncnn_variant v) {
    static const char *const names[NCNN_VARIANTS] = {
        [NCNN_RIGHT] = "right",
        [NCNN_INPUT_HALF_EVEN] = "input: ties to even",
        [NCNN_INPUT_HALF_UP] = "input: ties up",
        [NCNN_INPUT_ADD_HALF] = "input: add a half in float, cut",
        [NCNN_INPUT_DIVIDES] = "input: divide by the step",
        [NCNN_OUTPUT_HALF_EVEN] = "output: ties to even",
        [NCNN_OUTPUT_TRUNCATES] = "output: cut",
        [NCNN_CLAMP_128] = "clamp to -128",
        [NCNN_HUGE_WRAPS] = "2^31 and more as INT_MIN",
        [NCNN_NAN_IS_MAX] = "NaN as 127",
        [NCNN_SUM_IS_FLOAT] = "sum in float",
        [NCNN_SUM_SATURATES] = "sum saturates",
        [NCNN_SUM_CUT] = "sum to float towards zero",
        [NCNN_FACTOR_DIVIDES] = "divide by the scales",
        [NCNN_FACTOR_IN_TWO_STEPS] = "one scale after the other",
        [NCNN_FACTOR_DOUBLE] = "factor rounded once",
        [NCNN_ZERO_SCALE_IS_INF] = "1/0 for a zero scale",
        [NCNN_FUSED] = "fused multiply-add",
        [NCNN_BIAS_IN_SUM] = "bias as an integer",
        [NCNN_ACT_BEFORE_BIAS] = "activation before bias",
        [NCNN_RELU_KEEPS_ZERO] = "ReLU keeps -0",
        [NCNN_UPPER_IN_ONE] = "HardSwish: upper bound from (1 - beta) / alpha",
        [NCNN_TOP_IN_FACTOR] = "top scale in the factor",
        [NCNN_FLUSH] = "subnormals flushed",
        [NCNN_DOUBLE] = "scale and bias in double",
        [NCNN_PADS_SWAPPED] = "pads of the other side",
        [NCNN_PADS_NOT_ZERO] = "border repeated",
        [NCNN_DILATION_ROW] = "one dilation for both",
        [NCNN_FIRST_SCALE] = "one weight scale for all",
        [NCNN_PAD_FIRST] = "pad before quantising",
        [NCNN_SUM_BACKWARDS] = "products in reverse order",
    };
    return names[v];
}

const char *ncnn_event_name(ncnn_event e) {
    static const char *const names[NCNN_EVENTS] = {
        [NCNN_E_IN_HALF] = "input: exact half",
        [NCNN_E_IN_BELOW_HALF] = "input: the float before a half",
        [NCNN_E_IN_SATURATED] = "input: saturates",
        [NCNN_E_IN_NAN] = "input: NaN",
        [NCNN_E_IN_INF] = "input: infinite",
        [NCNN_E_IN_HUGE] = "input: finite, 2^31 or more",
        [NCNN_E_IN_NEGATIVE_ZERO] = "input: -0",
        [NCNN_E_SUM_ABOVE_2_24] = "|sum| > 2^24, not a float",
        [NCNN_E_SUM_WRAPPED] = "sum wraps",
        [NCNN_E_FACTOR_OF_ZERO] = "weight scale 0",
        [NCNN_E_FACTOR_INF] = "factor infinite",
        [NCNN_E_FACTOR_ZERO] = "factor 0 from an infinite product",
        [NCNN_E_FACTOR_NAN] = "factor NaN",
        [NCNN_E_FACTOR_SUBNORMAL] = "factor subnormal",
        [NCNN_E_BIAS_NAN] = "bias NaN",
        [NCNN_E_BIAS_INF] = "bias infinite",
        [NCNN_E_V_SUBNORMAL] = "before activation: subnormal",
        [NCNN_E_V_NEGATIVE_ZERO] = "before activation: -0",
        [NCNN_E_OUT_NEGATIVE_ZERO] = "FP32 output -0",
        [NCNN_E_OUT_NAN] = "FP32 output NaN",
        [NCNN_E_OUT_INF] = "FP32 output infinite",
        [NCNN_E_OUT_HALF] = "requantised: exact half",
        [NCNN_E_OUT_BELOW_HALF] = "requantised: the float before a half",
        [NCNN_E_OUT_SATURATED] = "requantised: saturates",
        [NCNN_E_OUT_HUGE] = "requantised: finite, 2^31 or more",
        [NCNN_E_OUT_INT8_NAN] = "requantised: NaN",
        [NCNN_E_OUT_INT8_INF] = "requantised: infinite",
        [NCNN_E_CLIP_LOW] = "Clip: min",
        [NCNN_E_CLIP_HIGH] = "Clip: max",
        [NCNN_E_CLIP_CROSSED] = "Clip: min > max or NaN",
        [NCNN_E_HARDSWISH_OFF] = "HardSwish: below",
        [NCNN_E_HARDSWISH_LINE] = "HardSwish: between",
        [NCNN_E_HARDSWISH_ON] = "HardSwish: above",
        [NCNN_E_AT_BORDER] = "Clip, HardSwish, Sigmoid, Mish: at a border",
        [NCNN_E_LEAKY_SLOPE] = "LeakyReLU: slope",
        [NCNN_E_FIT_INSIDE] = "Sigmoid, Mish: segment",
        [NCNN_E_FIT_LIMIT] = "Sigmoid, Mish: limit",
        [NCNN_E_FIT_FAR] = "Sigmoid, Mish: too far from the function",
    };
    return names[e];
}

bool ncnn_event_is_open(ncnn_event e) {
    switch (e) {
    case NCNN_E_IN_NAN:
    case NCNN_E_IN_INF:
    case NCNN_E_IN_HUGE:
    case NCNN_E_SUM_WRAPPED:
    case NCNN_E_OUT_HUGE:
    case NCNN_E_OUT_INT8_NAN:
    case NCNN_E_OUT_INT8_INF:
    case NCNN_E_CLIP_CROSSED:
        return true;
    default:
        return false;
    }
}

int ncnn_fit_load(ncnn_fit *fit, const char *path) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return -1;
    }
    char line[256], name[32], sign;
    unsigned segment, c[3], found = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%31s %c %u %x %x %x", name, &sign, &segment, &c[0], &c[1], &c[2]) != 6 || segment > 15) {
            continue;
        }
        const int function = strcmp(name, "SIGMOID") == 0 ? 0 : strcmp(name, "MISH") == 0 ? 1 : -1;
        if (function >= 0) {
            memcpy(fit->c[function][sign == '-'][segment], c, sizeof c);
            found++;
        }
    }
    fclose(file);
    return found == 64 ? 0 : -1;
}
