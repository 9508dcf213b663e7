/* Public model files, where they are present: TANDEM_DATA or ../shared/data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "../network/network.h"

static bool data_path(char *out, size_t size, const char *name) {
    const char *root = getenv("TANDEM_DATA");
    struct stat st;
    (void)snprintf(out, size, "%s/%s", root != NULL ? root : "../shared/data", name);
    if (stat(out, &st) != 0) {
        printf("not run: no data (%s)\n", out);
        return false;
    }
    return true;
}

static char *slurp(const char *path, size_t *bytes) {
    struct stat st;
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    assert_int_equal(fstat(fileno(in), &st), 0);
    *bytes = (size_t)st.st_size;
    char *data = malloc(*bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, *bytes, in), *bytes);
    fclose(in);
    return data;
}

/* Walk a model: the last layer's last array ends at the last byte. One byte less or more is an error. */
static void walk(const char *param, const char *bin, bool int8) {
    char param_path[512];
    char bin_path[512];
    if (!data_path(param_path, sizeof param_path, param) || !data_path(bin_path, sizeof bin_path, bin)) {
        return;
    }
    net_graph g;
    net_error err = {""};
    if (net_graph_load(&g, param_path, bin_path, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(g.num_layers, 48);
    uint32_t convs = 0;
    for (uint32_t i = 0; i < g.num_layers; i++) {
        convs += g.layer[i].kind == NET_CONV;
    }
    assert_int_equal(convs, 26);
    assert_true(net_graph_is_int8(&g) == int8);
    assert_int_equal(net_graph_plan(&g, &err), NET_OK);
    assert_true(g.blob[g.output].shape.dims == 1 && g.blob[g.output].shape.w == 1000);
    assert_int_equal(net_graph_macs(&g), 418467520);
    size_t bytes = 0;
    char *data = slurp(bin_path, &bytes);
    assert_int_equal(net_graph_parse_bin(&g, data, bytes - 1, "short", &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "short: truncated: layer 'conv10'"));
    assert_int_equal(net_graph_parse_bin(&g, data, bytes + 1, "long", &err), NET_ERR_FORMAT);
    assert_non_null(strstr(err.text, "long: 1 bytes are left over"));
    free(data);
    net_graph_free(&g);
    printf("%s: %zu bytes, walked to the last one\n", bin, bytes);
}

static void test_squeezenet(void **state) {
    (void)state;
    walk("squeezenet/squeezenet_v1.1.param", "squeezenet/squeezenet_v1.1.bin", false);
    walk("squeezenet/sq-int8.param", "squeezenet/sq-int8.bin", true);
    walk("squeezenet/sq-int8-w127.param", "squeezenet/sq-int8-w127.bin", true);
}

/* First convolution of SqueezeNet: an exact known value of its scale, so that the arrays are not merely of the right
 * size. */
static void test_squeezenet_scales(void **state) {
    (void)state;
    char table_path[512];
    char param_path[512];
    char bin_path[512];
    if (!data_path(table_path, sizeof table_path, "squeezenet/squeezenet.table") ||
        !data_path(param_path, sizeof param_path, "squeezenet/sq-int8.param") ||
        !data_path(bin_path, sizeof bin_path, "squeezenet/sq-int8.bin")) {
        return;
    }
    net_graph g;
    net_error err = {""};
    assert_int_equal(net_graph_load(&g, param_path, bin_path, &err), NET_OK);
    FILE *table = fopen(table_path, "r");
    assert_non_null(table);
    char *line = NULL;
    size_t room = 0;
    uint32_t compared = 0;
    while (getline(&line, &room, table) > 0) {
        char *rest = NULL;
        char *name = strtok_r(line, " \n", &rest);
        size_t len = name == NULL ? 0 : strlen(name);
        bool weights = len > 8 && strcmp(name + len - 8, "_param_0") == 0;
        for (uint32_t i = 0; name != NULL && i < g.num_layers; i++) {
            const net_layer *layer = &g.layer[i];
            if (strlen(layer->name) != len - (weights ? 8 : 0) ||
                strncmp(layer->name, name, strlen(layer->name)) != 0) {
                continue;
            }
            const net_tensor *scale = net_layer_tensor(layer, weights ? NET_ROLE_WEIGHT_SCALE : NET_ROLE_BOTTOM_SCALE);
            assert_non_null(scale);
            for (uint32_t k = 0; k < scale->count; k++) {
                const char *word = strtok_r(NULL, " \n", &rest);
                assert_non_null(word);
                /* the model stores the table's six decimals */
                assert_float_equal(scale->f32[k], strtof(word, NULL), 1e-6f * scale->f32[k]);
                compared++;
            }
        }
    }
    free(line);
    fclose(table);
    net_graph_free(&g);
    assert_true(compared > 26 * 16);
    printf("squeezenet: %u scales as in its table\n", compared);
}

/* Every layer gets its shapes, and they are those that the file notes. Only the number of detections depends on the
 * data. */
static void plan_topology(net_graph *g, uint32_t *same) {
    net_error err = {""};
    assert_int_equal(net_graph_set_input(g, 320, 320, 3, &err), NET_OK); /* four files leave it open */
    if (net_graph_plan(g, &err) != NET_OK) {
        fail_msg("%s", err.text);
    }
    for (uint32_t i = 0; i < g->num_layers; i++) {
        const net_layer *layer = &g->layer[i];
        for (uint32_t k = 0; k < layer->num_out; k++) {
            const net_shape *s = &g->blob[layer->out[k]].shape;
            net_hint h;
            if (!net_layer_hint(layer, k, &h) || h.dims == 0 || strstr(layer->type, "DetectionOutput") != NULL) {
                continue;
            }
            bool fits =
                s->dims == h.dims && s->w == h.w && (s->dims < 2 || s->h == h.h) && (s->dims < 3 || s->c == h.c);
            if (!fits) {
                fail_msg("%s: layer '%s' of type '%s', output %u: %ux%ux%u (c, h, w), noted %ux%ux%u", g->name,
                         layer->name, layer->type, k, s->c, s->h, s->w, h.c, h.h, h.w);
            }
            (*same)++;
        }
    }
}

static void test_topologies(void **state) {
    (void)state;
    char folder[512];
    if (!data_path(folder, sizeof folder, "param")) {
        return;
    }
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    uint32_t files = 0;
    uint32_t same = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t len = strlen(entry->d_name);
        if (len < 6 || strcmp(entry->d_name + len - 6, ".param") != 0) {
            continue;
        }
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        size_t bytes = 0;
        char *text = slurp(path, &bytes);
        net_graph g;
        net_error err = {""};
        if (net_graph_parse_param(&g, text, bytes, entry->d_name, &err) != NET_OK) {
            fail_msg("%s", err.text);
        }
        plan_topology(&g, &same);
        net_graph_free(&g);
        free(text);
        files++;
    }
    closedir(dir);
    assert_true(files > 0);
    assert_true(files < 40 || same > 3500);
    printf("%u topologies read and planned, %u shapes as their files note them\n", files, same);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_squeezenet),
        cmocka_unit_test(test_squeezenet_scales),
        cmocka_unit_test(test_topologies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
