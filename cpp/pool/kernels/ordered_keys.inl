// Max and min of float16 and bfloat16 by separable passes over int16 keys: twice as many lanes as float32, and nothing
// is widened.
//
// Keys (simd/convert.inl) distinguish neither the two zeros nor different NaN, of which the first must be returned with
// its own bits. So a tile that contains a -0.0 or a NaN is widened to float32 after all.

struct HalfKeys {
    int16_t flip;      // all ones for a minimum, which is the maximum of the flipped keys
    int16_t infinity;  // its bits
    int16_t absent;    // the key of padding and of omitted NaN
    int16_t none;      // the bits of the result of an empty window
    bool omit;
};

inline HalfKeys half_keys(const PoolSchedule& job) {
    const bool largest = job.reduce == Reduce::max;
    const int16_t infinity = half_infinity(job.in);
    const int16_t least = static_cast<int16_t>(largest ? infinity | INT16_MIN : infinity);
    return {static_cast<int16_t>(largest ? 0 : -1), infinity, MaxReducer<int16_t, true, false>::absent(),
            job.omit ? static_cast<int16_t>(infinity | half_quiet(job.in)) : least, job.omit};
}

// A row of bits to keys; returns whether any of them is ambiguous.
CENOTE_ONCE bool bits_to_keys(const HalfKeys& given, int16_t* keys, const char* bits, int64_t n) {
    const HalfKeys how = given;  // a copy: stores cannot alias it
    constexpr int64_t wide = Lane<int16_t, kVectorBytes>::count;
    typename Lane<int16_t, kVectorBytes>::V least{}, largest{};
    int16_t least_alone = 0, largest_alone = 0;
    for_lanes_overlapping<int16_t>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V element = load<V>(bits + 2 * i);
        const V size = half_size(element), key = half_key(element, size);
        store(keys + i, size > how.infinity ? splat<V>(how.absent) : V(key ^ how.flip));
        if constexpr (decltype(lane)::count == wide) {
            least = element < least ? element : least;
            largest = size > largest ? size : largest;
        } else {
            int16_t elements[decltype(lane)::count], sizes[decltype(lane)::count];
            store(elements, element);
            store(sizes, size);
            for (int k = 0; k < decltype(lane)::count; ++k) {
                least_alone = elements[k] < least_alone ? elements[k] : least_alone;
                largest_alone = sizes[k] > largest_alone ? sizes[k] : largest_alone;
            }
        }
    });
    for (int k = 0; k < wide; ++k) {
        least_alone = least[k] < least_alone ? least[k] : least_alone;
        largest_alone = largest[k] > largest_alone ? largest[k] : largest_alone;
    }
    return least_alone == INT16_MIN || (largest_alone > how.infinity && !how.omit);  // INT16_MIN is -0.0
}

CENOTE_ONCE void keys_to_bits(const HalfKeys& given, char* bits, const int16_t* keys, int64_t n) {
    const HalfKeys how = given;
    for_lanes_overlapping<int16_t>(n, [&](auto lane, int64_t i) CENOTE_INLINE {
        using V = typename decltype(lane)::V;
        const V key = load<V>(keys + i);
        store(bits + 2 * i, key == how.absent ? splat<V>(how.none) : half_of_key(V(key ^ how.flip)));
    });
}

template <bool Largest>
void max_of_widened_halves(const PoolSchedule& job, int64_t task, Arena* arena) {
    job.omit ? max_tile<MaxReducer<float, Largest, true>>(job, task, arena)
             : max_tile<MaxReducer<float, Largest, false>>(job, task, arena);
}

void max_of_halves(const PoolSchedule& job, int64_t task, Arena* arena) {
    using C = MaxReducer<int16_t, true, false>;
    const PoolTile b = locate(job, task);
    const HalfKeys how = half_keys(job);
    View in;
    int16_t* keys = take<int16_t>(arena, contiguous_strides(job.rank, b.elements, b.lanes, in.stride));
    in.base = {bytes(keys), nullptr};
    const InputRows rows = input_rows(job, b);
    int16_t* copy = take<int16_t>(arena, min(rows.n, kCheckpointElements));
    bool ambiguous = false;
    int64_t done = 0;
    for_input_rows(job, b, rows, [&](const char* row) {
        in_parts(rows.n, done, [&](int64_t first, int64_t n) {
            const char* from = row + first * rows.stride;
            if (rows.stride != 2 || job.swap) {
                load_row(DType::i16, copy, from, rows.stride, n, job.swap);
                from = reinterpret_cast<const char*>(copy);
            }
            ambiguous |= bits_to_keys(how, keys, from, n);
            keys += n;
        });
    });
    if (ambiguous)
        return job.reduce == Reduce::max ? max_of_widened_halves<true>(job, task, arena)
                                         : max_of_widened_halves<false>(job, task, arena);
    const View found = run_passes(row_kernels<C>, job, b, in, nullptr, arena);
    for_result_rows(job, b, found.stride, [&](const int64_t*, int64_t offset, int64_t y, int64_t n) {
        keys_to_bits(how, job.y + 2 * y, reinterpret_cast<const int16_t*>(found.base.v) + offset, n);
    });
}
