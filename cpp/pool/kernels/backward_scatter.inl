// Scatter-add: each window's value is added to the element at its argmax. The adjoint of gathering by argmax.
//
// A task owns the elements of one plane, or of a slab of its rows. It zeroes them as it reaches them and adds in the
// order of the windows, so that a sum does not depend on how the plane is divided. Small windows are processed tap by
// tap in whole vectors (add the value where the argmax is this tap, zero elsewhere), large ones window by window. The
// values are the user's array, which need not be aligned.

constexpr int64_t kTapByTap = 32;  // window size up to which that is faster; equal at about 40 for float32

// to[i] += value[i] where the argmax is `id`.
template <class T>
inline void add_where(T* to, const T* value, const Unsigned<T>* argmax, int64_t id, int64_t n) {
    using U = Unsigned<T>;
    for_lanes<T>(n, [&](auto lane, int64_t i) {
        using V = typename decltype(lane)::V;
        using W = typename Rebind<V, U>::type;
        const V masked = load<W>(argmax + i) == splat<W>(static_cast<U>(id)) ? load<V>(value + i) : splat<V>(T{0});
        store(to + i, load<V>(to + i) + masked);
    });
}

// The same for two neighbouring taps of windows with stride 2: to[2i] and to[2i + 1]. second < 0: the first tap only.
template <class T>
inline void add_where_2(T* to, const T* value, const Unsigned<T>* argmax, int64_t first, int64_t second, int64_t n) {
    using U = Unsigned<T>;
    using V = typename Lane<T, kVectorBytes>::V;
    using W = typename Rebind<V, U>::type;
    constexpr int wide = Lane<T, kVectorBytes>::count;
    // The largest number marks empty windows, so the number below it stands for a missing second tap.
    const U one = static_cast<U>(first), other = static_cast<U>(second < 0 ? ~U{0} - 1 : static_cast<U>(second));
    int64_t i = 0;
    for (; i + wide <= n; i += wide) {
        const V v = load<V>(value + i);
        const W w = load<W>(argmax + i);
        V low, high;
        interleave(V(w == splat<W>(one) ? v : V{}), V(w == splat<W>(other) ? v : V{}), low, high,
                   typename MakeSeq<wide>::type{});
        store(to + 2 * i, load<V>(to + 2 * i) + low);
        store(to + 2 * i + wide, load<V>(to + 2 * i + wide) + high);
    }
    for (; i < n; ++i) {
        const T v = load<T>(value + i);
        if (argmax[i] == one) to[2 * i] += v;
        if (argmax[i] == other) to[2 * i + 1] += v;
    }
}

// The windows along a row with stride 2 for which tap t, tap t + 1, or both are not padding.
struct Pair {
    Span first, second, both;
};

template <class T>
struct ScatterContext {
    const PoolSchedule& job;
    char* x;              // address of the plane
    int64_t y;            // index of its first window
    int64_t begin, end;   // the elements of axis 0 that this task owns
    Unsigned<T>* argmax;  // a row of argmax offsets in lanes as wide as the values
    int64_t* tap;         // the tap numbers of tap i along each axis before the row
    int64_t taps;
    Pair* pairs;  // for each tap along the row
};

// The address of tap i of a row of windows and its window offset; false if this task does not own it.
template <class T>
inline bool locate_tap(const ScatterContext<T>& s, const int64_t* at, int depth, int64_t i, char*& elements,
                       int64_t& id) {
    elements = s.x;
    id = 0;
    for (int q = 0; q < depth; ++q) {
        const Axis& a = s.job.axis[q];
        const int64_t t = s.tap[i * depth + q], element = window_start(a, at[q]) + t * a.d;
        if (element < (q ? 0 : s.begin) || element >= (q ? a.n : s.end)) return false;
        elements += element * s.job.x_stride[q];
        id += t * s.job.weight[q];
    }
    return true;
}

inline Pair pair_at(const Axis& a, int64_t t) {
    // The windows whose elements `low` … `high` after the first exist.
    const auto windows = [&](int64_t low, int64_t high) {
        const int64_t first = min(a.o, max(0, ceil_div(a.low - low, a.s)));
        return Span{first, max(first, min(a.o, floor_div(a.n - 1 + a.low - high, a.s) + 1))};
    };
    const int64_t at = t * a.d;
    return {windows(at, at), t + 1 < a.k ? windows(at + 1, at + 1) : Span{0, 0}, windows(at, at + 1)};
}

