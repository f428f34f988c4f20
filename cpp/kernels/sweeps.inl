// Large windows over long runs, by two sweeps over blocks of k cells. A window that begins in one block ends in the
// next: it is the end of the one, joined from behind, and the beginning of the other. That makes three joins for each
// window, however large it is; but the order of a sum is another.

constexpr int64_t kSwept = 6;         // cells from which on this is faster than one by one
constexpr int64_t kSweepBytes = 256;  // of a run at a time: running totals stay in registers

template <class C>
inline bool sweeping_pays(const Pass<C>& p) {
    const Axis& a = *p.axis;
    if (C::summed || C::two_planes || a.starts || a.d > 1) return false;
    // In narrower runs one join waits for the other (13×13 on planes of 20×20: 2.3 ms, and 1.9 by doubling).
    const int64_t bytes = p.run * static_cast<int64_t>(sizeof(typename C::T));
    return a.k >= kSwept && a.k >= 2 * a.s && p.count >= 4 && bytes >= kSweepBytes;
}

// All windows of a line for N lanes from element i of each cell on. `left` has room for k times as much, `absent` holds
// cells that lose against any other.
template <class C, class L, int N>
CENOTE_ONCE void sweep(const Pass<C>& p, Source<C> in, Target<C> out, int64_t i, typename C::T* left,
                       const typename C::T* absent) {
    using T = typename C::T;
    using V = typename L::V;
    using Reg = RegOf<C, V>;
    const Axis& a = *p.axis;
    const int64_t first = first_cell(a, p.j0) - p.c0, length = line_length(a, p.count);
    const auto row = [&](int64_t position) {
        const int64_t cell = first + position;
        return cell >= 0 && cell < p.cells ? in.v + cell * p.in_stride + i : absent;
    };
    const auto read = [](const T* from, int64_t lane) { return C::fresh(load<V>(from + lane * L::count)); };
    Reg all[N];
    int64_t until = 0;  // how many cells it is to the next window, of those that are a stride apart
    T* to = out.v + i;
    for (int64_t block = 0; block + a.k <= length; block += a.k) {
        const int64_t windows = least(a.k, length - a.k - block + 1);
        const T* cell = row(block + a.k - 1);
        each<N>(N,
                [&](int64_t n) { store(left + (a.k - 1) * N * L::count + n * L::count, (all[n] = read(cell, n)).v); });
        for (int64_t t = a.k - 2; t >= 0; --t) {
            cell = row(block + t);
            T* end = left + t * N * L::count;
            each<N>(N, [&](int64_t n) { store(end + n * L::count, (all[n] = C::combine(read(cell, n), all[n])).v); });
        }
        for (int64_t t = 0; t < windows; ++t) {
            if (t > 0) {
                cell = row(block + a.k + t - 1);
                each<N>(N, [&](int64_t n) { all[n] = t == 1 ? read(cell, n) : C::combine(all[n], read(cell, n)); });
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
inline void windows_by_sweeping(const Pass<C>& p, Source<C> in, Target<C> out, typename C::T* left,
                                const typename C::T* absent) {
    using T = typename C::T;
    constexpr int wide = kVectorBytes / sizeof(T), together = kSweepBytes / kVectorBytes;
    int64_t i = 0;
    for (; i + wide * together <= p.run; i += wide * together)
        sweep<C, Lane<T, kVectorBytes>, together>(p, in, out, i, left, absent);
    for (; i + wide <= p.run; i += wide) sweep<C, Lane<T, kVectorBytes>, 1>(p, in, out, i, left, absent);
    // The last ones, some of them a second time: runs are longer than a vector.
    if (i < p.run) sweep<C, Lane<T, kVectorBytes>, 1>(p, in, out, p.run - wide, left, absent);
}
