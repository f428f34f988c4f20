// The buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>

namespace cenote {

// An array's memory, exported for the duration of a call.
class Buffer {
 public:
    Buffer(nanobind::handle object, bool writable) {
        if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_STRIDES | PyBUF_WRITABLE : PyBUF_STRIDES))
            throw nanobind::python_error();
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { PyBuffer_Release(&view_); }

    void* data() const { return view_.buf; }
    int ndim() const { return view_.ndim; }
    int64_t shape(int i) const { return view_.shape[i]; }
    std::span<const Py_ssize_t> shape() const { return {view_.shape, static_cast<size_t>(view_.ndim)}; }
    int64_t stride(int i) const { return view_.strides[i]; }
    int64_t itemsize() const { return view_.itemsize; }
    int64_t bytes() const { return view_.len; }

 private:
    Py_buffer view_;
};

}  // namespace cenote
