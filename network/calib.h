/* calib.h - calibration tables and the quantiser: histograms of the layers' inputs, thresholds, INT8 layers from a
 * table. Part of network.h. */
#ifndef NET_CALIB_H
#define NET_CALIB_H

#include "network.h"

/* ---- calibration table: ncnn's text, a line for each array of scales ---- */

#define NET_MAX_TABLE_BYTES (64u << 20)

/* `<layer>_param_0` has a weight scale for each output channel (or group), `<layer>` the scale of the layer's input. A
 * scale is a multiplier, 127/threshold. */
typedef struct net_table_line {
    char *key;
    uint32_t count;
    float *scale; /* not negative, no NaN; ncnn writes inf for weights that are all zero */
} net_table_line;

typedef struct net_table {
    uint32_t count;
    net_table_line *line; /* in the order of the file */
    uint32_t *order;      /* numbers of lines, sorted by key */
} net_table;

/* Read a table into *table (which is overwritten; on error it is left empty). Errors: NET_ERR_ARG, NET_ERR_FORMAT,
 * NET_ERR_MEMORY; NET_ERR_IO from a file. */
net_status net_table_parse(net_table *table, const char *text, size_t bytes, const char *name, net_error *err);
net_status net_table_load(net_table *table, const char *path, net_error *err);
void net_table_free(net_table *table);
/* Scales of a layer's weights or of its input; NULL: not in the table. */
const net_table_line *net_table_find(const net_table *table, const char *layer, bool weights);
/*
 * Add a line. An empty table is all zero. Errors: NET_ERR_ARG (the layer has such a line already; a name with blanks,
 * count 0, a scale that is negative or NaN), NET_ERR_MEMORY; nothing has changed then.
 */
net_status net_table_add(net_table *table, const char *layer, bool weights, const float *scale, uint32_t count,
                         net_error *err);
/* Remove both lines of a layer: it stays float. false: the table has none. */
bool net_table_remove(net_table *table, const char *layer);
/*
 * The table as text, followed by a zero byte; the caller has to free() it. Scales have six decimals, as those of ncnn,
 * or more digits where these would not give the same value again. A file is written under a temporary name and then
 * renamed. Errors: NET_ERR_ARG, NET_ERR_MEMORY; NET_ERR_IO.
 */
net_status net_table_print(const net_table *table, char **text, size_t *bytes, net_error *err);
net_status net_table_save(const net_table *table, const char *path, net_error *err);

/* ---- calibration ---- */

#define NET_CALIB_BINS 2048u  /* of the histogram of |x| from 0 to the largest value */
#define NET_CALIB_LEVELS 128u /* 0..127; also the first threshold that is tried */

typedef enum net_calib_method {
    /* the threshold whose quantised histogram is nearest to the clipped one (document 000, section 4.3, as ncnn does)
     */
    NET_CALIB_KL,
    NET_CALIB_MINMAX,    /* the largest value */
    NET_CALIB_MSE,       /* the threshold with the least expected squared error */
    NET_CALIB_PERCENTILE /* the least threshold that covers a share of the values */
} net_calib_method;
/* Words of programs for them, in this order. */
#define NET_CALIB_METHOD_WORDS "kl", "minmax", "mse", "percentile"

/* What is known of the inputs, so that a network can be measured by its task. */
typedef struct net_known {
    const int64_t *label;            /* [inputs]: the class that comes first, or -1; NULL: of none */
    const struct net_object *object; /* precision.h: objects in them, with the number of the input; NULL: of none */
    uint32_t objects;
    struct net_finder *finder; /* where there are objects: of the network, and */
    const struct net_fit *fit; /* [inputs] the pictures' positions, known when load() has been called */
} net_known;

/* The inputs that a network is calibrated with. `load` writes input i: the elements of all input blobs, one blob after
 * the other (net_graph_input_elements()). known: NULL: nothing. */
typedef struct net_inputs {
    uint32_t count;
    net_status (*load)(void *user, uint32_t i, float *input, net_error *err);
    void *user;
    const net_known *known;
} net_inputs;

/* Statistics of the input of one layer. Zeros are counted separately, as they are exact at any scale. */
typedef struct net_hist {
    float absmax;
    uint64_t zeros;               /* and values that are no numbers */
    uint64_t bin[NET_CALIB_BINS]; /* of |x| > 0: bin min(floor(|x| / absmax * 2048), 2047) */
} net_hist;

/*
 * Threshold from a histogram, in units of a bin (0..2048, 0: the histogram is empty).
 * KL: for t = 128..2047 the first t bins with everything above added to the last one (P) against the first t bins
 * brought to 128 levels and spread again over the bins (Q), both with 1e-4 added to every bin, the histogram divided by
 * its sum; the result is t + 0.5 for the t with the least sum of P log(P / Q), the first one on a tie. Percentile: the
 * upper edge of the bin where `percent` (0..100) of the values that are not zero are reached.
 */
float net_hist_threshold(const net_hist *hist, net_calib_method method, double percent);

/* true: a layer that ncnn and this quantiser turn into INT8: Convolution, ConvolutionDepthWise, InnerProduct with
 * weights of their own. */
bool net_layer_quantizable(const net_layer *layer);

