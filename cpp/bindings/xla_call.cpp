// The handler of XLA's custom call "cenote_op": evaluates an Op inside a compiled program, on XLA's buffers.
//
// The only attribute of a call is its Op as text (ops/serialize.py). The first call of an Op runs in Python, on NumPy
// views of the buffers. If a single call of the core computes the Op, Python registers that call under the text, and
// later calls run here, without the GIL.

#include "bindings/xla_call.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/plans.hpp"
#include "bindings/trace.hpp"
#include "bindings/unlocked.hpp"
#include "bindings/xla_ffi.hpp"
#include "pool/gather_scatter.hpp"
#include "runtime/buffer_cache.hpp"
#include "runtime/float_mode.hpp"

namespace nb = nanobind;

namespace cenote {

namespace {

// ------------------------------------------------------------------------------------------------------ arrays

xla::Type type_of(DType type) {
    static constexpr xla::Type kTypes[] = {xla::Type::boolean, xla::Type::i8,  xla::Type::u8,   xla::Type::i16,
                                           xla::Type::u16,     xla::Type::i32, xla::Type::u32,  xla::Type::i64,
                                           xla::Type::u64,     xla::Type::f16, xla::Type::bf16, xla::Type::f32,
                                           xla::Type::f64,     xla::Type::c64, xla::Type::c128};
    return kTypes[static_cast<int>(type)];
}

// A buffer of XLA's, with the interface of Buffer.
class Memory {
 public:
    explicit Memory(const xla::Array& of) : of_(&of), bytes_(itemsize_of(of.type)) {
        for (int i = ndim() - 1; i >= 0; --i) {
            if (i < kMaxDims) stride_[i] = bytes_;
            bytes_ *= shape(i);
        }
    }

    void* data() const { return of_->data; }
    int ndim() const { return static_cast<int>(of_->ndim); }
    int64_t shape(int i) const { return of_->shape[i]; }
    std::vector<Py_ssize_t> shape() const { return {of_->shape, of_->shape + of_->ndim}; }
    int64_t stride(int i) const { return stride_[i]; }
    int64_t itemsize() const { return itemsize_of(of_->type); }
    int64_t bytes() const { return bytes_; }

 private:
    const xla::Array* of_;
    int64_t bytes_;
    int64_t stride_[kMaxDims];
};

struct Spec {
    xla::Type type;
    std::vector<int64_t> shape;

    bool is_of(const xla::Array& array) const {
        return array.type == type && std::span(array.shape, static_cast<size_t>(array.ndim)).size() == shape.size() &&
               std::equal(shape.begin(), shape.end(), array.shape);
    }
};

bool are_of(const std::vector<Spec>& specs, const xla::Arrays& arrays) {
    if (specs.size() != static_cast<size_t>(arrays.count)) return false;
    for (size_t i = 0; i < specs.size(); ++i)
        if (!specs[i].is_of(*arrays.items[i])) return false;
    return true;
}

std::vector<int64_t> result_shape(const Axes& axes) {
    std::vector<int64_t> shape = axes.shape;
    for (size_t i = 0; i < axes.axis.size(); ++i) shape.at(static_cast<size_t>(axes.position[i])) = axes.axis[i].o;
    return shape;
}

// ------------------------------------------------------------------------------------- calls without Python

// An Op that a single call of the core computes.
class CoreCall {
 public:
    virtual ~CoreCall() = default;
    virtual void run(const xla::Arrays& operands, const xla::Arrays& results) const = 0;

    bool accepts(const xla::Call& call) const {
        return are_of(operands, call.operands) && are_of(results, call.results);
    }

    std::vector<Spec> operands, results;
};

class PoolCall : public CoreCall {
 public:
    PoolCall(const PoolPlan& plan, std::optional<DType> argmax) : axes_(*plan.axes), operation_(plan.operation) {
        const std::vector<int64_t> shape = result_shape(axes_);
        operands = {{type_of(operation_.in), axes_.shape}};
        results = {{type_of(operation_.out), shape}};
        if (argmax) results.push_back({type_of(*argmax), shape});
    }

    void run(const xla::Arrays& in, const xla::Arrays& out) const override {
        PoolProblem r;
        static_cast<Operation&>(r) = operation_;
        const Memory x(*in.items[0]), y(*out.items[0]);
        const int64_t size = set_geometry(r, axes_, x);
        std::vector<Memory> argmax;
        if (out.count > 1) argmax.emplace_back(*out.items[1]);
        set_results(r, size, x.itemsize(), y, argmax.empty() ? nullptr : argmax.data());
        call<FloatMode>("pool", x.shape(), [&] { return algorithm_of(r); }, [&] { cenote::run(r); });
    }

 private:
    Axes axes_;
    Operation operation_;
};

// A gather or a scatter-add by argmax offsets.
class MoveCall : public CoreCall {
 public:
    MoveCall(const Axes& axes, DType type, DType offsets, bool backwards) : axes_(axes), backwards_(backwards) {
        const Spec elements{type_of(type), axes_.shape};
        const Spec values{elements.type, result_shape(axes_)};
        operands = {backwards ? values : elements, {type_of(offsets), values.shape}};
        results = {backwards ? elements : values};
    }

