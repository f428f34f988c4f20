// A cache of recent calls, keyed by arguments, shapes and dtypes. On small arrays, checking the arguments costs more
// than the convolution, so a repeated call goes from its arrays straight to the core.

#include "bindings/conv_calls.hpp"

#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/buffer.hpp"
#include "bindings/immutable.hpp"
#include "bindings/trace.hpp"
#include "conv/conv.hpp"

namespace nb = nanobind;

namespace cenote {

namespace {

// A validated call: everything except the addresses and strides of its arrays.
struct CachedCall {
    nb::object given, dtype, out_shape;
    std::vector<int64_t> data, filters;  // shapes
    bool first, with_bias;
    ConvProblem problem;
};

bool has_shape(const ArrayView& a, const std::vector<int64_t>& shape) {
    if (static_cast<size_t>(a.ndim) != shape.size()) return false;
    for (int i = 0; i < a.ndim; ++i)
        if (a.shape[i] != shape[static_cast<size_t>(i)]) return false;
    return true;
}

// (*batch, *spatial, C) or (*batch, C, *spatial), with one batch axis or none, as (batch, *spatial, C).
void set_data(ConvArray& to, const ArrayView& a, int rank, bool first) {
    const int batch = a.ndim - rank - 1;
    to.data = a.data;
    to.stride[0] = batch ? a.strides[0] : 0;
    for (int q = 0; q < rank; ++q) to.stride[q + 1] = a.strides[batch + q + (first ? 1 : 0)];
    to.stride[rank + 1] = a.strides[first ? batch : batch + rank];
}

// (*k, C, O) or (O, C, *k) as (*k, C, O).
void set_filters(ConvArray& to, const ArrayView& w, int rank, bool first) {
    to.data = w.data;
    for (int q = 0; q < rank; ++q) to.stride[q] = w.strides[first ? q + 2 : q];
    to.stride[rank] = w.strides[first ? 1 : rank];
    to.stride[rank + 1] = w.strides[first ? 0 : rank + 1];
}

ConvArray conv_array(const Buffer& b, const std::vector<int64_t>& shape, int64_t width) {
    ConvArray a{static_cast<char*>(b.data()), {}};
    if (b.ndim() != static_cast<int>(shape.size()) || b.itemsize() != width)
        throw std::invalid_argument("an array does not match the geometry");
    for (int i = 0; i < b.ndim(); ++i) {
        if (b.shape(i) != shape[i]) throw std::invalid_argument("an array does not match the geometry");
        a.stride[i] = b.stride(i);
    }
    return a;
}

// Bounded so that sums and products of sizes stay well within 64 bits.
int64_t checked_size(int64_t value, int64_t lowest) {
    if (value < lowest || value > int64_t{1} << 46) throw std::invalid_argument("a size is out of range");
    return value;
}

void conv(Form form, nb::handle x, nb::handle w, nb::handle y, nb::handle bias, nb::handle axes, int64_t groups,
          DType type) {
    ConvProblem r{};
    if (type == DType::boolean || groups < 1) throw std::invalid_argument("no such convolution");
    r.form = form;
    r.type = type;
    const Buffer bx(x, form == Form::input), bw(w, form == Form::filter), by(y, form == Form::conv);
    r.groups = groups;
    r.rank = bw.ndim() - 2;
    if (r.rank < 0 || bw.ndim() > kMaxDims || bx.ndim() != bw.ndim())
        throw std::invalid_argument("an array does not match the geometry");
    r.batch = bx.shape(0);
    r.in = bw.shape(r.rank);
    r.out = bw.shape(r.rank + 1) / groups;
    std::vector<int64_t> of_x{r.batch}, of_y{r.batch}, of_w;
    int q = 0;
    for (nb::handle item : axes) {
        if (q == r.rank) throw std::invalid_argument("too many axes");
        ConvAxis& a = r.axis[q++];
        a.n = checked_size(nb::cast<int64_t>(item[0]), 0);
        a.o = checked_size(nb::cast<int64_t>(item[1]), 0);
        a.k = checked_size(nb::cast<int64_t>(item[2]), 0);
        a.s = checked_size(nb::cast<int64_t>(item[3]), 1);
        a.d = checked_size(nb::cast<int64_t>(item[4]), 1);
        a.low = checked_size(nb::cast<int64_t>(item[5]), -(int64_t{1} << 46));
        int64_t product;
        if (__builtin_mul_overflow(a.o, a.s, &product) || __builtin_mul_overflow(a.k, a.d, &product) ||
            a.o * a.s > int64_t{1} << 61 || a.k * a.d > int64_t{1} << 61)
            throw std::invalid_argument("a size is out of range");
        of_x.push_back(a.n);
        of_y.push_back(a.o);
        of_w.push_back(a.k);
    }
    if (q != r.rank) throw std::invalid_argument("too few axes");
    of_x.push_back(groups * r.in);
    of_y.push_back(groups * r.out);
    of_w.push_back(r.in);
    of_w.push_back(groups * r.out);
    const int64_t width = size_of(r.type);
    r.x = conv_array(bx, of_x, width);
    r.y = conv_array(by, of_y, width);
    r.w = conv_array(bw, of_w, width);
    const auto run = [&] { call("conv", bx.shape(), [&] { return conv_method_of(r); }, [&] { convolve(r); }); };
    if (bias.is_none()) return run();
    const Buffer bb(bias, false);
    r.bias_stride = conv_array(bb, {form == Form::input ? of_x.back() : of_y.back()}, width).stride[0];
    r.bias = static_cast<const char*>(bb.data());
    run();
}

class ConvCallCache {
 public:
    // After a call has succeeded. `core` are the axes in the form that _core.convolve takes.
    void insert(nb::handle x, nb::handle w, nb::handle bias, nb::object given,
                const std::vector<std::vector<int64_t>>& core, int64_t groups, bool first, Form form, DType type,
                nb::object out_shape) {
        ArrayView data, filters, offset;
        if (!view_array(x, data) || !view_array(w, filters) || data.dtype != filters.dtype ||
            !is_immutable(given.ptr()))
            return;
        if (!bias.is_none() && (!view_array(bias, offset) || offset.dtype != data.dtype)) return;
        const int rank = static_cast<int>(core.size()), batch = data.ndim - rank - 1;
        if (batch < 0 || batch > 1 || rank + 2 > kMaxDims || filters.ndim != rank + 2) return;
        auto cached = std::make_shared<CachedCall>();
        cached->given = std::move(given);
        cached->dtype = nb::borrow(data.dtype);
        cached->out_shape = std::move(out_shape);
        cached->data.assign(data.shape, data.shape + data.ndim);
        cached->filters.assign(filters.shape, filters.shape + filters.ndim);
        cached->first = first;
        cached->with_bias = !bias.is_none();
        ConvProblem& r = cached->problem;
        r.form = form;
        r.type = type;
        r.rank = rank;
        r.batch = batch ? data.shape[0] : 1;
        r.groups = groups;
        r.in = filters.shape[first ? 1 : rank];
        r.out = filters.shape[first ? 0 : rank + 1] / groups;
        for (int q = 0; q < rank; ++q) {
            const std::vector<int64_t>& a = core[static_cast<size_t>(q)];
            r.axis[q] = {a.at(0), a.at(1), a.at(2), a.at(3), a.at(4), a.at(5)};
        }
        std::shared_ptr<const CachedCall> oldest;  // destroyed after the lock is released: that may run other code
        const nb::ft_lock_guard lock(lock_);
        if (calls_.size() == kCapacity) {
            oldest = std::move(calls_.front());
            calls_.erase(calls_.begin());
        }
        calls_.push_back(std::move(cached));
    }

