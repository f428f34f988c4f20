// Reducers: what is accumulated per window, and how two accumulators combine.
//
// An accumulator has one or two planes (v and w). A reducer defines how a value from memory becomes an accumulator
// (`from_value`; the second plane does not exist before the first pass), what tap t of a window does to it, how an
// earlier and a later one combine, and the identity: `empty`, or before the first pass the value `absent`. Except for
// sums, `combine` must be associative; it need not be commutative and always gets the earlier operand first.

// A row of accumulators. With one plane this is a single pointer: a struct of two is passed through memory, where the
// store-forwarding stall costs more than a short row.
template <class T, class U, bool Two>
struct Row {
    T* v;
    U* w;
    Row() = default;
    Row(T* values, U* others) : v(values), w(others) {}
};
template <class T, class U>
struct Row<T, U, false> {
    T* v;
    static constexpr U* w = nullptr;
    Row() = default;
    Row(T* values, U*) : v(values) {}
};
template <class C>
using Source = Row<const typename C::T, const typename C::U, C::two_planes>;
template <class C>
using Target = Row<typename C::T, typename C::U, C::two_planes>;

template <class C, class V>
using RegOf = typename C::template Reg<V>;

template <class C, class V>
inline RegOf<C, V> load_accumulator(Source<C> row, int64_t i) {
    if constexpr (C::two_planes) {
        using W = typename Rebind<V, typename C::U>::type;
        if (row.w) return {load<V>(row.v + i), load<W>(row.w + i)};
    }
    return C::from_value(load<V>(row.v + i));
}
template <class C, class V>
inline void store_accumulator(Target<C> row, int64_t i, RegOf<C, V> r) {
    store(row.v + i, r.v);
    if constexpr (C::two_planes) store(row.w + i, r.w);
}

// Accumulators that do not depend on which tap an element is.
struct TapIndependent {
    template <class R>
    static R tap(R r, int64_t) {
        return r;
    }
};

// Accumulators that are plain values.
struct PlainValue : TapIndependent {
    template <class V>
    struct Reg {
        V v;
    };
    template <class V>
    static Reg<V> from_value(V v) {
        return {v};
    }
};

// The largest or smallest element. Of equal elements the first is kept with its bits, also of -0.0 and +0.0.
template <class T_, bool Largest, bool Omit>
struct MaxReducer : PlainValue {
    using T = T_;
    using U = T_;
    static constexpr bool two_planes = false, summed = false, omit = Omit;

    // x if a is kept before the later element b, otherwise y.
    template <class V, class X>
    static X choose(V a, V b, X x, X y) {
        if constexpr (!Limits<T>::has_nan) {
            return (Largest ? b > a : b < a) ? y : x;
        } else if constexpr (!IsVector<V>::value) {
            // As a vector of one lane: a branch would be mispredicted half of the time (max 3×3 s2 p1 of 32×64×112×112,
            // one thread, with one clipped window per row: 11 vs. 7.8 ms).
            using One = typename VecOf<V, 16>::type;
            using Other = typename VecOf<X, 16>::type;
            return choose(One{a}, One{b}, Other{x}, Other{y})[0];
        } else if constexpr (Omit) {  // a NaN loses against anything
            return ((Largest ? b > a : b < a) | (a != a)) ? y : x;
        } else {  // a NaN replaces anything except an earlier NaN
            return ((Largest ? b <= a : b >= a) | (a != a)) ? x : y;
        }
    }

    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        if constexpr (Limits<T>::has_nan && Omit) {  // the same as choose(), with a max instruction
            const V top = optimisation_barrier((Largest ? b.v > a.v : b.v < a.v) ? b.v : a.v);
            return {a.v == a.v ? top : b.v};
        } else if constexpr (Limits<T>::has_nan) {
            return {choose(a.v, b.v, a.v, b.v)};
        } else if constexpr (Largest) {  // in the form that GCC compiles to a max instruction
            return {b.v > a.v ? b.v : a.v};
        } else {
            return {b.v < a.v ? b.v : a.v};
        }
    }
    // The result of a window: if all its elements are omitted, the canonical NaN instead of one of theirs.
    template <class V>
    static V result(V v) {
        if constexpr (Omit)
            return quiet<T>(v);
        else
            return v;
    }
    static constexpr T absent() {
        if constexpr (Limits<T>::has_nan && Omit) return Limits<T>::nan;
        return Largest ? Limits<T>::low : Limits<T>::high;
    }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(absent())};
    }
};

