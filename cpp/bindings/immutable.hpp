// Arguments as cache keys: immutable Python objects, compared without running user code.
#pragma once

#include <Python.h>

namespace cenote {

inline bool is_immutable(PyObject* o) {
    if (PyTuple_CheckExact(o)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(o); ++i)
            if (!is_immutable(PyTuple_GetItem(o, i))) return false;
        return true;
    }
    if (PyType_Check(o)) return true;  // e.g. np.uint8: compared by identity
    return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o);
}

// Equal, and of the same type: 2 is not 2.0, and not True.
inline bool is_same(PyObject* a, PyObject* b) {
    if (a == b) return true;
    if (Py_TYPE(a) != Py_TYPE(b)) return false;
    if (PyTuple_CheckExact(a)) {
        const Py_ssize_t n = PyTuple_Size(a);
        if (PyTuple_Size(b) != n) return false;
        for (Py_ssize_t i = 0; i < n; ++i)
            if (!is_same(PyTuple_GetItem(a, i), PyTuple_GetItem(b, i))) return false;
        return true;
    }
    if (!PyLong_CheckExact(a) && !PyFloat_CheckExact(a) && !PyUnicode_CheckExact(a)) return false;
    return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

}  // namespace cenote
