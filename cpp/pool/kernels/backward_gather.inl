// The backward pass of small windows as a gather: each element is written once, with the sum of the gradients of the
// windows that selected it. Nothing has to be zeroed or accumulated in memory.

// The windows that contain an element along an axis, `last` being the last of them; without dilation.
struct Containing {
    int64_t last, count;
};

inline Containing windows_of_element(const Axis& a, int64_t element) {
    const auto strides = [&](int64_t n) { return a.s == 2 ? n >> 1 : n / a.s; };  // a division costs as much as a row
    const int64_t at = element + a.low;
    const int64_t last = min(a.o - 1, strides(at)), first = at < a.k ? 0 : strides(at - a.k) + 1;
    return {last, max(0, last - first + 1)};
}

// The rows of gradients and argmax that contribute to a row of elements, in the order of the windows.
struct GradientRows {
    int64_t count;
    int64_t y[kGatheredRows];   // index of their first element
    int64_t id[kGatheredRows];  // the window offset that selects these elements, at the first tap along the row
};

inline GradientRows gradient_rows_of(const PoolSchedule& job, int depth, const int64_t* element,
                                     const Containing* containing, int64_t y) {
    GradientRows all;  // not zero-initialised: that takes longer than a short row
    all.count = 1;
    all.y[0] = y;
    all.id[0] = 0;
    for (int q = 0; q < depth; ++q) {
        const Axis& a = job.axis[q];
        const int64_t n = containing[q].count;
        for (int64_t i = all.count - 1; i >= 0; --i) {  // backwards, because it is in place
            const int64_t y0 = all.y[i], id0 = all.id[i];
            for (int64_t e = n - 1; e >= 0; --e) {
                const int64_t j = containing[q].last - n + 1 + e;
                all.y[i * n + e] = y0 + j * job.y_stride[q];
                all.id[i * n + e] = id0 + (element[q] + a.low - j * a.s) * job.weight[q];
            }
        }
        all.count *= n;
    }
    return all;
}

// Argmax offsets in lanes as wide as the values.
template <class W>
inline W argmax_at(const uint8_t* p) {
    if constexpr (!IsVector<W>::value) {
        return *p;
    } else {
#if defined(__AVX2__)
        int64_t packed = 0;
        if constexpr (sizeof(W) == 32 && sizeof(W{}[0]) == 4) {
            __builtin_memcpy(&packed, p, 8);
            return (W)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(packed));
        }
        if constexpr (sizeof(W) == 32 && sizeof(W{}[0]) == 8) {
            __builtin_memcpy(&packed, p, 4);
            return (W)_mm256_cvtepu8_epi64(_mm_cvtsi64_si128(packed));
        }
        if constexpr (sizeof(W) == 16 && sizeof(W{}[0]) == 4) {
            __builtin_memcpy(&packed, p, 4);
            return (W)_mm_cvtepu8_epi32(_mm_cvtsi64_si128(packed));
        }
#endif
        W w;
        for (int k = 0; k < static_cast<int>(sizeof(W) / sizeof(w[0])); ++k) w[k] = p[k];
        return w;
    }
}

// The values of windows or lanes i … whose argmax offset is `id`, zero elsewhere.
template <class L>
CENOTE_INLINE inline typename L::V selected_gradient(const typename L::Element* value, const uint8_t* argmax, int64_t i,
                                                     int64_t id) {
    using T = typename L::Element;
    using V = typename L::V;
    using U = Unsigned<T>;
    using W = typename Rebind<V, U>::type;
    if constexpr (L::count == 1) {  // a branch on it would be unpredictable
        const U bits = load<U>(value + i) & (U{0} - static_cast<U>(argmax[i] == id));
        return load<T>(&bits);
    }
    return argmax_at<W>(argmax + i) == splat<W>(static_cast<U>(id)) ? load<V>(value + i) : splat<V>(T{0});
}

template <class T>
struct GradientSources {
    const T* value[kGatheredRows];
    const uint8_t* argmax[kGatheredRows];
    int64_t id[kGatheredRows];
};

