/* npy.c - NumPy's .npy files as an input: what is accepted are the last bytes of the file. */
#include <string.h>

#include "../../network/network.h"
#include "fuzz.h"

void fuzz_npy(const uint8_t *data, size_t size) {
    const net_shape shape = {3, 2, 3, 2, 1};
    float out[12];
    net_error err = {""};
    if (net_npy_load(fuzz_file(data, size), &shape, out, &err) != NET_OK) {
        fuzz_check_line(err.text);
    } else if (size < sizeof out || memcmp(out, data + size - sizeof out, sizeof out) != 0) {
        fuzz_fail("the elements are the end of the file", "npy");
    }
}
