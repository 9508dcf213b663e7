/* bench.c - gzip_compressor: packets of bytes in, and what comes out must unpack to them (zlib is the golden model). */
#include <stdlib.h>
#include <zlib.h>

#include "../common.h"

#define LEAST 32u        /* shorter packets are dropped, as its README says */
#define LONGEST 40000u   /* bytes of a packet; a block of the format ends after 16,384 */
#define SPACE (1u << 22) /* bytes of a case */

typedef struct device {
    tb_run run;
    unsigned content;
    uint8_t *raw, *packed, *back; /* what went in; the packet that is coming out, and what it unpacks to */
    size_t raw_bytes, packed_bytes;
    size_t length[256], begin; /* packets inside; where the oldest begins in raw */
    unsigned first, count;
    size_t open; /* bytes of the packet that is going in */
} device;

/* The next byte: of runs, of four letters, of earlier text, or any. */
static void draw(tb_stream *s) {
    const device *dev = (const device *)s->ctx;
    const size_t n = dev->raw_bytes;
    uint64_t byte = tb_rng_range(&s->own, 0, 255);
    if (dev->content == 0) {
        byte = n > 0 && !tb_rng_chance(&s->own, 1, 40) ? dev->raw[n - 1] : byte;
    } else if (dev->content == 1) {
        byte = "acgt"[byte % 4];
    } else if (dev->content == 2 && n > 600 && !tb_rng_chance(&s->own, 1, 30)) {
        byte = dev->raw[n - 600 + n / 97 % 500];
    }
    tb_set(tb_stream_signal(s, "tdata")->sig, byte);
}

static void in(tb_stream *s) {
    device *dev = (device *)s->ctx;
    if (dev->raw_bytes == SPACE) {
        tb_run_fail(&dev->run, "bench:space", "a case has more than %u bytes", SPACE);
        return;
    }
    dev->raw[dev->raw_bytes++] = (uint8_t)tb_get(tb_stream_signal(s, "tdata")->sig);
    dev->open++;
    if (tb_get(tb_stream_signal(s, "tlast")->sig) != 0) {
        if (dev->open >= LEAST) {
            dev->length[(dev->first + dev->count++) % 256] = dev->open;
        } else {
            dev->raw_bytes -= dev->open;
        }
        dev->open = 0;
    }
}

/* A packet is complete: does it unpack to the oldest one that went in? */
static void compare(device *dev) {
    const size_t want = dev->length[dev->first % 256];
    z_stream z = {
        .next_in = dev->packed, .avail_in = (uInt)dev->packed_bytes, .next_out = dev->back, .avail_out = LONGEST + 1};
    if (dev->count == 0) {
        tb_run_fail(&dev->run, "gzip:extra", "a packet of %zu bytes came out, and none went in", dev->packed_bytes);
        return;
    }
    const int rc = inflateInit2(&z, 16 + MAX_WBITS) == Z_OK ? inflate(&z, Z_FINISH) : Z_MEM_ERROR;
    const size_t got = z.total_out;
    if (rc != Z_STREAM_END || z.avail_in > 0) {
        tb_run_fail(&dev->run, "gzip:format", "packet of %zu bytes: %s after %zu of %zu bytes", want,
                    z.msg != NULL ? z.msg : "it is not complete, or goes on behind its end", got, want);
    } else if (got != want || memcmp(dev->back, dev->raw + dev->begin, got) != 0) {
        tb_run_fail(&dev->run, "gzip:data", "packet of %zu bytes: it unpacks to %zu other bytes", want, got);
    }
    inflateEnd(&z);
    dev->begin += want;
    dev->first++;
    dev->count--;
    dev->packed_bytes = 0;
}

static void out(tb_stream *s) {
    device *dev = (device *)s->ctx;
    const uint64_t data = tb_get(tb_stream_signal(s, "tdata")->sig), keep = tb_get(tb_stream_signal(s, "tkeep")->sig);
    for (unsigned i = 0; i < 4 && dev->packed_bytes < SPACE; i++) {
        if ((keep >> i & 1u) != 0) {
            dev->packed[dev->packed_bytes++] = (uint8_t)(data >> 8 * i);
        }
    }
    if (tb_get(tb_stream_signal(s, "tlast")->sig) != 0) {
        compare(dev);
    }
}

static int open_buffers(void *ctx, const tb_prog_run *run, char *err, size_t err_size) {
    device *dev = (device *)ctx;
    (void)run;
    dev->raw = malloc(SPACE), dev->packed = malloc(SPACE), dev->back = malloc(LONGEST + 1);
    if (dev->raw == NULL || dev->packed == NULL || dev->back == NULL) {
        snprintf(err, err_size, "out of memory");
        return -1;
    }
    return 0;
}

static void close_buffers(void *ctx) {
    device *dev = (device *)ctx;
    free(dev->raw), free(dev->packed), free(dev->back);
}

static const tb_stream_cfg streams[] = {{.name = "i", .prefix = "i_", .draw = draw, .taken = in},
                                        {.name = "o", .prefix = "o_", .source = true, .taken = out}};
static const tb_tandem bench = {.bytes = sizeof(device),
                                .run_at = offsetof(device, run),
                                .cfg = {.clk = "clk", .rst_n = "rstn", .watchdog_cycles = 100000},
                                .open = open_buffers,
                                .close = close_buffers,
                                TB_TANDEM_STREAMS(streams)};
static const char *const contents[] = {"runs", "letters", "copies", "random"};
static const tb_knob knobs[] = {
    {"stall", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles without a byte into the design"},
    {"packets", 1, 20, TB_KNOB_SMALL, NULL, NULL, "packets"},
    {"beats", LEAST, LONGEST, TB_KNOB_SMALL, NULL, NULL, "bytes of the longest packet"},
    {"pause", 0, 90, TB_KNOB_UNIFORM, NULL, NULL, "percent of cycles in which nothing is taken"},
    {"content", 0, 3, TB_KNOB_ENUM, contents, NULL, "of the packets"},
};

static int body(void *ctx, tb_prog_run *run) {
    device *dev = (device *)ctx;
    dev->content = (unsigned)tb_knobs_get(run->knobs, "content");
    dev->run.stream[0]->ctx = dev->run.stream[1]->ctx = dev;
    send_packets(&dev->run, run->knobs);
    for (uint64_t i = 0, last = 0; dev->count > 0 && i - last < 100000 && tb_run_step(&dev->run); i++) {
        last = dev->packed_bytes == 0 ? i : last;
    }
    if (dev->count > 0) {
        tb_run_fail(&dev->run, "gzip:lost", "%u packets went in and did not come out", dev->count);
    }
    return 0;
}

int main(int argc, char **argv) {
    return example_main(
        argc, argv,
        (tb_test){
            .name = "gzip_compressor", .about = "random packets", TB_KNOBS_OF(knobs), .bench = &bench, .body = body});
}