// The lanes of one element. Count = 0: any number of rows of gradients.
template <class T, int Count>
inline void gather_lanes(T* elements, const GradientSources<T>& from, int64_t count, int64_t n, bool streaming) {
    for_lanes<T>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using L = decltype(lane);
        auto all = splat<typename L::V>(T{0});
        each<Count>(count, [&](int64_t e) CENOTE_INLINE {
            all = all + selected_gradient<L>(from.value[e], from.argmax[e], i, from.id[e]);
        });
        store_or_stream(elements + i, all, streaming);
    });
}

// The next row of elements, `elements` elements on, if the last row of windows is the only one that contains it; there
// the argmax offset is larger by `id`.
struct NextRow {
    int64_t elements, id;
};

template <class V, int... I>
inline V next_lanes(V v, Seq<I...>) {  // 0 in the last lane
    return __builtin_shufflevector(v, V{}, (I + 1)...);
}

// A row of elements under windows with stride 2 and K taps along the row, or two rows (Pair). Element 2m - low is in
// window m, and as third tap in the one before; the next element is in window m alone. Vectors of elements start at the
// former or, if that is at an odd index, at the latter (Odd), so that rows consist of whole aligned vectors.
template <class T, int K, int Count, bool Pair, bool Odd, int Bytes>
inline void gather_row_gradient_by(T* elements, const Axis& a, int64_t weight, const GradientSources<T>& from,
                                   int64_t count, bool streaming, NextRow next) {
    using L = Lane<T, Bytes>;
    using V = typename L::V;
    constexpr int wide = L::count;
    const auto one = [&](int64_t element) {
        const Containing containing = windows_of_element(a, element);
        T all = 0, below = 0;
        for (int64_t e = 0; e < count; ++e)
            for (int64_t j = containing.last - containing.count + 1; j <= containing.last; ++j) {
                const int64_t id = from.id[e] + (element + a.low - 2 * j) * weight;
                all += selected_gradient<Lane<T, 0>>(from.value[e], from.argmax[e], j, id);
                if (Pair && e == count - 1)
                    below += selected_gradient<Lane<T, 0>>(from.value[e], from.argmax[e], j, id + next.id);
            }
        elements[element] = all;
        if (Pair) elements[element + next.elements] = below;
    };
    const int64_t start = Odd - a.low;  // the vector of window m starts at element 2m + start
    const int64_t first = max(K == 3 && !Odd ? 1 : 0, (1 - start) / 2), end = min(a.o, (a.n - start) / 2);
    if (end - first < wide) {
        // Planes of 14×14 have rows shorter than a vector.
        if constexpr (Bytes > 16)
            return gather_row_gradient_by<T, K, Count, Pair, Odd, 16>(elements, a, weight, from, count, streaming,
                                                                      next);
        for (int64_t c = 0; c < a.n; ++c) one(c);
        return;
    }
    for (int64_t c = 0; c < 2 * first + start; ++c) one(c);
    streaming = streaming && Bytes == kVectorBytes && (end - first) % wide == 0 &&
                vector_aligned(elements + 2 * first + start, next.elements * static_cast<int64_t>(sizeof(T)));
    for (int64_t i = first; i < end; i += wide) {
        const int64_t m = min(i, end - wide);
        const bool last = m + wide == a.o;  // no window follows
        const auto write = [&](T* to, V even, V odd) CENOTE_INLINE {
            V low, high;
            if constexpr (Odd)
                interleave(odd, even, low, high, typename MakeSeq<wide>::type{});
            else
                interleave(even, odd, low, high, typename MakeSeq<wide>::type{});
            store_or_stream(to + 2 * m + start, low, streaming);
            store_or_stream(to + 2 * m + start + wide, high, streaming);
        };
        V even = splat<V>(T{0}), odd = even, even_below = even, odd_below = even;
        each<Count>(count, [&](int64_t e) CENOTE_INLINE {
            const auto at = [&](int64_t j, int64_t id)
                                CENOTE_INLINE { return selected_gradient<L>(from.value[e], from.argmax[e], j, id); };
            const auto add_gradients = [&](V& to_even, V& to_odd, int64_t id) CENOTE_INLINE {
                if constexpr (K == 3) to_even = to_even + at(Odd ? m : m - 1, id + 2 * weight);
                if constexpr (Odd) {
                    V after = at(m + !last, id);
                    if (last) after = next_lanes(after, typename MakeSeq<wide>::type{});
                    to_even = to_even + after;
                } else {
                    to_even = to_even + at(m, id);
                }
                to_odd = to_odd + at(m, id + weight);
            };
            add_gradients(even, odd, from.id[e]);
            if (Pair && e == count - 1) add_gradients(even_below, odd_below, from.id[e] + next.id);
        });
        write(elements, even, odd);
        if constexpr (Pair) write(elements + next.elements, even_below, odd_below);
    }
    for (int64_t c = 2 * end + start; c < a.n; ++c) one(c);
}

