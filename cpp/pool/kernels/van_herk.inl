// Van Herk/Gil-Werman over long runs: a forward and a backward scan over blocks of k elements. A window that starts in
// one block ends in the next, so it is a suffix of the first and a prefix of the second. That makes three combinations
// per window, however large it is. It changes the order of the reduction, so it cannot be used for sums.

// All windows of a line for N vectors of lanes from lane i on. `left` holds the suffixes of a block, `absent` is a row
// of the identity.
template <class C, class L, int N>
CENOTE_ONCE void scan_blocks(const LinePass& p, const typename C::T* in, typename C::T* out, int64_t i,
                             typename C::T* left, const typename C::T* absent) {
    using T = typename C::T;
    using V = typename L::V;
    using Reg = RegOf<C, V>;
    const Axis& a = *p.axis;
    const int64_t first = window_start(a, p.j0) - p.c0, length = line_length(a, p.count);
    const auto row = [&](int64_t position) {
        const int64_t element = first + position;
        return element >= 0 && element < p.elements ? in + element * p.in_stride + i : absent;
    };
    const auto read = [](const T* from, int64_t lane) { return C::from_value(load<V>(from + lane * L::count)); };
    Reg all[N];
    int64_t until = 0;  // elements until the next window of the stride
    T* to = out + i;
    for (int64_t block = 0; block + a.k <= length; block += a.k) {
        const int64_t windows = min(a.k, length - a.k - block + 1);
        const T* element = row(block + a.k - 1);
        each<N>(N, [&](int64_t n) {
            store(left + (a.k - 1) * N * L::count + n * L::count, (all[n] = read(element, n)).v);
        });
        for (int64_t t = a.k - 2; t >= 0; --t) {
            element = row(block + t);
            T* end = left + t * N * L::count;
            each<N>(N,
                    [&](int64_t n) { store(end + n * L::count, (all[n] = C::combine(read(element, n), all[n])).v); });
        }
        for (int64_t t = 0; t < windows; ++t) {
            if (t > 0) {
                element = row(block + a.k + t - 1);
                each<N>(N,
                        [&](int64_t n) { all[n] = t == 1 ? read(element, n) : C::combine(all[n], read(element, n)); });
            }
            if (--until > 0) continue;
            until = a.s;
            const T* end = left + t * N * L::count;
            each<N>(N, [&](int64_t n) {
                store(to + n * L::count, (t == 0 ? read(end, n) : C::combine(read(end, n), all[n])).v);
            });
            to += p.out_stride;
        }
    }
}

template <class C>
void van_herk(const LinePass& p, const char* from, char* to, char* room, const char* identity) {
    using T = typename C::T;
    constexpr int wide = kVectorBytes / sizeof(T), together = kVanHerkBytes / kVectorBytes;
    const T *in = reinterpret_cast<const T*>(from), *absent = reinterpret_cast<const T*>(identity);
    T *out = reinterpret_cast<T*>(to), *left = reinterpret_cast<T*>(room);
    int64_t i = 0;
    for (; i + wide * together <= p.run; i += wide * together)
        scan_blocks<C, Lane<T, kVectorBytes>, together>(p, in, out, i, left, absent);
    for (; i + wide <= p.run; i += wide) scan_blocks<C, Lane<T, kVectorBytes>, 1>(p, in, out, i, left, absent);
    // The last vector overlaps: runs are longer than a vector.
    if (i < p.run) scan_blocks<C, Lane<T, kVectorBytes>, 1>(p, in, out, p.run - wide, left, absent);
}
