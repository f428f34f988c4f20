// What a pass holds per window and how two of them join.
//
// An element has one or two planes (v and w) and says: what a number that comes from memory is as an element (`fresh`:
// there is no second plane before the first pass), what tap t of a window makes of it, how an earlier and a later one
// combine, and what stands for no element at all: `empty`, or before the first pass the number `absent`. `combine` must
// be associative for the elements that are not summed; it need not be commutative, and is always called with the
// earlier element first.

// Where elements lie. With one plane it is one pointer: two of them would travel through memory, where reading them
// together right after they were written apart costs more than a short row.
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
inline RegOf<C, V> load_element(Source<C> row, int64_t i) {
    if constexpr (C::two_planes) {
        using W = typename Beside<V, typename C::U>::type;
        if (row.w) return {load<V>(row.v + i), load<W>(row.w + i)};
    }
    return C::fresh(load<V>(row.v + i));
}
template <class C, class V>
inline void store_element(Target<C> row, int64_t i, RegOf<C, V> r) {
    store(row.v + i, r.v);
    if constexpr (C::two_planes) store(row.w + i, r.w);
}

// Elements for which it is all one which tap they are.
struct Placeless {
    template <class R>
    static R tap(R r, int64_t) {
        return r;
    }
};

// Those that are numbers, as they come from memory.
struct OneNumber : Placeless {
    template <class V>
    struct Reg {
        V v;
    };
    template <class V>
    static Reg<V> fresh(V v) {
        return {v};
    }
};

// The largest or smallest element. The first of equal elements stays, with its own bits: of -0.0 and +0.0 too.
template <class T_, bool Largest, bool Omit>
struct MaxReducer : OneNumber {
    using T = T_;
    using U = T_;
    static constexpr bool two_planes = false, summed = false, omit = Omit;

    // x if the element a stays before the later element b, otherwise y.
    template <class V, class X>
    static X choose(V a, V b, X x, X y) {
        if constexpr (!Limits<T>::has_nan) {
            return (Largest ? b > a : b < a) ? y : x;
        } else if constexpr (!IsVector<V>::value) {
            // As a vector of one: a branch would be wrong every other time (max 3×3 s2 p1 of 32×64×112×112, one thread,
            // in which one window of a row is cut: 11 ms, and 7.8 so).
            using One = typename VecOf<V, 16>::type;
            using Other = typename VecOf<X, 16>::type;
            return choose(One{a}, One{b}, Other{x}, Other{y})[0];
        } else if constexpr (Omit) {  // a NaN gives way to anything
            return ((Largest ? b > a : b < a) | (a != a)) ? y : x;
        } else {  // a NaN takes the place of anything but a NaN
            return ((Largest ? b <= a : b >= a) | (a != a)) ? x : y;
        }
    }

    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        if constexpr (Limits<T>::has_nan && Omit) {  // as choose() does, with an instruction for the larger one
            const V top = kept_apart((Largest ? b.v > a.v : b.v < a.v) ? b.v : a.v);
            return {a.v == a.v ? top : b.v};
        } else if constexpr (Limits<T>::has_nan) {
            return {choose(a.v, b.v, a.v, b.v)};
        } else if constexpr (Largest) {  // written so that GCC sees that there is an instruction for it
            return {b.v > a.v ? b.v : a.v};
        } else {
            return {b.v < a.v ? b.v : a.v};
        }
    }
    // What is written: where all elements are left out, the NaN that stands for none, and not one of theirs.
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

// The same with the winner's offset in the window carried along in lanes of the same width. Padding that is laid out
// as elements ties with real elements of the same value; whoever reads the offsets puts that right (argmax_tile).
template <class T_, bool Largest, bool Omit>
struct ArgMaxReducer {
    using T = T_;
    using U = Unsigned<T_>;
    static constexpr bool two_planes = true, summed = false;
    using Value = MaxReducer<T, Largest, Omit>;

    template <class V>
    using W = typename Beside<V, U>::type;
    template <class V>
    struct Reg {
        V v;
        W<V> w;
    };

    template <class V>
    static Reg<V> fresh(V v) {
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
        return fresh(splat<V>(absent()));
    }
};

// Lanes beyond the elements of a row hold anything, and their sums are not read: whole numbers are added modulo 2^n,
// which signed ones may not be.
template <class T, class V>
CENOTE_INLINE inline V plus(V a, V b) {
    if constexpr (Limits<T>::has_nan) {
        return a + b;
    } else {
        using W = typename Beside<V, Unsigned<T>>::type;
        return (V)((W)a + (W)b);
    }
}

template <class T_>
struct Sum : OneNumber {
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

// A sum that leaves NaN out, and how many elements are in it.
template <class T_>
struct SumValid : Placeless {
    using T = T_;
    using U = Unsigned<T_>;
    static constexpr bool two_planes = true, summed = true;

    template <class V>
    using W = typename Beside<V, U>::type;
    template <class V>
    struct Reg {
        V v;
        W<V> w;
    };

    template <class V>
    static Reg<V> fresh(V v) {
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

// A sum of v·16^w: as Sum<double>, to the bit, but with an exponent that cannot run out. w holds whole numbers;
// the base is 16 so that the exponent of exp(t) is finite for every finite t.
struct WideSum : Placeless {
    using T = double;
    using U = double;
    static constexpr bool two_planes = true, summed = true;
    static constexpr double nowhere = -1e308, infinite = 1e308;  // the exponents of zero and infinity

    template <class V>
    struct Reg {
        V v, w;
    };

    template <class V>
    static Reg<V> fresh(V v) {
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

// Whether an element holds the extreme of its elements too, and whether its second plane is a mere flag.
template <class C>
constexpr bool has_top = requires(typename C::template Reg<typename C::T> r) { r.top; };
template <class C>
constexpr bool is_flagged = requires { C::flagged; };

// Whether elements know which tap they are.
template <class C>
constexpr bool is_placed = false;
template <class T, bool Largest, bool Omit>
constexpr bool is_placed<ArgMaxReducer<T, Largest, Omit>> = true;
