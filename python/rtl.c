/* rtl.c - Verilated designs in the folder of the extension, one shared object each: _rtl_n8_fast.so. One is loaded when
 * a device needs it, with its own symbols. */
#include "core.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The folder of the extension as a path; NULL with an exception. */
static PyObject *folder_of(PyObject *module) {
    PyObject *file = PyModule_GetFilenameObject(module);
    if (file == NULL) {
        return NULL;
    }
    const Py_ssize_t slash = PyUnicode_FindChar(file, '/', 0, PyUnicode_GET_LENGTH(file), -1);
    PyObject *folder = slash < 0 ? PyUnicode_FromString(".") : PyUnicode_Substring(file, 0, slash);
    PyObject *bytes = folder != NULL ? PyUnicode_EncodeFSDefault(folder) : NULL;
    Py_XDECREF(folder);
    Py_DECREF(file);
    return bytes;
}

static const tb_shim *load(const core_state *state, const char *folder, uint32_t n, const char *build, bool must) {
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/_rtl_n%u_%s.so", folder, n, build) >= sizeof path) {
        PyErr_SetString(state->error, "the name of the package's folder is too long");
        return NULL;
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        if (must) {
            PyErr_Format(state->error, "%s: no RTL of mesh size %u, build %s: make python CFG=n%u KIND=%s", path, n,
                         build, n, build);
        }
        return NULL;
    }
    fclose(file);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = lib != NULL ? dlsym(lib, "tb_shim_get") : NULL;
    if (symbol == NULL) {
        PyErr_Format(state->error, "%s: cannot be loaded: %s", path, dlerror());
        return NULL;
    }
    const uint32_t *layout = (const uint32_t *)dlsym(lib, "tb_shim_layout");
    if (layout == NULL || *layout != TB_SHIM_LAYOUT) {
        PyErr_Format(state->error, "%s: made by another version of tandem: make python CFG=n%u KIND=%s", path, n,
                     build);
        dlclose(lib);
        return NULL;
    }
    const tb_shim *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    dlclose(lib); /* it stays loaded, and so does the result of `get` */
    return get();
}

const tb_shim *rtl_load(const core_state *state, PyObject *module, uint32_t n, const char *build, bool wave) {
    static const char *const traced[] = {"debug", "tap"};
    PyObject *folder = folder_of(module);
    if (folder == NULL) {
        return NULL;
    }
    const tb_shim *shim = NULL;
    const char *dir = PyBytes_AS_STRING(folder);
    for (size_t i = 0; build == NULL && wave && shim == NULL && PyErr_Occurred() == NULL && i < 2; i++) {
        shim = load(state, dir, n, traced[i], false);
    }
    if (shim == NULL && PyErr_Occurred() == NULL) {
        shim = load(state, dir, n, build != NULL ? build : wave ? "debug" : "fast", true);
    }
    Py_DECREF(folder);
    return shim;
}

static int add_build(PyObject *list, const char *name) {
    unsigned n = 0;
    char build[16];
    int end = 0;
    if (sscanf(name, "_rtl_n%u_%15[a-z].so%n", &n, build, &end) != 2 || end == 0 || name[end] != '\0') {
        return 0;
    }
    PyObject *row = Py_BuildValue("(Is)", n, build);
    const int rc = row == NULL ? -1 : PyList_Append(list, row);
    Py_XDECREF(row);
    return rc;
}

PyObject *rtl_builds(PyObject *module) {
    PyObject *list = PyList_New(0);
    PyObject *folder = list != NULL ? folder_of(module) : NULL;
    DIR *dir = folder != NULL ? opendir(PyBytes_AS_STRING(folder)) : NULL;
    int rc = folder == NULL ? -1 : 0;
    for (const struct dirent *e; rc == 0 && dir != NULL && (e = readdir(dir)) != NULL;) {
        rc = add_build(list, e->d_name);
    }
    if (dir != NULL) {
        closedir(dir);
    }
    Py_XDECREF(folder);
    if (rc != 0 || PyList_Sort(list) != 0) {
        Py_CLEAR(list);
    }
    return list;
}
