// Reducers of ordered keys.

// A reducer of ordered keys (Operation::key): one for max and min. It costs an instruction per element, so float32 has
// a reducer for each instead.
template <class C>
struct Keyed : C {
    static constexpr bool keyed = true;
};
template <class C>
constexpr bool tracks_offsets<Keyed<C>> = tracks_offsets<C>;
template <class C>
constexpr bool is_keyed = requires { C::keyed; };

// A minimum of floats is the maximum with the signs flipped, for which the key is nonzero.
inline uint64_t order_key(const PoolSchedule& job) { return job.reduce == Reduce::min ? 1 : job.key; }

template <class C, class V>
CENOTE_INLINE inline V flipped(V v, uint64_t key) {
    if constexpr (is_keyed<C>) {
        using U = Unsigned<typename C::T>;
        using W = typename Rebind<V, U>::type;
        constexpr U sign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
        const U flip = !Limits<typename C::T>::has_nan ? static_cast<U>(key) : key ? sign : U{0};
        const W bits = W(load<W>(&v) ^ flip);
        return load<V>(&bits);
    } else {
        return v;
    }
}