    void run(const xla::Arrays& in, const xla::Arrays& out) const override {
        PoolProblem r;
        static_cast<Operation&>(r) = Operation{};
        const Memory first(*in.items[0]), offsets(*in.items[1]), result(*out.items[0]);
        const Memory &x = backwards_ ? result : first, &values = backwards_ ? first : result;
        set_moves(r, set_geometry(r, axes_, x), x, values, offsets);
        if (backwards_)
            call<FloatMode>(
                "backward", x.shape(), [&] { return scatter_algorithm(r, x.bytes()); }, [&] { scatter(r, x.bytes()); });
        else
            call<FloatMode>("forward", x.shape(), [] { return "gather"; }, [&] { gather(r); });
    }

 private:
    Axes axes_;
    bool backwards_;
};

// The registered calls, by the text of their Op. Bounded in bytes: a full cache is emptied, and the next calls run in
// Python and register themselves again.
class CoreCalls {
 public:
    void insert(std::string text, std::shared_ptr<const CoreCall> call) {
        size_t bytes = kEntry + text.size();
        for (const Spec& spec : call->results)
            for (const int64_t n : spec.shape) bytes += static_cast<size_t>(n) * sizeof(int64_t);  // bins, perhaps
        const std::unique_lock lock(mutex_);
        if (bytes_ + bytes > kMost) forget();
        if (bytes > kMost || !calls_.emplace(std::move(text), std::move(call)).second) return;
        bytes_ += bytes;
    }

    std::shared_ptr<const CoreCall> find(std::string_view text) const {
        const std::shared_lock lock(mutex_);
        const auto found = calls_.find(text);
        return found == calls_.end() ? nullptr : found->second;
    }

    void clear() {
        const std::unique_lock lock(mutex_);
        forget();
    }

 private:
    static constexpr size_t kEntry = 1024, kMost = size_t{16} << 20;
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    void forget() {
        calls_.clear();
        bytes_ = 0;
    }

    mutable std::shared_mutex mutex_;
    std::unordered_map<std::string, std::shared_ptr<const CoreCall>, Hash, std::equal_to<>> calls_;
    size_t bytes_ = 0;
};

CoreCalls& core_calls() {
    static auto* calls = new CoreCalls;  // threads of XLA's may come after the end of main
    return *calls;
}

// ----------------------------------------------------------------------------------------- calls of Python

constexpr int kTypes = 19;
constexpr int kInterrupted = 0;  // instead of an error code: done, and the user has pressed Ctrl-C
PyObject* evaluate = nullptr;    // evaluate(text, operands, results) → None, or an error code and a message
PyObject* dtypes[kTypes] = {};   // NumPy's, by xla::Type

// A tuple of NumPy views of buffers.
nb::object views(const xla::Arrays& arrays, bool writable) {
    nb::object out = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(arrays.count)));
    if (!out) throw nb::python_error();
    for (int64_t i = 0; i < arrays.count; ++i) {
        const xla::Array& array = *arrays.items[i];
        const int type = static_cast<int>(array.type);
        if (type < 0 || type >= kTypes || !dtypes[type])
            throw std::invalid_argument("a dtype that cenote does not know");
        nb::object view = new_view(array.data, array.ndim, array.shape, dtypes[type], writable);
        if (PyTuple_SetItem(out.ptr(), static_cast<Py_ssize_t>(i), view.release().ptr())) throw nb::python_error();
    }
    return out;
}

struct Failure {
    xla::ErrorCode code;
    std::string message;
};

// Needs the GIL.
bool run_in_python(const xla::Call& call, std::string_view text, Failure& failure) {
    const nb::str op(text.data(), text.size());
    const nb::object said = nb::borrow(evaluate)(op, views(call.operands, false), views(call.results, true));
    if (said.is_none()) return true;
    const int code = nb::cast<int>(said[0]);
    if (code == kInterrupted) {
        PyErr_SetInterrupt();  // KeyboardInterrupt is raised when Python continues, after XLA
        return true;
    }
    failure = {static_cast<xla::ErrorCode>(code), nb::cast<std::string>(said[1])};
    return false;
}

bool run_locked(const xla::Call& call, std::string_view text, Failure& failure) {
    const Locked locked;
    if (!locked) {
        failure = {xla::ErrorCode::cancelled, "cenote: Python has ended"};
        return false;
    }
    const FloatMode mode;  // NumPy computes too, and XLA's threads flush subnormals to zero
    try {
        return run_in_python(call, text, failure);
    } catch (nb::python_error& error) {
        if (error.matches(PyExc_KeyboardInterrupt)) {  // before evaluate() could defer it
            failure = {xla::ErrorCode::cancelled, "cenote: interrupted"};
            PyErr_SetInterrupt();
        } else {
            failure = {xla::ErrorCode::internal, error.what()};
        }
    } catch (const std::exception& error) {
        failure = {xla::ErrorCode::internal, error.what()};
    }
    return false;
}

// ------------------------------------------------------------------------------------------------- the handler