// Adds a row of windows along the innermost axis to the row of elements at one tap of the other axes. Later taps first:
// for an element, that is the order of the windows.
template <class T>
inline void scatter_row(const ScatterContext<T>& s, T* elements, const T* value, int64_t id) {
    const int last = s.job.rank - 1;
    const Axis& a = s.job.axis[last];
    const int64_t weight = s.job.weight[last];
    if (a.s == 1) {
        for (int64_t t = a.k - 1; t >= 0; --t) {
            const Span w = s.pairs[t].first;
            add_where(elements + w.begin - a.low + t * a.d, value + w.begin, s.argmax + w.begin, id + t * weight,
                      w.end - w.begin);
        }
        return;
    }
    for (int64_t t = (a.k - 1) / 2 * 2; t >= 0; t -= 2) {  // s = 2, d = 1
        const Pair& pair = s.pairs[t];
        const auto alone = [&](Span all, int64_t tap) {  // at the ends, where one of the two taps is padding
            for (int64_t j = all.begin; j < all.end; ++j) {
                if (j == pair.both.begin) j = pair.both.end;
                if (j < all.end && s.argmax[j] == static_cast<Unsigned<T>>(id + tap * weight))
                    elements[2 * j - a.low + tap] += load<T>(value + j);
            }
        };
        alone(pair.first, t);
        alone(pair.second, t + 1);
        const Span w = pair.both;
        add_where_2(elements + 2 * w.begin - a.low + t, value + w.begin, s.argmax + w.begin, id + t * weight,
                    t + 1 < a.k ? id + (t + 1) * weight : -1, w.end - w.begin);
    }
}

inline bool tap_by_tap(const PoolSchedule& job) {
    if (job.window_elements > kTapByTap) return false;
    for (int q = 0; q < job.rank; ++q)
        if (job.axis[q].starts) return false;
    if (rows_are_lanes(job)) return true;
    const Axis& a = job.axis[job.rank - 1];
    return a.s == 1 || (a.s == 2 && a.d == 1);
}