// The same, with the argmax offset in the window carried in lanes of the same width. Materialised padding ties with
// real elements of the same value; argmax_tile corrects the offsets afterwards.
template <class T_, bool Largest, bool Omit>
struct ArgMaxReducer {
    using T = T_;
    using U = Unsigned<T_>;
    static constexpr bool two_planes = true, summed = false;
    using Value = MaxReducer<T, Largest, Omit>;

    template <class V>
    using W = typename Rebind<V, U>::type;
    template <class V>
    struct Reg {
        V v;
        W<V> w;
    };

    template <class V>
    static Reg<V> from_value(V v) {
        return {v, splat<W<V>>(U{0})};
    }
    template <class V>
    static Reg<V> tap(Reg<V> r, int64_t offset) {
        return {r.v, W<V>(r.w + static_cast<U>(offset))};
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {Value::choose(a.v, b.v, a.v, b.v), Value::choose(a.v, b.v, a.w, b.w)};
    }
    static constexpr T absent() { return Value::absent(); }
    template <class V>
    static Reg<V> empty() {
        return from_value(splat<V>(absent()));
    }
};

// Integers are added modulo 2^n, as unsigned: lanes beyond the end of a row hold arbitrary values, whose sums are not
// used but must not overflow as signed ones.
template <class T, class V>
CENOTE_INLINE inline V plus(V a, V b) {
    if constexpr (Limits<T>::has_nan) {
        return a + b;
    } else {
        using W = typename Rebind<V, Unsigned<T>>::type;
        return (V)((W)a + (W)b);
    }
}

template <class T_>
struct Sum : PlainValue {
    using T = T_;
    using U = T_;
    static constexpr bool two_planes = false, summed = true;

    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {plus<T>(a.v, b.v)};
    }
    static constexpr T absent() { return T{0}; }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(T{0})};
    }
};

// A sum that omits NaN, with the number of elements in it.
template <class T_>
struct SumValid : TapIndependent {
    using T = T_;
    using U = Unsigned<T_>;
    static constexpr bool two_planes = true, summed = true;

    template <class V>
    using W = typename Rebind<V, U>::type;
    template <class V>
    struct Reg {
        V v;
        W<V> w;
    };

    template <class V>
    static Reg<V> from_value(V v) {
        return {v == v ? v : splat<V>(T{0}), v == v ? splat<W<V>>(U{1}) : splat<W<V>>(U{0})};
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {V(a.v + b.v), W<V>(a.w + b.w)};
    }
    static constexpr T absent() { return Limits<T>::nan; }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(T{0}), splat<W<V>>(U{0})};
    }
};

// A sum of v·16^w, which has the bits of Sum<double> but cannot overflow. w holds integers; the base is 16 so that the
// exponent of exp(t) is finite for every finite t.
struct WideSum : TapIndependent {
    using T = double;
    using U = double;
    static constexpr bool two_planes = true, summed = true;
    static constexpr double nowhere = -1e308, infinite = 1e308;  // the exponents of zero and infinity

    template <class V>
    struct Reg {
        V v, w;
    };

    template <class V>
    static Reg<V> from_value(V v) {
        return {v, V{}};
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        const V w = a.w > b.w ? a.w : b.w;
        return {a.v * power_of_two(V((a.w - w) * 4.0)) + b.v * power_of_two(V((b.w - w) * 4.0)), w};
    }
    static constexpr double absent() { return 0; }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(0.0), splat<V>(nowhere)};
    }
};

// Whether an accumulator also has the extreme of its elements, and whether its second plane is only a flag.
template <class C>
constexpr bool has_extreme = requires(typename C::template Reg<typename C::T> r) { r.extreme; };
template <class C>
constexpr bool is_flagged = requires { C::flagged; };

// Whether accumulators have argmax offsets.
template <class C>
constexpr bool tracks_offsets = false;
template <class T, bool Largest, bool Omit>
constexpr bool tracks_offsets<ArgMaxReducer<T, Largest, Omit>> = true;
