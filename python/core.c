#include "tandem_py.h"
PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    static struct PyModuleDef d = {PyModuleDef_HEAD_INIT, .m_name = "_core"};
    return PyModuleDef_Init(&d);
}
