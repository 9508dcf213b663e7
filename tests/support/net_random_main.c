/* net-random SEED LAYERS: a random small network on standard output, for tests from outside. */
#include <stdio.h>
#include <stdlib.h>

#include "../net_random.h"

int main(int argc, char **argv) {
    static char text[NET_RANDOM_TEXT];
    unsigned long layers = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    if (layers < 1 || layers > 40) {
        fputs("usage: net-random SEED LAYERS (1..40)\n", stderr);
        return 2;
    }
    size_t bytes = net_random_param(strtoull(argv[1], NULL, 10), (uint32_t)layers, text);
    return fwrite(text, 1, bytes, stdout) == bytes && fflush(stdout) == 0 ? 0 : 1;
}
