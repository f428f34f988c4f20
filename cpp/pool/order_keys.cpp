#include "pool/order_keys.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "pool/convert_rows.hpp"
#include "pool/wide_integers.hpp"

namespace cenote {

namespace {

constexpr int kVectorBytes = 16;

#include "simd/vector.inl"

#define CENOTE_ONCE __attribute__((noinline))

#include "simd/convert.inl"

constexpr int64_t kSome = 256;  // results that are converted at a time

template <class K>
constexpr KeyBits<K> kSign = KeyBits<K>(KeyBits<K>(1) << (8 * sizeof(K) - 1));

template <class K>
inline KeyBits<K> read_bits(const char* from, bool swap) {
    KeyBits<K> bits;
    std::memcpy(&bits, from, sizeof(K));
    if (!swap) return bits;
    if constexpr (sizeof(K) == 2)
        return __builtin_bswap16(bits);
    else if constexpr (sizeof(K) == 4)
        return __builtin_bswap32(bits);
    else if constexpr (sizeof(K) == 8)
        return __builtin_bswap64(bits);
    else
        return bits;
}

// Between unsigned integers in the order of the elements and keys, which are signed if they have 64 bits.
template <class K>
inline K from_unsigned(KeyBits<K> bits) {
    return static_cast<K>(sizeof(K) == 8 ? bits ^ kSign<K> : bits);
}
template <class K>
inline KeyBits<K> to_unsigned(K key) {
    const auto bits = static_cast<KeyBits<K>>(key);
    return static_cast<KeyBits<K>>(sizeof(K) == 8 ? bits ^ kSign<K> : bits);
}

// What an integer and its key differ in: keys of 64 bits are signed, others are not.
template <class K>
inline KeyBits<K> integer_flip(KeyKind kind) {
    return (kind == KeyKind::signed_integer) != (sizeof(K) == 8) ? kSign<K> : KeyBits<K>{0};
}

template <class K>
using SignedBits = std::make_signed_t<KeyBits<K>>;

// All ones if the first bit is set. Selections by masks, without branches: loops become vectors.
template <class K>
inline KeyBits<K> sign_mask(KeyBits<K> bits) {
    return static_cast<KeyBits<K>>(static_cast<SignedBits<K>>(bits) >> (8 * sizeof(K) - 1));
}

// The key of a float as an unsigned integer; that of NaN is all ones, and `nan` gets them too.
template <class K>
inline KeyBits<K> float_key(KeyBits<K> bits, KeyBits<K> infinity, KeyBits<K>& nan) {
    using U = KeyBits<K>;
    const U ordered = static_cast<U>(bits ^ (sign_mask<K>(bits) | kSign<K>));
    const U above = sign_mask<K>(static_cast<U>(infinity - (bits & static_cast<U>(~kSign<K>))));
    nan = static_cast<U>(nan | above);
    return static_cast<U>(ordered | above);
}

template <class K, class F>
inline void for_elements(const char* from, int64_t stride, int64_t n, bool swap, F f) {
    if (stride == sizeof(K) && !swap)  // becomes vectors
        for (int64_t i = 0; i < n; ++i) f(i, read_bits<K>(from + i * static_cast<int64_t>(sizeof(K)), false));
    else
        for (int64_t i = 0; i < n; ++i) f(i, read_bits<K>(from + i * stride, swap));
}

// The bits of the float that a key came from; of NaN, the quiet one.
template <class K>
inline KeyBits<K> float_bits(K key, KeyBits<K> infinity) {
    using U = KeyBits<K>;
    const U bits = to_unsigned(key), element = static_cast<U>(bits ^ (static_cast<U>(~sign_mask<K>(bits)) | kSign<K>));
    const U quiet = static_cast<U>(infinity | (infinity & -infinity) >> 1);  // with the bit below the exponent
    const U nan = static_cast<U>(-static_cast<U>(key == kLastKey<K>));
    return static_cast<U>((element & static_cast<U>(~nan)) | (quiet & nan));
}

template <class T, class U>
inline T value_of(U bits) {
    T value;
    static_assert(sizeof(T) == sizeof(U));
    std::memcpy(&value, &bits, sizeof(T));
    return value;
}

// f(key) for the number that an element is, in double precision: exact but for integers of 64 bits.
template <class K, class F>
inline void as_doubles(DType in, F f) {
    Operation operation{};
    operation.in = in;
    const auto infinity = static_cast<KeyBits<K>>(key_format(operation).infinity);
    if constexpr (sizeof(K) == 8) {
        f([=](K key) { return value_of<double>(float_bits(key, infinity)); });
    } else if constexpr (sizeof(K) == 4) {
        if (in == DType::f32)
            f([=](K key) { return static_cast<double>(value_of<float>(float_bits(key, infinity))); });
        else if (in == DType::i32)
            f([](K key) { return static_cast<double>(static_cast<int32_t>(key ^ kSign<K>)); });
        else
            f([](K key) { return static_cast<double>(key); });
    } else if constexpr (sizeof(K) == 2) {
        if (in == DType::f16)
            f([=](K key) { return static_cast<double>(widen(Half{float_bits(key, infinity)})); });
        else if (in == DType::bf16)
            f([=](K key) { return static_cast<double>(widen(BFloat16{float_bits(key, infinity)})); });
        else if (in == DType::i16)
            f([](K key) { return static_cast<double>(static_cast<int16_t>(key ^ kSign<K>)); });
        else
            f([](K key) { return static_cast<double>(key); });
    } else {
        if (in == DType::i8)
            f([](K key) { return static_cast<double>(static_cast<int8_t>(key ^ kSign<K>)); });
        else
            f([](K key) { return static_cast<double>(key); });
    }
}

// The mean, rounded once. Only the sum of two float64 can overflow; their halves are exact then. A subnormal mean has
// an exact sum.
inline double mean_of(double a, double b) {
    const double sum = a + b;
    return std::fabs(sum) <= std::numeric_limits<double>::max() ? sum * 0.5 : a * 0.5 + b * 0.5;
}

// Means of integers of 64 bits: their sum takes one bit more.
void write_wide_medians(const PoolSchedule& job, int64_t y, const int64_t* low, const int64_t* high, int64_t n) {
    const bool is_signed = job.in == DType::i64;
    const auto value = [&](int64_t key) -> Wide {
        return is_signed ? Wide{key} : Wide{static_cast<uint64_t>(key) ^ uint64_t{1} << 63};
    };
    for (int64_t i = 0; i < n; ++i) {
        const Wide sum = value(low[i]) + value(high[i]);
        if (job.out == DType::f64)
            reinterpret_cast<double*>(job.y)[y + i] = static_cast<double>(sum) * 0.5;
        else
            write_exact(job.out, job.y, y + i, sum, 2.0);
    }
}

}  // namespace

template <class K>
bool load_keys(K* to, const char* from, int64_t stride, int64_t n, const KeyFormat& format) {
    using U = KeyBits<K>;
    if (format.kind == KeyKind::floating) {
        U nan = 0;
        for_elements<K>(from, stride, n, format.swap,
                        [&, infinity = static_cast<U>(format.infinity)](int64_t i, U bits) {
                            to[i] = from_unsigned<K>(float_key<K>(bits, infinity, nan));
                        });
        return nan != 0;
    }
    const U flip = integer_flip<K>(format.kind);
    if (format.kind == KeyKind::boolean)
        for_elements<K>(from, stride, n, format.swap,
                        [&](int64_t i, U bits) { to[i] = static_cast<K>(static_cast<U>(bits != 0) ^ flip); });
    else if (flip == 0 && stride == sizeof(K) && !format.swap)
        std::memcpy(to, from, static_cast<size_t>(n) * sizeof(K));
    else
        for_elements<K>(from, stride, n, format.swap,
                        [&](int64_t i, U bits) { to[i] = static_cast<K>(static_cast<U>(bits ^ flip)); });
    return false;
}

template <class K>
void write_elements(const PoolSchedule& job, int64_t y, const K* keys, int64_t n) {
    using U = KeyBits<K>;
    const KeyFormat format = key_format(job);
    char* out = job.y + y * static_cast<int64_t>(sizeof(K));
    const auto put = [&](auto bits_of) {
        for (int64_t i = 0; i < n; ++i) {
            const U bits = bits_of(keys[i]);
            std::memcpy(out + i * static_cast<int64_t>(sizeof(K)), &bits, sizeof(K));
        }
    };
    const U flip = integer_flip<K>(format.kind);
    if (format.kind == KeyKind::floating)
        put([infinity = static_cast<U>(format.infinity)](K key) { return float_bits(key, infinity); });
    else if (flip == 0)
        std::memcpy(out, keys, static_cast<size_t>(n) * sizeof(K));
    else
        put([flip](K key) { return static_cast<U>(static_cast<U>(key) ^ flip); });
}

template <class K>
void write_medians(const PoolSchedule& job, int64_t y, const K* low, const K* high, int64_t n) {
    if (low == high && job.in == job.out) return write_elements(job, y, low, n);
    if constexpr (sizeof(K) == 8)
        if (job.in != DType::f64) return write_wide_medians(job, y, low, high, n);
    const int64_t width = size_of(job.out);
    as_doubles<K>(job.in, [&](auto number) {
        double row[kSome];
        for (int64_t from = 0; from < n; from += kSome) {
            const int64_t some = min(kSome, n - from);
            double* to = job.out == DType::f64 ? reinterpret_cast<double*>(job.y) + y + from : row;
            for (int64_t i = 0; i < some; ++i) {
                const double a = number(low[from + i]), b = number(high[from + i]);
                const double mean = mean_of(a, b);
                to[i] = mean == mean ? mean : std::numeric_limits<double>::quiet_NaN();
            }
            if (to == row) convert_row(job.out, job.y + (y + from) * width, row, some, false);
        }
    });
}

void write_missing(const PoolSchedule& job, int64_t y, int64_t n) {
    const int64_t width = size_of(job.out);
    char* out = job.y + y * width;
    if (is_integer(job.out)) {
        std::memset(out, 0, static_cast<size_t>(n * width));
        return;
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (int64_t i = 0; i < n; ++i) convert_row(job.out, out + i * width, &nan, 1, false);
}

#define CENOTE_ORDER_KEYS(K)                                                                   \
    template bool load_keys<K>(K*, const char*, int64_t, int64_t, const KeyFormat&);           \
    template void write_medians<K>(const PoolSchedule&, int64_t, const K*, const K*, int64_t); \
    template void write_elements<K>(const PoolSchedule&, int64_t, const K*, int64_t);
CENOTE_ORDER_KEYS(uint8_t)
CENOTE_ORDER_KEYS(uint16_t)
CENOTE_ORDER_KEYS(uint32_t)
CENOTE_ORDER_KEYS(int64_t)

}  // namespace cenote