/*
 * Run the FP32 reference twice over all inputs and fill hist[num_layers], all zero where the layer is not quantizable.
 * Errors: NET_ERR_ARG, NET_ERR_UNSUPPORTED (no float weights), NET_ERR_MEMORY, those of load().
 */
net_status net_calib_collect(const net_graph *graph, const net_inputs *inputs, net_hist *hist, net_error *err);
/*
 * Add the lines of all quantizable layers to an empty table: weights 127 / absmax of each output channel (of each group
 * of ConvolutionDepthWise; 0 where all are zero), inputs 127 / (threshold * absmax / 2048), 1 where the input was
 * always zero. Errors: NET_ERR_ARG, NET_ERR_MEMORY.
 */
net_status net_calib_table(const net_graph *graph, const net_hist *hist, net_calib_method method, double percent,
                           net_table *table, net_error *err);
#define NET_CALIB_METHODS 4u

/* What a method gave. right: inputs whose known class comes first (0: none is known). same_top1: of a classifier, the
 * inputs whose first class is that of FP32 (0 for other networks). output_db: net_quant_report.output_db. precision:
 * mean average precision, 0.5 to 0.95 (0: no objects are known). */
typedef struct net_calib_score {
    bool done;
    uint32_t right, same_top1;
    double output_db;
    double precision;
} net_calib_score;

/*
 * The best of those of NET_CALIB_METHODS scores that are done. Left are, one condition after the other: those with the
 * most right classes and with a precision at most half a point (0.005) below the highest one; of these the ones within
 * 3 dB of the most exact outputs; of these the ones with the most first classes as in FP32; of these the one with the
 * most dB, or the first. The signal to error of all outputs alone prefers a method that moves two nearly equal classes
 * past each other to one that adds the same noise to all; the first classes alone say little about a network whose
 * classes are nearly equal anyway.
 */
uint32_t net_calib_choose(const net_calib_score score[NET_CALIB_METHODS]);
/*
 * The table of the method that net_calib_choose() takes over the inputs, of the methods in `methods` (bit m: method m).
 * hist: of net_calib_collect(). *taken, score[NET_CALIB_METHODS] (may be NULL): that method, and what was measured.
 * Errors: as net_calib_table() and net_quant_compare().
 */
#define NET_CALIB_ALL ((1u << NET_CALIB_METHODS) - 1)
net_status net_calib_auto(const net_graph *graph, const net_inputs *inputs, const net_hist *hist, uint32_t methods,
                          double percent, net_table *table, net_calib_method *taken, net_calib_score *score,
                          net_error *err);
/* true: all layers that become INT8 find their scales while they run (attention, products of two blobs, recurrent
 * layers), so that an empty table says everything. */
bool net_needs_no_table(const net_graph *graph);
/*
 * Turn the float layers of a planned graph that the table names (weights and input) into INT8 layers in place; the
 * others are unchanged. int8_scale_term (key 8) becomes 2, or 1 for a weight scale for each group. Errors: NET_ERR_ARG,
 * NET_ERR_FORMAT (another number of scales than the layer has), NET_ERR_MEMORY.
 */
net_status net_quantize_table(net_graph *graph, const net_table *table, net_error *err);

/* Error of quantisation in one layer, over all inputs. A ratio in dB is 10 log10(sum of squares / sum of squared
 * errors); infinite without an error, NaN without a signal. */
typedef struct net_quant_loss {
    bool quantized;
    float scale;      /* of the input */
    uint64_t values;  /* number of input elements */
    uint64_t clipped; /* |x * scale| >= 127.5: beyond what rounds to 127 */
    double input_db;  /* the layer's input alone, quantised with its scale */
    double weight_db; /* the layer's weights alone */
    double output_db; /* the layer's output in the INT8 network against FP32, everything before it included */
} net_quant_loss;

typedef struct net_quant_report {
    net_quant_loss *layer; /* [num_layers] */
    uint32_t inputs;
    double output_db; /* of the network: the mean of error / signal of its outputs, as dB */
    /* inputs for which the first output of both networks has its largest value at the same place */
    uint32_t same_top1;
    bool classes;          /* the first output is a vector of at least two elements, as of a classifier */
    uint32_t *fp32, *int8; /* [inputs]: these places */
    /* with what is known of the inputs: those of known class, and where it came first */
    uint32_t labels, fp32_right, right;
    uint32_t objects;           /* 0: none are known */
    double fp32_map[2], map[2]; /* mean average precision at 0.5, over 0.5 to 0.95 */
} net_quant_report;

/* The measure of the task, 0..1: the share of right classes, or the mean average precision from 0.5 to 0.95. NaN:
 * nothing is known of the inputs. */
double net_quant_task(const net_quant_report *report, bool fp32);

/*
 * Compare a float graph with the INT8 graph that net_quantize_table() made of it (same layers, same blobs). Errors:
 * NET_ERR_ARG, NET_ERR_UNSUPPORTED, NET_ERR_MEMORY, those of load().
 */
net_status net_quant_compare(const net_graph *fp32, const net_graph *int8, const net_inputs *inputs,
                             net_quant_report *report, net_error *err);
void net_quant_report_free(net_quant_report *report);

#endif
