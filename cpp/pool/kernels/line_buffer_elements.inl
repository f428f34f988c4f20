// The elements that the line buffer of max and min works on: plain values, with or without argmax, and ordered keys.
// Each type defines how an element becomes an accumulator (`from_value`), how a buffered one does (`from_row`), and the
// result.

// Plain values. WithArgmax: with argmax.
template <class T_, bool Largest, bool Omit = false, bool WithArgmax = false>
struct PlainValues {
    using T = T_;
    using C = MaxReducer<T, Largest, Omit>;
    using U = Unsigned<T>;
    template <class V>
    using Reg = RegOf<C, V>;
    static constexpr bool with_argmax = WithArgmax, omit = Omit;
    struct Scan {
        explicit Scan(const PlainValues&) {}
        void save(PlainValues&) const {}
        template <class V>
        void visit(V) {}
    };

    explicit PlainValues(const PoolSchedule&) {}
    static T padding() { return C::absent(); }
    template <class V>
    static Reg<V> from_value(V element) {
        return {element};
    }
    template <class V>
    static Reg<V> from_row(V v) {
        return {v};
    }
    template <class V>
    static V result(Reg<V> r) {
        return C::result(r.v);
    }
    static bool ambiguous() { return false; }
};

// Integers by their ordered keys (Operation::key): one reducer for max and min, signed and unsigned.
template <class T_>
struct IntegerKeys {
    using T = T_;
    using C = MaxReducer<T, true, false>;
    using U = Unsigned<T>;
    template <class V>
    using Reg = RegOf<C, V>;
    static constexpr bool with_argmax = false, omit = false;
    T key;
    struct Scan {
        explicit Scan(const IntegerKeys&) {}
        void save(IntegerKeys&) const {}
        template <class V>
        void visit(V) {}
    };

    explicit IntegerKeys(const PoolSchedule& job) : key(static_cast<T>(job.key)) {}
    T padding() const { return static_cast<T>(C::absent() ^ key); }
    template <class V>
    Reg<V> from_value(V element) const {
        return {V(element ^ key)};
    }
    template <class V>
    static Reg<V> from_row(V v) {
        return {v};
    }
    template <class V>
    V result(Reg<V> r) const {
        return V(r.v ^ key);
    }
    static bool ambiguous() { return false; }
};

// float16 and bfloat16 by their keys, which do not distinguish -0.0 from 0.0, nor NaN: all elements are scanned for
// them.
struct HalfPrecisionKeys {
    using T = int16_t;
    using U = uint16_t;
    using C = MaxReducer<T, true, false>;
    template <class V>
    using Reg = RegOf<C, V>;
    static constexpr bool with_argmax = false, omit = false;
    static constexpr int wide = Lane<T, kVectorBytes>::count;
    T least[wide] = {}, largest[wide] = {};  // extremes of the bits, and of the bits without the sign
    T infinity, flip;                        // flip: all ones for a minimum, which is the maximum of the flipped keys
    struct Scan {
        using Wide = typename Lane<T, kVectorBytes>::V;
        Wide least, largest;
        explicit Scan(const HalfPrecisionKeys& all) : least(load<Wide>(all.least)), largest(load<Wide>(all.largest)) {}
        void save(HalfPrecisionKeys& all) const {
            store(all.least, least);
            store(all.largest, largest);
        }
        template <class V>
        void visit(V element) {
            const V size = half_size(element);
            least = element < least ? element : least;
            largest = size > largest ? size : largest;
        }
    };

    explicit HalfPrecisionKeys(const PoolSchedule& job)
        : infinity(half_infinity(job.in)), flip(job.reduce == Reduce::max ? 0 : -1) {}
    T padding() const { return static_cast<T>(flip ? infinity : infinity | INT16_MIN); }
    template <class V>
    Reg<V> from_value(V element) const {
        return {V(half_key(element, half_size(element)) ^ flip)};
    }
    template <class V>
    static Reg<V> from_row(V v) {
        return {v};
    }
    template <class V>
    V result(Reg<V> r) const {
        return half_of_key(V(r.v ^ flip));
    }
    bool ambiguous() const {
        bool found = false;
        for (int k = 0; k < wide; ++k) found |= least[k] == INT16_MIN || largest[k] > infinity;
        return found;
    }
};

// Any float16 and bfloat16: keys decide, where a NaN is above everything, and the bits of the first of equal ones
// follow.
struct HalfPrecisionValues {
    using T = int16_t;
    using U = uint16_t;
    using C = HalfPrecisionValues;
    static constexpr bool with_argmax = false, omit = false;
    template <class V>
    struct Reg {
        V v, key;
    };
    struct Scan {
        explicit Scan(const HalfPrecisionValues&) {}
        void save(HalfPrecisionValues&) const {}
        template <class V>
        void visit(V) {}
    };
    T infinity, quiet, flip;

    explicit HalfPrecisionValues(const PoolSchedule& job)
        : infinity(half_infinity(job.in)), quiet(half_quiet(job.in)), flip(job.reduce == Reduce::max ? 0 : -1) {}
    T padding() const { return static_cast<T>(flip ? infinity : infinity | INT16_MIN); }
    static constexpr T nan() { return INT16_MAX; }
    template <class V>
    Reg<V> from_value(V element) const {
        const V size = half_size(element), key = half_key(element, size);
        return {element, size > infinity ? splat<V>(nan()) : V(key ^ flip)};
    }
    template <class V>
    Reg<V> from_row(V v) const {
        return from_value(v);
    }
    template <class V>
    V result(Reg<V> r) const {
        return r.key == nan() ? V(r.v | quiet) : r.v;
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        const auto later = b.key > a.key;
        return {later ? b.v : a.v, later ? b.key : a.key};
    }
    static bool ambiguous() { return false; }
};
