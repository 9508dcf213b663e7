/* picture.h - photographs as input of a network: decoding, resizing, channel order, mean and norm. Part of network.h.
 */
#ifndef NET_PICTURE_H
#define NET_PICTURE_H

#include "network.h"

#define NET_MAX_PICTURE_BYTES (64u << 20) /* of a file */
#define NET_MAX_PICTURE_SIDE 16384u       /* width and height */

/* Red, green and blue of pixel (x, y) at rgb[3 * (y * w + x)]. */
typedef struct net_picture {
    uint32_t w, h;
    uint8_t *rgb;
} net_picture;

/* PNG, JPEG, PNM (P5, P6) into *picture (which is overwritten; on error it is empty). Errors: NET_ERR_ARG,
 * NET_ERR_FORMAT; NET_ERR_UNSUPPORTED in a build without stb_image (libstb-dev); NET_ERR_IO from a file. `name` stands
 * in error lines. */
net_status net_picture_decode(net_picture *picture, const void *data, size_t bytes, const char *name, net_error *err);
net_status net_picture_load(net_picture *picture, const char *path, net_error *err);
void net_picture_free(net_picture *picture);
/* false: this build decodes nothing. */
bool net_picture_can_decode(void);

/*
 * Bilinear resize in ncnn's integer arithmetic (from_pixels_resize): weights of 11 bits, columns first, cut to 11 + 1
 * bits between the steps. out[h][w][3], w and h 1..16384. Errors: NET_ERR_ARG, NET_ERR_MEMORY.
 */
net_status net_picture_resize(const net_picture *picture, uint32_t w, uint32_t h, uint8_t *out, net_error *err);

typedef enum net_pixel_order {
    NET_PIXEL_BGR, /* channel 0 is blue: what networks trained with Caffe expect */
    NET_PIXEL_RGB,
    NET_PIXEL_GRAY /* one channel, (77 r + 150 g + 29 b) / 256 */
} net_pixel_order;

/*
 * From pixel to element of channel c, as ncnn's substract_mean_normalize(): x - mean[c]; x * norm[c]; with both, x *
 * norm[c] + (-mean[c] * norm[c]). Each operator is one binary32 step.
 */
typedef struct net_picture_prep {
    net_pixel_order order;
    bool has_mean, has_norm;
    float mean[3], norm[3];
} net_picture_prep;

/* A pixel as an element of channel 0..2. */
float net_picture_value(const net_picture_prep *prep, uint32_t channel, uint32_t pixel);

/* The picture, resized, as the input blob of `shape` (three dimensions; 3 channels, 1 for NET_PIXEL_GRAY). Errors:
 * NET_ERR_ARG, NET_ERR_UNSUPPORTED (another shape), NET_ERR_MEMORY. */
net_status net_picture_input(const net_picture *picture, const net_picture_prep *prep, const net_shape *shape,
                             float *out, net_error *err);

/*
 * An array of floats from NumPy's .npy (versions 1 to 3, little-endian float32 in C order): as many elements as the
 * shape, whose dimensions must be those of the file but for ones in front. Errors: NET_ERR_ARG, NET_ERR_IO,
 * NET_ERR_FORMAT, NET_ERR_UNSUPPORTED, NET_ERR_MEMORY.
 */
net_status net_npy_load(const char *path, const net_shape *shape, float *out, net_error *err);

#endif