template <class T, int K, int Count, bool Pair = false>
inline void gather_row_gradient(T* elements, const Axis& a, int64_t weight, const GradientSources<T>& from,
                                int64_t count, bool streaming, NextRow next = {}) {
    if (a.low % 2)
        gather_row_gradient_by<T, K, Count, Pair, true, kVectorBytes>(elements, a, weight, from, count, streaming,
                                                                      next);
    else
        gather_row_gradient_by<T, K, Count, Pair, false, kVectorBytes>(elements, a, weight, from, count, streaming,
                                                                       next);
}

// A row of elements with lanes.
template <class T>
inline void gather_elements(T* elements, const PoolSchedule& job, const GradientSources<T>& rows, int64_t count,
                            int64_t begin, int64_t end) {
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const int64_t step = job.y_stride[last], weight = job.weight[last], n = job.lanes;
    const bool streaming = job.streaming && vector_aligned(elements, n * static_cast<int64_t>(sizeof(T)));
    for (int64_t c = begin; c < end; ++c) {
        const Containing containing = windows_of_element(a, c);
        T* to = elements + c * n;
        GradientSources<T> from;
        int64_t all = 0;
        for (int64_t e = 0; e < count; ++e) {
            for (int64_t j = containing.last - containing.count + 1; j <= containing.last; ++j) {
                from.value[all] = rows.value[e] + j * step;
                from.argmax[all] = rows.argmax[e] + j * step;
                from.id[all++] = rows.id[e] + (c + a.low - j * a.s) * weight;
            }
        }
        if (all == 1)
            gather_lanes<T, 1>(to, from, 1, n, streaming);
        else if (all == 2)
            gather_lanes<T, 2>(to, from, 2, n, streaming);
        else if (all == 4)
            gather_lanes<T, 4>(to, from, 4, n, streaming);
        else
            gather_lanes<T, 0>(to, from, all, n, streaming);
    }
}