// Task: an outer position and a slab of tile[0] elements of axis 0. With `direct` the plane is contiguous and zeroed
// here, otherwise it has been zeroed before. Writes to x, which is const in a PoolSchedule because all other kernels
// read it.
template <class T, class O>
void scatter_slab(const PoolSchedule& job, int64_t task, Arena* arena) {
    const int64_t slab = task % job.tiles[0];
    task /= job.tiles[0];
    const int64_t begin = slab * job.tile[0], end = min(begin + job.tile[0], job.axis[0].n);
    ScatterContext<T> s{job, const_cast<char*>(job.x), 0, begin, end, nullptr, nullptr, 0, nullptr};
    for (int i = job.outer - 1; i >= 0; --i) {
        s.x += task % job.outer_size[i] * job.outer_x[i];
        s.y += task % job.outer_size[i] * job.outer_y[i];
        task /= job.outer_size[i];
    }
    const bool lanes = rows_are_lanes(job), by_tap = tap_by_tap(job);
    const int depth = row_depth(job), last = job.rank - 1;
    const int64_t n = lanes ? job.lanes : job.axis[last].o;
    const O none = static_cast<O>(~O{0});

    int64_t* along = nullptr;      // byte offset of each window of a row
    int64_t* distance = nullptr;   // byte offset of each tap in its window
    int64_t* first_tap = nullptr;  // the position along axis 0 of each tap
    if (by_tap) {
        s.argmax = take<Unsigned<T>>(arena, n);
        if (!lanes) {
            s.pairs = take<Pair>(arena, job.axis[last].k);
            for (int64_t t = 0; t < job.axis[last].k; ++t) s.pairs[t] = pair_at(job.axis[last], t);
        }
        s.taps = 1;
        for (int q = 0; q < depth; ++q) s.taps *= job.axis[q].k;
        s.tap = take<int64_t>(arena, s.taps * depth + 1);
        for (int64_t i = 0; i < s.taps; ++i) {
            int64_t rest = i;
            for (int q = depth - 1; q >= 0; --q) {
                s.tap[i * depth + q] = rest % job.axis[q].k;
                rest /= job.axis[q].k;
            }
        }
    } else {
        along = take<int64_t>(arena, n);
        for (int64_t i = 0; i < n; ++i)
            along[i] = lanes ? i * job.lane_stride : window_start(job.axis[last], i) * job.x_stride[last];
        if (job.window_elements <= 4096) {
            distance = take<int64_t>(arena, job.window_elements);
            first_tap = take<int64_t>(arena, job.window_elements);
        }
    }
    const auto decode = [&](int64_t offset, int64_t& row) {
        int64_t bytes = 0;
        for (int q = 0; q < job.rank; ++q) {
            const int64_t t = offset / job.weight[q] % job.axis[q].k * job.axis[q].d;
            bytes += t * job.x_stride[q];
            if (q == 0) row = t;
        }
        return bytes;
    };
    if (distance)
        for (int64_t i = 0; i < job.window_elements; ++i) distance[i] = decode(i, first_tap[i]);

    // Elements along axis 0 are zeroed just before the first window that contains them.
    const Axis& outermost = job.axis[0];
    int64_t zeroed = s.begin, done = 0;
    const auto zero_to = [&](int64_t element) {
        element = min(element, s.end);
        if (!job.direct || element <= zeroed) return;
        zero_bytes(s.x + zeroed * job.x_stride[0], (element - zeroed) * job.x_stride[0], done);
        zeroed = element;
    };
    if (outermost.starts || depth == 0) zero_to(s.end);

    int64_t windows[kMaxDims], at[kMaxDims];
    Span rows{0, outermost.o};
    if (depth > 0 && !outermost.starts && job.tiles[0] > 1) {  // those that overlap this slab
        rows.begin = max(0, ceil_div(s.begin + outermost.low - (outermost.k - 1) * outermost.d, outermost.s));
        rows.end = min(outermost.o, floor_div(s.end - 1 + outermost.low, outermost.s) + 1);
    }
    for (int q = 0; q < depth; ++q) windows[q] = job.axis[q].o;
    if (depth > 0) windows[0] = rows.end - rows.begin;
    for_rows(depth, windows, [&](const int64_t* counted) {
        int64_t y = s.y;
        for (int q = 0; q < depth; ++q) {
            at[q] = counted[q] + (q ? 0 : rows.begin);
            y += at[q] * job.y_stride[q];
        }
        if (depth > 0 && !outermost.starts)
            zero_to(window_start(outermost, at[0]) + (outermost.k - 1) * outermost.d + 1);
        const T* value = reinterpret_cast<const T*>(job.y) + y;
        const O* argmax = static_cast<const O*>(job.argmax) + y;
        count_done(done, n);
        if (by_tap) {
            for (int64_t i = 0; i < n; ++i)
                s.argmax[i] = argmax[i] == none ? static_cast<Unsigned<T>>(~Unsigned<T>{0}) : argmax[i];
            for (int64_t i = 0; i < s.taps; ++i) {
                char* elements;
                int64_t id;
                if (!locate_tap(s, at, depth, i, elements, id)) continue;
                if (lanes)
                    add_where(reinterpret_cast<T*>(elements), value, s.argmax, id, n);
                else
                    scatter_row(s, reinterpret_cast<T*>(elements), value, id);
            }
            return;
        }
        char* row = s.x;
        int64_t first = 0;
        for (int q = 0; q < depth; ++q) row += window_start(job.axis[q], at[q]) * job.x_stride[q];
        if (depth > 0) first = window_start(outermost, at[0]);
        for (int64_t i = 0; i < n; ++i) {
            if (argmax[i] == none) continue;
            const int64_t offset = static_cast<int64_t>(argmax[i]);
            int64_t tap = 0;
            const int64_t bytes = distance ? distance[offset] : decode(offset, tap);
            if (distance) tap = first_tap[offset];
            if (depth > 0 && (first + tap < s.begin || first + tap >= s.end)) continue;
            *reinterpret_cast<T*>(row + along[i] + bytes) += load<T>(value + i);
        }
    });
    zero_to(s.end);
}