// Whether the structs have all fields that xla_ffi.hpp declares.
bool is_whole(const xla::Call& call) {
    return call.operands.header.size >= sizeof(xla::Arrays) && call.results.header.size >= sizeof(xla::Arrays) &&
           call.attributes.header.size >= sizeof(xla::Attributes);
}

bool are_arrays(const xla::Arrays& arrays) {
    for (int64_t i = 0; i < arrays.count; ++i) {
        if (arrays.kinds[i] != xla::ItemKind::array) return false;
        const xla::Array& array = *arrays.items[i];
        if (array.header.size < sizeof(xla::Array) || array.ndim < 0 || array.ndim > kMaxDims) return false;
    }
    return true;
}

const xla::Text* op_of(const xla::Attributes& attributes) {
    for (int64_t i = 0; i < attributes.count; ++i)
        if (attributes.kinds[i] == xla::AttributeKind::text &&
            std::string_view(attributes.names[i]->data, attributes.names[i]->length) == "op")
            return static_cast<const xla::Text*>(attributes.items[i]);
    return nullptr;
}

xla::Error* error_of(const xla::Call& call, const Failure& failure) {
    xla::NewError error{{xla::kSizeOfNewError, nullptr}, failure.message.c_str(), failure.code};
    return call.api->new_error(&error);
}

// XLA allocates results anew in every call of a program. Large ones are fresh pages of 4 KiB, and faulting them in one
// by one takes longer than the computation (max 2×2 of 100 MB, value and gradient, two busy cores: 100 ms instead of
// 30).
void prepare(const xla::Arrays& results) {
    for (int64_t i = 0; i < results.count; ++i) {
        const Memory result(*results.items[i]);
        const auto bytes = static_cast<size_t>(result.bytes());
        if (bytes >= kLargeResult) use_huge_pages(result.data(), bytes);
    }
}

xla::Error* compute(const xla::Call& call) {
    const xla::Text* op = is_whole(call) ? op_of(call.attributes) : nullptr;
    if (!op || !are_arrays(call.operands) || !are_arrays(call.results))
        return error_of(call, {xla::ErrorCode::internal, "cenote: a call that this version of cenote does not know"});
    const std::string_view text(op->data, op->length);
    prepare(call.results);
    Failure failure;
    try {
        const std::shared_ptr<const CoreCall> known = core_calls().find(text);
        if (known && known->accepts(call)) {
            known->run(call.operands, call.results);
            return nullptr;
        }
        if (run_locked(call, text, failure)) return nullptr;
    } catch (const std::bad_alloc&) {
        failure = {xla::ErrorCode::resource_exhausted, "cenote: not enough memory"};
    } catch (const std::exception& error) {
        failure = {xla::ErrorCode::internal, error.what()};
    }
    return error_of(call, failure);
}

// At registration XLA asks for the handler's version. If XLA's structs are shorter than those in xla_ffi.hpp, which
// would take another major version, the answer is a version that it refuses.
void describe(const xla::Call& call, xla::Metadata& answer) {
    if (answer.size < xla::kSizeOfMetadata) return;
    const bool known =
        call.header.size >= sizeof(xla::Call) && (!call.api || call.api->header.size >= sizeof(xla::Api));
    answer.version.major = known ? xla::kMajor : -1;
    answer.version.minor = xla::kMinor;
    answer.traits = 0;
}

xla::Error* cenote_op(xla::Call* call) noexcept {
    for (xla::Extension* e = call->header.extensions; e; e = e->next) {
        if (e->type == xla::ExtensionType::metadata) {
            describe(*call, *reinterpret_cast<xla::MetadataExtension*>(e)->metadata);
            return nullptr;
        }
    }
    return compute(*call);
}

}  // namespace

void define_xla_call(nb::module_& m) {
    m.def("xla_handler", [] { return nb::capsule(reinterpret_cast<const void*>(&cenote_op)); });
    m.def(
        "xla_start",
        [](nb::callable function, nb::dict of_types) {
            for (auto [number, dtype] : of_types) {
                const int type = nb::cast<int>(number);
                if (type < 0 || type >= kTypes) throw nb::value_error("no such type");
                if (!dtypes[type]) dtypes[type] = dtype.inc_ref().ptr();
            }
            if (!evaluate) evaluate = function.inc_ref().ptr();  // for good: calls may come until the process ends
        },
        nb::arg("evaluate"), nb::arg("dtypes"));
    m.def(
        "xla_insert_pool",
        [](std::string text, const PoolPlan& plan, std::optional<DType> argmax) {
            core_calls().insert(std::move(text), std::make_shared<PoolCall>(plan, argmax));
        },
        nb::arg("text"), nb::arg("plan"), nb::arg("argmax").none());
    m.def(
        "xla_insert_move",
        [](std::string text, const Axes& axes, DType type, DType offsets, bool backwards) {
            core_calls().insert(std::move(text), std::make_shared<MoveCall>(axes, type, offsets, backwards));
        },
        nb::arg("text"), nb::arg("axes"), nb::arg("type"), nb::arg("offsets"), nb::arg("backwards"));
    m.def("xla_clear", [] { core_calls().clear(); });
}

}  // namespace cenote
