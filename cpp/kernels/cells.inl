// What a pass holds per window and how two of them join.
//
// A cell has one or two planes (v and w) and says: how it is read, what tap t of a window makes of it, how an
// earlier and a later one combine, and what stands for no cell at all. `combine` must be associative for the
// cells that are not summed; it need not be commutative, and is always called with the earlier cell first.

template <class T_, class U_>
struct Row {
    T_* v;
    U_* w;
};

// The largest or smallest cell. The first of equal cells stays, with its own bits: of -0.0 and +0.0 too.
template <class T_, bool Largest, bool Omit>
struct Pick {
    using T = T_;
    using U = T_;
    static constexpr bool two_planes = false, summed = false;

    template <class V>
    struct Reg {
        V v;
    };

    // Whether the later cell b takes the place of a.
    template <class V>
    static auto beats(V b, V a) {
        if constexpr (!Limits<T>::has_nan) {
            return Largest ? b > a : b < a;
        } else if constexpr (Omit) {  // a NaN gives way to anything
            return (Largest ? b > a : b < a) | (a != a);
        } else {  // a NaN takes the place of anything but a NaN
            return negate(Largest ? b <= a : b >= a) & (a == a);
        }
    }

    template <class V>
    static Reg<V> load(Row<const T, const U> row, int64_t i) {
        return {CENOTE_NS::load<V>(row.v + i)};
    }
    template <class V>
    static void store(Row<T, U> row, int64_t i, Reg<V> r) {
        CENOTE_NS::store(row.v + i, r.v);
    }
    template <class V>
    static Reg<V> tap(Reg<V> r, int64_t) {
        return r;
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {beats(b.v, a.v) ? b.v : a.v};
    }
    static constexpr T nothing() {
        if constexpr (Limits<T>::has_nan && Omit) return Limits<T>::nan;
        return Largest ? Limits<T>::low : Limits<T>::high;
    }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(nothing())};
    }
};

// The same with the winner's offset in the window carried along in lanes of the same width.
template <class T_, bool Largest, bool Omit>
struct PickAt {
    using T = T_;
    using U = Unsigned<T_>;
    static constexpr bool two_planes = true, summed = false;
    using Value = Pick<T, Largest, Omit>;

    template <class V>
    using W = typename Beside<V, U>::type;
    template <class V>
    struct Reg {
        V v;
        W<V> w;
    };

    template <class V>
    static Reg<V> load(Row<const T, const U> row, int64_t i) {
        return {CENOTE_NS::load<V>(row.v + i), row.w ? CENOTE_NS::load<W<V>>(row.w + i) : splat<W<V>>(U{0})};
    }
    template <class V>
    static void store(Row<T, U> row, int64_t i, Reg<V> r) {
        CENOTE_NS::store(row.v + i, r.v);
        CENOTE_NS::store(row.w + i, r.w);
    }
    template <class V>
    static Reg<V> tap(Reg<V> r, int64_t offset) {
        return {r.v, W<V>(r.w + static_cast<U>(offset))};
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        const auto take = Value::beats(b.v, a.v);
        return {take ? b.v : a.v, take ? b.w : a.w};
    }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(Value::nothing()), splat<W<V>>(U{0})};
    }
};

template <class T_>
struct Sum {
    using T = T_;
    using U = T_;
    static constexpr bool two_planes = false, summed = true;

    template <class V>
    struct Reg {
        V v;
    };

    template <class V>
    static Reg<V> load(Row<const T, const U> row, int64_t i) {
        return {CENOTE_NS::load<V>(row.v + i)};
    }
    template <class V>
    static void store(Row<T, U> row, int64_t i, Reg<V> r) {
        CENOTE_NS::store(row.v + i, r.v);
    }
    template <class V>
    static Reg<V> tap(Reg<V> r, int64_t) {
        return r;
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        return {a.v + b.v};
    }
    static constexpr T nothing() { return T{0}; }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(T{0})};
    }
};

// A sum of v·16^w: as Sum<double>, to the bit, but with an exponent that cannot run out. w holds whole numbers;
// the base is 16 so that the exponent of exp(t) is finite for every finite t.
struct WideSum {
    using T = double;
    using U = double;
    static constexpr bool two_planes = true, summed = true;
    static constexpr double nowhere = -1e308, infinite = 1e308;  // the exponents of zero and infinity

    template <class V>
    struct Reg {
        V v, w;
    };

    template <class V>
    static Reg<V> load(Row<const T, const U> row, int64_t i) {
        return {CENOTE_NS::load<V>(row.v + i), CENOTE_NS::load<V>(row.w + i)};
    }
    template <class V>
    static void store(Row<T, U> row, int64_t i, Reg<V> r) {
        CENOTE_NS::store(row.v + i, r.v);
        CENOTE_NS::store(row.w + i, r.w);
    }
    template <class V>
    static Reg<V> tap(Reg<V> r, int64_t) {
        return r;
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        const V w = a.w > b.w ? a.w : b.w;
        return {a.v * power_of_two(V((a.w - w) * 4.0)) + b.v * power_of_two(V((b.w - w) * 4.0)), w};
    }
    template <class V>
    static Reg<V> empty() {
        return {splat<V>(0.0), splat<V>(nowhere)};
    }
};
