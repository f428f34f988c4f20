// What windows that slide are made of: numbers, with the offsets of their elements or without, and halves by the
// order of their bits. Each says what an element is (`fresh`), what is held of a row, and what is written.

// Elements as they are. Placed: with their offsets.
template <class T_, bool Largest, bool Omit = false, bool Placed = false>
struct Numbers {
    using T = T_;
    using C = MaxReducer<T, Largest, Omit>;
    using U = Unsigned<T>;
    template <class V>
    using Reg = RegOf<C, V>;
    static constexpr bool placed = Placed, omit = Omit;
    struct Look {
        explicit Look(const Numbers&) {}
        void keep(Numbers&) const {}
        template <class V>
        void at(V) {}
    };

    explicit Numbers(const PoolSchedule&) {}
    static T none() { return C::absent(); }
    template <class V>
    static Reg<V> from_value(V element) {
        return {element};
    }
    template <class V>
    static Reg<V> held(V v) {
        return {v};
    }
    template <class V>
    static V element(Reg<V> r) {
        return C::result(r.v);
    }
    static bool wild() { return false; }
};

// Integers by their ordered keys (PoolSchedule::key): one reducer for max and min, signed and unsigned.
template <class T_>
struct Keys {
    using T = T_;
    using C = MaxReducer<T, true, false>;
    using U = Unsigned<T>;
    template <class V>
    using Reg = RegOf<C, V>;
    static constexpr bool placed = false, omit = false;
    T key;
    struct Look {
        explicit Look(const Keys&) {}
        void keep(Keys&) const {}
        template <class V>
        void at(V) {}
    };

    explicit Keys(const PoolSchedule& job) : key(static_cast<T>(job.key)) {}
    T none() const { return static_cast<T>(C::absent() ^ key); }
    template <class V>
    Reg<V> from_value(V element) const {
        return {V(element ^ key)};
    }
    template <class V>
    static Reg<V> held(V v) {
        return {v};
    }
    template <class V>
    V element(Reg<V> r) const {
        return V(r.v ^ key);
    }
    static bool wild() { return false; }
};

// Halves by their keys, which do not distinguish a -0.0 or a NaN: all elements are searched for them.
struct Halves {
    using T = int16_t;
    using U = uint16_t;
    using C = MaxReducer<T, true, false>;
    template <class V>
    using Reg = RegOf<C, V>;
    static constexpr bool placed = false, omit = false;
    static constexpr int wide = Lane<T, kVectorBytes>::count;
    T least[wide] = {}, largest[wide] = {};  // of the bits, and of the bits without the sign
    T infinity, flip;                        // flip: all bits for a minimum, which is the maximum of the flipped keys
    struct Look {
        using Wide = typename Lane<T, kVectorBytes>::V;
        Wide least, largest;
        explicit Look(const Halves& all) : least(load<Wide>(all.least)), largest(load<Wide>(all.largest)) {}
        void keep(Halves& all) const {
            store(all.least, least);
            store(all.largest, largest);
        }
        template <class V>
        void at(V element) {
            const V size = half_size(element);
            least = element < least ? element : least;
            largest = size > largest ? size : largest;
        }
    };

    explicit Halves(const PoolSchedule& job)
        : infinity(half_infinity(job.in)), flip(job.reduce == Reduce::max ? 0 : -1) {}
    T none() const { return static_cast<T>(flip ? infinity : infinity | INT16_MIN); }
    template <class V>
    Reg<V> from_value(V element) const {
        return {V(half_key(element, half_size(element)) ^ flip)};
    }
    template <class V>
    static Reg<V> held(V v) {
        return {v};
    }
    template <class V>
    V element(Reg<V> r) const {
        return half_of_key(V(r.v ^ flip));
    }
    bool wild() const {
        bool found = false;
        for (int k = 0; k < wide; ++k) found |= least[k] == INT16_MIN || largest[k] > infinity;
        return found;
    }
};

// All halves: keys decide, in which a NaN beats all others, and the bits of the first of equal ones go with them.
struct WildHalves {
    using T = int16_t;
    using U = uint16_t;
    using C = WildHalves;
    static constexpr bool placed = false, omit = false;
    template <class V>
    struct Reg {
        V v, key;
    };
    struct Look {
        explicit Look(const WildHalves&) {}
        void keep(WildHalves&) const {}
        template <class V>
        void at(V) {}
    };
    T infinity, quiet, flip;

    explicit WildHalves(const PoolSchedule& job)
        : infinity(half_infinity(job.in)), quiet(half_quiet(job.in)), flip(job.reduce == Reduce::max ? 0 : -1) {}
    T none() const { return static_cast<T>(flip ? infinity : infinity | INT16_MIN); }
    static constexpr T nan() { return INT16_MAX; }
    template <class V>
    Reg<V> from_value(V element) const {
        const V size = half_size(element), key = half_key(element, size);
        return {element, size > infinity ? splat<V>(nan()) : V(key ^ flip)};
    }
    template <class V>
    Reg<V> held(V v) const {
        return from_value(v);
    }
    template <class V>
    V element(Reg<V> r) const {
        return r.key == nan() ? V(r.v | quiet) : r.v;
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        const auto later = b.key > a.key;
        return {later ? b.v : a.v, later ? b.key : a.key};
    }
    static bool wild() { return false; }
};
