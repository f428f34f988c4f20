// Order statistics of windows: medians and modes.
//
// All dtypes are served as ordered keys: integers of the element's width whose order is that of the elements. NaN and
// padding are the largest key, so that they are behind all others where a window is sorted. -0.0 comes before +0.0.
//
// Plain data only: units include this, see geometry.hpp.
#pragma once

#include "core/geometry.hpp"

namespace cenote {

// The key of an element: AVX2 compares unsigned integers of up to 32 bits, and signed ones of 64. And the bits of the
// element that a key stands for.
template <int Bytes>
struct KeyOf;
#define CENOTE_KEY(Key, Bits)   \
    template <>                 \
    struct KeyOf<sizeof(Key)> { \
        using type = Key;       \
        using bits = Bits;      \
    };
CENOTE_KEY(uint8_t, uint8_t)
CENOTE_KEY(uint16_t, uint16_t)
CENOTE_KEY(uint32_t, uint32_t)
CENOTE_KEY(int64_t, uint64_t)
#undef CENOTE_KEY
template <class K>
using KeyBits = typename KeyOf<sizeof(K)>::bits;

template <class K>
constexpr K kLastKey = static_cast<K>(sizeof(K) == 8 ? INT64_MAX : -1);

// How elements become keys.
enum class KeyKind : uint8_t { boolean, unsigned_integer, signed_integer, floating };
struct KeyFormat {
    KeyKind kind;
    bool swap;          // elements are of the other byte order
    uint64_t infinity;  // the bits of +inf, of a float
};

static inline KeyFormat key_format(const Operation& operation) {
    switch (operation.in) {
        case DType::boolean: return {KeyKind::boolean, false, 0};
        case DType::i8:
        case DType::i16:
        case DType::i32:
        case DType::i64: return {KeyKind::signed_integer, operation.swap, 0};
        case DType::f16: return {KeyKind::floating, operation.swap, 0x7c00};
        case DType::bf16: return {KeyKind::floating, operation.swap, 0x7f80};
        case DType::f32: return {KeyKind::floating, operation.swap, 0x7f800000};
        case DType::f64: return {KeyKind::floating, operation.swap, 0x7ff0000000000000};
        default: return {KeyKind::unsigned_integer, operation.swap, 0};
    }
}

}  // namespace cenote
