// Rows from memory to the work dtype and back, for all other units of a level (simd/convert.inl).

#include "pool/units/unit.inl"

namespace cenote::CENOTE_LEVEL {

namespace {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

#include "simd/vector.inl"

#include "simd/convert.inl"

template <class T>
inline void load_any(DType from, T* out, const char* in, int64_t stride, int64_t n, bool swap) {
    switch (from) {
        case DType::boolean: return load_row_of<Bool>(out, in, stride, n, swap);
        case DType::i8: return load_row_of<int8_t>(out, in, stride, n, swap);
        case DType::u8: return load_row_of<uint8_t>(out, in, stride, n, swap);
        case DType::i16: return load_row_of<int16_t>(out, in, stride, n, swap);
        case DType::u16: return load_row_of<uint16_t>(out, in, stride, n, swap);
        case DType::i32: return load_row_of<int32_t>(out, in, stride, n, swap);
        case DType::u32: return load_row_of<uint32_t>(out, in, stride, n, swap);
        case DType::i64: return load_row_of<int64_t>(out, in, stride, n, swap);
        case DType::u64: return load_row_of<uint64_t>(out, in, stride, n, swap);
        case DType::f16: return load_row_of<Half>(out, in, stride, n, swap);
        case DType::bf16: return load_row_of<BFloat16>(out, in, stride, n, swap);
        case DType::f32: return load_row_of<float>(out, in, stride, n, swap);
        case DType::f64: return load_row_of<double>(out, in, stride, n, swap);
        default: return;  // complex numbers are passed as pairs of floats
    }
}

template <class T>
inline void store_any(DType to, char* out, const T* in, int64_t n) {
    switch (to) {
        case DType::boolean: return store_row_of<Bool>(out, in, n);
        case DType::u8: return store_row_of<uint8_t>(out, in, n);
        case DType::i8: return store_row_of<int8_t>(out, in, n);
        case DType::i16: return store_row_of<int16_t>(out, in, n);
        case DType::u16: return store_row_of<uint16_t>(out, in, n);
        case DType::i32: return store_row_of<int32_t>(out, in, n);
        case DType::u32: return store_row_of<uint32_t>(out, in, n);
        case DType::i64: return store_row_of<int64_t>(out, in, n);
        case DType::u64: return store_row_of<uint64_t>(out, in, n);
        case DType::f16: return store_row_of<Half>(out, in, n);
        case DType::bf16: return store_row_of<BFloat16>(out, in, n);
        case DType::f32: return store_row_of<float>(out, in, n);
        case DType::f64: return store_row_of<double>(out, in, n);
        default: return;
    }
}

}  // namespace

#define CENOTE_CONVERT(T)                                                                     \
    void load_row(DType from, T* out, const char* in, int64_t stride, int64_t n, bool swap) { \
        load_any(from, out, in, stride, n, swap);                                             \
    }                                                                                         \
    void store_row(DType to, char* out, const T* in, int64_t n) { store_any(to, out, in, n); }
#if CENOTE_VECTOR_BYTES < 64
CENOTE_EACH_WORK(CENOTE_CONVERT)
#else  // AVX-512 computes with no others (runtime/cpu.cpp)
CENOTE_CONVERT(int16_t)
CENOTE_CONVERT(int32_t)
CENOTE_CONVERT(int64_t)
CENOTE_CONVERT(float)
CENOTE_CONVERT(double)
#endif
#undef CENOTE_CONVERT

}  // namespace cenote::CENOTE_LEVEL