// Task: an outer position and a slab of tile[0] elements of axis 0, or a whole row. Writes to x, see scatter_slab.
template <class T>
void gather_gradient(const PoolSchedule& job, int64_t task, Arena*) {
    const int64_t slab = task % job.tiles[0];
    task /= job.tiles[0];
    char* x = const_cast<char*>(job.x);
    int64_t y = 0;
    for (int i = job.outer - 1; i >= 0; --i) {
        x += task % job.outer_size[i] * job.outer_x[i];
        y += task % job.outer_size[i] * job.outer_y[i];
        task /= job.outer_size[i];
    }
    const bool lanes = rows_are_lanes(job);
    const int last = job.rank - 1;
    const int64_t weight = job.weight[last];
    const int64_t begin = slab * job.tile[0];
    int64_t extent[kMaxDims] = {}, element[kMaxDims] = {};
    for (int q = 0; q < job.rank; ++q) extent[q] = job.axis[q].n;
    extent[0] = min(job.tile[0], job.axis[0].n - begin);
    // Rows of elements: along the last axis, each element with its lanes.
    const int rows = job.rank - 1;
    const Axis& a = job.axis[last];
    const int64_t along_begin = rows ? 0 : begin, along_end = rows ? a.n : begin + extent[0];
    const int inner = rows - 1;
    Containing containing[kMaxDims] = {};
    const auto add_gradients = [&](T* elements, NextRow next) {
        const GradientRows gradient_rows = gradient_rows_of(job, rows, element, containing, y);
        GradientSources<T> from;
        for (int64_t e = 0; e < gradient_rows.count; ++e) {
            from.value[e] = reinterpret_cast<const T*>(job.y) + gradient_rows.y[e];
            from.argmax[e] = static_cast<const uint8_t*>(job.argmax) + gradient_rows.y[e];
            from.id[e] = gradient_rows.id[e];
        }
        if (lanes) {
            gather_elements(elements, job, from, gradient_rows.count, along_begin, along_end);
        } else if (gradient_rows.count == 0) {
            __builtin_memset(elements, 0, static_cast<size_t>(a.n) * sizeof(T));
        } else if (a.k == 2) {
            if (next.elements)
                return gather_row_gradient<T, 2, 1, true>(elements, a, weight, from, 1, job.streaming, next);
            if (gradient_rows.count == 1)
                return gather_row_gradient<T, 2, 1>(elements, a, weight, from, 1, job.streaming);
            gather_row_gradient<T, 2, 0>(elements, a, weight, from, gradient_rows.count, job.streaming);
        } else {
            if (next.elements && gradient_rows.count == 1)
                return gather_row_gradient<T, 3, 1, true>(elements, a, weight, from, 1, job.streaming, next);
            if (next.elements)
                return gather_row_gradient<T, 3, 2, true>(elements, a, weight, from, 2, job.streaming, next);
            if (gradient_rows.count == 1)
                return gather_row_gradient<T, 3, 1>(elements, a, weight, from, 1, job.streaming);
            if (gradient_rows.count == 2)
                return gather_row_gradient<T, 3, 2>(elements, a, weight, from, 2, job.streaming);
            gather_row_gradient<T, 3, 0>(elements, a, weight, from, gradient_rows.count, job.streaming);
        }
    };
    if (rows == 0) {
        add_gradients(reinterpret_cast<T*>(x), {});
        if (job.streaming) fence_stores();
        return;
    }
    int64_t done = 0;
    for_rows(inner, extent, [&](const int64_t* at) {
        char* plane = x;
        bool single = true;
        for (int q = 0; q < inner; ++q) {
            element[q] = at[q] + (q ? 0 : begin);
            containing[q] = windows_of_element(job.axis[q], element[q]);
            single &= containing[q].count == 1;
            plane += element[q] * job.x_stride[q];
        }
        const int64_t from = inner ? 0 : begin, end = from + extent[inner], step = job.x_stride[inner];
        Containing below = windows_of_element(job.axis[inner], from);
        for (int64_t c = from; c < end; ++c) {
            T* elements = reinterpret_cast<T*>(plane + c * step);
            count_done(done, a.n * job.lanes);
            element[inner] = c;
            containing[inner] = below;
            if (c + 1 < end) below = windows_of_element(job.axis[inner], c + 1);
            // If only the last row of windows of this row contains the next row, its values are read once for both; for
            // the common counts only.
            const bool pair = !lanes && single && c + 1 < end && below.count == 1 &&
                              below.last == containing[inner].last && containing[inner].count > 0 &&
                              containing[inner].count <= (a.k == 3 ? 2 : 1);
            add_gradients(elements,
                          pair ? NextRow{step / static_cast<int64_t>(sizeof(T)), job.weight[inner]} : NextRow{});
            if (!pair) continue;
            if (++c + 1 < end) below = windows_of_element(job.axis[inner], c + 1);
        }
    });
    if (job.streaming) fence_stores();
}
