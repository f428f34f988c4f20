// The plans of recent calls, found by value: arguments, shapes and dtypes. A call on small arrays costs more in
// checking its arguments than in products, so the second one with the same arguments goes from its arrays straight to
// the core.

#include "bindings/conv_calls.hpp"

#include <nanobind/stl/vector.h>

#include <memory>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/immutable.hpp"
#include "bindings/trace.hpp"
#include "conv/conv.hpp"

namespace nb = nanobind;

namespace cenote {

namespace {

// A call that was checked, and all of it but the addresses and strides of its arrays.
struct Known {
    nb::object given, dtype, out_shape;
    std::vector<int64_t> data, filters;  // shapes
    bool first, with_bias;
    ConvProblem request;
};

bool has_shape(const ArrayView& a, const std::vector<int64_t>& shape) {
    if (static_cast<size_t>(a.ndim) != shape.size()) return false;
    for (int i = 0; i < a.ndim; ++i)
        if (a.shape[i] != shape[static_cast<size_t>(i)]) return false;
    return true;
}

// (*batch, *spatial, C) or (*batch, C, *spatial), with one batch axis or none, as (batch, *spatial, C).
void lay_data(ConvArray& to, const ArrayView& a, int rank, bool first) {
    const int batch = a.ndim - rank - 1;
    to.data = a.data;
    to.stride[0] = batch ? a.strides[0] : 0;
    for (int q = 0; q < rank; ++q) to.stride[q + 1] = a.strides[batch + q + (first ? 1 : 0)];
    to.stride[rank + 1] = a.strides[first ? batch : batch + rank];
}

// (*k, C, O) or (O, C, *k) as (*k, C, O).
void lay_filters(ConvArray& to, const ArrayView& w, int rank, bool first) {
    to.data = w.data;
    for (int q = 0; q < rank; ++q) to.stride[q] = w.strides[first ? q + 2 : q];
    to.stride[rank] = w.strides[first ? 1 : rank];
    to.stride[rank + 1] = w.strides[first ? 0 : rank + 1];
}

class ConvCallCache {
 public:
    // The call has been made and was right. `core` are the axes as _core.convolve takes them.
    void insert(nb::handle x, nb::handle w, nb::handle bias, nb::object given,
                const std::vector<std::vector<int64_t>>& core, int64_t groups, bool first, int form, int type,
                nb::object out_shape) {
        ArrayView data, filters, offset;
        if (!view_array(x, data) || !view_array(w, filters) || data.dtype != filters.dtype ||
            !is_immutable(given.ptr()))
            return;
        if (!bias.is_none() && (!view_array(bias, offset) || offset.dtype != data.dtype)) return;
        const int rank = static_cast<int>(core.size()), batch = data.ndim - rank - 1;
        if (batch < 0 || batch > 1 || rank + 2 > kMaxDims || filters.ndim != rank + 2) return;
        auto known = std::make_shared<Known>();
        known->given = std::move(given);
        known->dtype = nb::borrow(data.dtype);
        known->out_shape = std::move(out_shape);
        known->data.assign(data.shape, data.shape + data.ndim);
        known->filters.assign(filters.shape, filters.shape + filters.ndim);
        known->first = first;
        known->with_bias = !bias.is_none();
        ConvProblem& r = known->request;
        r.form = static_cast<Form>(form);
        r.type = static_cast<DType>(type);
        r.rank = rank;
        r.batch = batch ? data.shape[0] : 1;
        r.groups = groups;
        r.in = filters.shape[first ? 1 : rank];
        r.out = filters.shape[first ? 0 : rank + 1] / groups;
        for (int q = 0; q < rank; ++q) {
            const std::vector<int64_t>& a = core[static_cast<size_t>(q)];
            r.axis[q] = {a.at(0), a.at(1), a.at(2), a.at(3), a.at(4), a.at(5)};
        }
        std::shared_ptr<const Known> oldest;  // let go without the lock: it may be the last to know an object
        const nb::ft_lock_guard lock(lock_);
        if (known_.size() == kMost) {
            oldest = std::move(known_.front());
            known_.erase(known_.begin());
        }
        known_.push_back(std::move(known));
    }

    // The result, or None if there was no such call.
    nb::object lookup(nb::handle x, nb::handle w, nb::handle bias, nb::handle given) const {
        ArrayView data, filters, offset;
        if (!view_array(x, data) || !view_array(w, filters) || data.dtype != filters.dtype || !data.aligned ||
            !filters.aligned)
            return nb::none();
        const bool with_bias = !bias.is_none();
        if (with_bias && (!view_array(bias, offset) || offset.dtype != data.dtype || !offset.aligned))
            return nb::none();
        const std::shared_ptr<const Known> known = find(data, filters, with_bias, given);
        if (!known) return nb::none();
        ConvProblem r = known->request;
        const bool back = r.form == Form::input;
        if (with_bias) {
            const int64_t channels = r.groups * (back ? r.in : r.out);
            if (offset.ndim != 1 || offset.shape[0] != channels) return nb::none();
            r.bias = offset.data;
            r.bias_stride = offset.strides[0];
        }
        nb::object out = new_array(known->out_shape, known->dtype);
        ArrayView result;
        if (!view_array(out, result)) return nb::none();
        lay_data(back ? r.y : r.x, data, r.rank, known->first);
        lay_data(back ? r.x : r.y, result, r.rank, known->first);
        lay_filters(r.w, filters, r.rank, known->first);
        call(
            "conv", {data.shape, static_cast<size_t>(data.ndim)}, [&] { return conv_method_of(r); },
            [&] { convolve(r); });
        return out;
    }

 private:
    static constexpr size_t kMost = 16;

    std::shared_ptr<const Known> find(const ArrayView& x, const ArrayView& w, bool with_bias, nb::handle given) const {
        const nb::ft_lock_guard lock(lock_);
        for (size_t i = known_.size(); i-- > 0;) {
            const Known& k = *known_[i];
            if (k.dtype.ptr() == x.dtype && k.with_bias == with_bias && has_shape(x, k.data) &&
                has_shape(w, k.filters) && is_same(k.given.ptr(), given.ptr()))
                return known_[i];
        }
        return nullptr;
    }

    mutable nb::ft_mutex lock_;  // without a GIL; with one it is none
    std::vector<std::shared_ptr<const Known>> known_;
};

}  // namespace

void define_conv_calls(nb::module_& m) {
    nb::class_<ConvCallCache>(m, "ConvCallCache")
        .def(nb::init<>())
        .def("insert", &ConvCallCache::insert, nb::arg("x"), nb::arg("w"), nb::arg("bias").none(), nb::arg("given"),
             nb::arg("core"), nb::arg("groups"), nb::arg("first"), nb::arg("form"), nb::arg("type"),
             nb::arg("out_shape"))
        .def("lookup", &ConvCallCache::lookup, nb::arg("x").none(), nb::arg("w").none(), nb::arg("bias").none(),
             nb::arg("given"));
}

}  // namespace cenote
