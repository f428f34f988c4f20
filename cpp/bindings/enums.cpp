// The core's enums and limits, which Python imports instead of numbering them again. They are IntEnums: a plan's key in
// a cache hashes and compares them as ints.

#include "bindings/enums.hpp"

#include "conv/conv.hpp"
#include "core/geometry.hpp"

namespace nb = nanobind;

namespace cenote {

void define_enums(nb::module_& m) {
    m.attr("MAX_NDIM") = kMaxDims;
    nb::enum_<DType>(m, "DType", nb::is_arithmetic())
        .value("boolean", DType::boolean)
        .value("i8", DType::i8)
        .value("u8", DType::u8)
        .value("i16", DType::i16)
        .value("u16", DType::u16)
        .value("i32", DType::i32)
        .value("u32", DType::u32)
        .value("i64", DType::i64)
        .value("u64", DType::u64)
        .value("f16", DType::f16)
        .value("bf16", DType::bf16)
        .value("f32", DType::f32)
        .value("f64", DType::f64)
        .value("c64", DType::c64)
        .value("c128", DType::c128);
    nb::enum_<Reduce>(m, "Reduce", nb::is_arithmetic())
        .value("max", Reduce::max)
        .value("min", Reduce::min)
        .value("sum", Reduce::sum)
        .value("median", Reduce::median)
        .value("mode", Reduce::mode);
    nb::enum_<Prologue>(m, "Prologue", nb::is_arithmetic())
        .value("none", Prologue::none)
        .value("absolute", Prologue::absolute)
        .value("exponential", Prologue::exponential)
        .value("power", Prologue::power);
    nb::enum_<Epilogue>(m, "Epilogue", nb::is_arithmetic())
        .value("none", Epilogue::none)
        .value("sum", Epilogue::sum)
        .value("average", Epilogue::average)
        .value("logarithm", Epilogue::logarithm)
        .value("root", Epilogue::root);
    nb::enum_<Form>(m, "ConvForm", nb::is_arithmetic())
        .value("conv", Form::conv)
        .value("input", Form::input)
        .value("filter", Form::filter);
    nb::enum_<FftMode>(m, "FftMode", nb::is_arithmetic())
        .value("automatic", FftMode::automatic)
        .value("never", FftMode::never)
        .value("always", FftMode::always);
}

}  // namespace cenote