    void clear() {
        std::vector<std::shared_ptr<const CachedCall>> gone;  // destroyed after the lock is released
        const nb::ft_lock_guard lock(lock_);
        std::swap(gone, calls_);
    }

    // The result, or None if the call is not cached.
    nb::object lookup(nb::handle x, nb::handle w, nb::handle bias, nb::handle given) const {
        ArrayView data, filters, offset;
        if (!view_array(x, data) || !view_array(w, filters) || data.dtype != filters.dtype || !data.aligned ||
            !filters.aligned)
            return nb::none();
        const bool with_bias = !bias.is_none();
        if (with_bias && (!view_array(bias, offset) || offset.dtype != data.dtype || !offset.aligned))
            return nb::none();
        const std::shared_ptr<const CachedCall> cached = find(data, filters, with_bias, given);
        if (!cached) return nb::none();
        ConvProblem r = cached->problem;
        const bool back = r.form == Form::input;
        if (with_bias) {
            const int64_t channels = r.groups * (back ? r.in : r.out);
            if (offset.ndim != 1 || offset.shape[0] != channels) return nb::none();
            r.bias = offset.data;
            r.bias_stride = offset.strides[0];
        }
        nb::object out = new_array(cached->out_shape, cached->dtype);
        ArrayView result;
        if (!view_array(out, result)) return nb::none();
        set_data(back ? r.y : r.x, data, r.rank, cached->first);
        set_data(back ? r.x : r.y, result, r.rank, cached->first);
        set_filters(r.w, filters, r.rank, cached->first);
        call(
            "conv", {data.shape, static_cast<size_t>(data.ndim)}, [&] { return conv_method_of(r); },
            [&] { convolve(r); });
        return out;
    }

 private:
    static constexpr size_t kCapacity = 16;

    std::shared_ptr<const CachedCall> find(const ArrayView& x, const ArrayView& w, bool with_bias,
                                           nb::handle given) const {
        const nb::ft_lock_guard lock(lock_);
        for (size_t i = calls_.size(); i-- > 0;) {
            const CachedCall& k = *calls_[i];
            if (k.dtype.ptr() == x.dtype && k.with_bias == with_bias && has_shape(x, k.data) &&
                has_shape(w, k.filters) && is_same(k.given.ptr(), given.ptr()))
                return calls_[i];
        }
        return nullptr;
    }

    mutable nb::ft_mutex lock_;  // a no-op in builds with a GIL
    std::vector<std::shared_ptr<const CachedCall>> calls_;
};

}  // namespace

void define_conv_calls(nb::module_& m) {
    nb::class_<ConvCallCache>(m, "ConvCallCache")
        .def(nb::init<>())
        .def("insert", &ConvCallCache::insert, nb::arg("x"), nb::arg("w"), nb::arg("bias").none(), nb::arg("given"),
             nb::arg("core"), nb::arg("groups"), nb::arg("first"), nb::arg("form"), nb::arg("type"),
             nb::arg("out_shape"))
        .def("lookup", &ConvCallCache::lookup, nb::arg("x").none(), nb::arg("w").none(), nb::arg("bias").none(),
             nb::arg("given"))
        .def("clear", &ConvCallCache::clear);
    m.def("convolve", &conv, nb::arg("form"), nb::arg("x"), nb::arg("w"), nb::arg("y"), nb::arg("bias").none(),
          nb::arg("axes"), nb::arg("groups"), nb::arg("type"));
}

}  // namespace cenote
