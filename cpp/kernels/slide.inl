// Max and min of small windows that overlap, of floats, of integers, and of halves by the order of their bits.
// The last rows are held, each joined along itself. The next row is joined along itself, held, joined with those before
// it and written, in one go: two passes would spend more time on getting from one row of a few vectors to the next than
// on the rows.

constexpr int64_t kSlideTaps = 3;  // along an axis

template <class T_, bool Largest>
struct Numbers {
    using T = T_;
    using C = Pick<T, Largest, false>;
    template <class V>
    using Reg = RegOf<C, V>;
    struct Look {
        explicit Look(const Numbers&) {}
        void keep(Numbers&) const {}
        template <class V>
        void at(V) {}
    };

    explicit Numbers(const Job&) {}
    static T none() { return C::absent(); }
    template <class V>
    static Reg<V> fresh(V cell) {
        return {cell};
    }
    template <class V>
    static Reg<V> held(V v) {
        return {v};
    }
    template <class V>
    static V cell(Reg<V> r) {
        return r.v;
    }
    static bool wild() { return false; }
};

// Halves by their keys, which do not tell a -0.0 or a NaN: all cells are searched for them.
template <bool Largest>
struct Halves {
    using T = int16_t;
    using C = Pick<T, Largest, false>;
    template <class V>
    using Reg = RegOf<C, V>;
    static constexpr int wide = Lane<T, kVectorBytes>::count;
    T least[wide] = {}, largest[wide] = {};  // of the bits, and of the bits without the sign
    T infinity;
    struct Look {
        using Wide = typename Lane<T, kVectorBytes>::V;
        Wide least, largest;
        explicit Look(const Halves& all) : least(load<Wide>(all.least)), largest(load<Wide>(all.largest)) {}
        void keep(Halves& all) const {
            store(all.least, least);
            store(all.largest, largest);
        }
        template <class V>
        void at(V cell) {
            const V size = half_size(cell);
            if constexpr (IsVector<V>::value) {
                least = cell < least ? cell : least;
                largest = size > largest ? size : largest;
            } else {
                least[0] = cell < least[0] ? cell : least[0];
                largest[0] = size > largest[0] ? size : largest[0];
            }
        }
    };

    explicit Halves(const Job& job) : infinity(half_infinity(job.in)) {}
    T none() const { return static_cast<T>(Largest ? infinity | INT16_MIN : infinity); }
    template <class V>
    static Reg<V> fresh(V cell) {
        return {half_key(cell, half_size(cell))};
    }
    template <class V>
    static Reg<V> held(V v) {
        return {v};
    }
    template <class V>
    static V cell(Reg<V> r) {
        return half_of_key(r.v);
    }
    bool wild() const {
        bool found = false;
        for (int k = 0; k < wide; ++k) found |= least[k] == INT16_MIN || largest[k] > infinity;
        return found;
    }
};

// All halves: keys decide, in which a NaN beats all others, and the bits of the first of equal ones go with them.
template <bool Largest>
struct WildHalves {
    using T = int16_t;
    using C = WildHalves;
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
    T infinity, quiet;

    explicit WildHalves(const Job& job) : infinity(half_infinity(job.in)), quiet(half_quiet(job.in)) {}
    T none() const { return static_cast<T>(Largest ? infinity | INT16_MIN : infinity); }
    static constexpr T nan() { return Largest ? INT16_MAX : INT16_MIN; }
    template <class V>
    Reg<V> fresh(V cell) const {
        const V size = half_size(cell), key = half_key(cell, size);
        return {cell, size > infinity ? splat<V>(nan()) : key};
    }
    template <class V>
    Reg<V> held(V v) const {
        return fresh(v);
    }
    template <class V>
    V cell(Reg<V> r) const {
        return r.key == nan() ? V(r.v | quiet) : r.v;
    }
    template <class V>
    static Reg<V> combine(Reg<V> a, Reg<V> b) {
        const auto later = Largest ? b.key > a.key : b.key < a.key;
        return {later ? b.v : a.v, later ? b.key : a.key};
    }
    static bool wild() { return false; }
};

// What is held of the last rows, and where rows of cells and of results lie: bytes from one to the next.
template <class T>
struct Slide {
    T* held[kSlideTaps];
    int64_t x_step, y_step;
    // Where windows are cut, rows are laid between cells that lose against any other. There are two places for them by
    // turns: a row that was written just now is slow to read. Max 3×3 s1 p1 of 16 planes of 112×112, with windows that
    // are cut one by one: 235 µs; in one place: 90 µs; in two: 76 µs.
    T* lines[2];             // null: cells are read where they lie
    int64_t before, inside;  // padding in front of a row, and its cells
};

// `count` rows of n windows side by side, at least as many as a vector has lanes: K cells of the row x and what is held
// of the Rows - 1 rows before it. Only cells of the windows are read.
template <class N, int K, int Rows>
CENOTE_ONCE void slide_rows(N& given, const Slide<typename N::T>& slide, const char* x, char* y, int64_t n,
                            int64_t count) {
    using T = typename N::T;
    using C = typename N::C;
    using V = typename Lane<T, kVectorBytes>::V;
    using Reg = typename N::template Reg<V>;
    constexpr int64_t size = sizeof(T), wide = Lane<T, kVectorBytes>::count;
    const N numbers = given;  // which no store can change
    typename N::Look look(given);
    T* held[Rows];
    for (int t = 0; t < Rows; ++t) held[t] = slide.held[t];
    const auto lay = [&](int64_t row, const char* cells) {
        copy_row(slide.lines[row % 2] + slide.before, reinterpret_cast<const T*>(cells), slide.inside);
    };
    if (slide.lines[0]) lay(0, x);
    for (int64_t row = 0; row < count; ++row, x += slide.x_step, y += slide.y_step) {
        const char* from = x;
        if (slide.lines[0]) {
            if (row + 1 < count) lay(row + 1, x + slide.x_step);
            from = reinterpret_cast<const char*>(slide.lines[row % 2]);
        }
        for (int64_t i = 0; i < n; i += wide) {
            const int64_t at = i < n - wide ? i : n - wide;  // the last ones, some of them a second time
            const V cell = load<V>(from + at * size);
            look.at(cell);
            Reg all = numbers.fresh(cell);
            each<K>(K, [&](int64_t t) CENOTE_INLINE {
                if (t) all = C::combine(all, numbers.fresh(load<V>(from + (at + t) * size)));
            });
            store(held[Rows - 1] + i, all.v);  // each vector has a place of its own: parts of two are slow to read
            const auto before = [&](int t) CENOTE_INLINE { return numbers.held(load<V>(held[t] + i)); };
            if constexpr (Rows == 2) all = C::combine(before(0), all);
            if constexpr (Rows == 3) all = C::combine(C::combine(before(0), before(1)), all);
            store(y + at * size, numbers.cell(all));
        }
        look.at(load<V>(from + (n - wide + K - 1) * size));  // the last cells of the row
        T* oldest = held[0];
        for (int t = 0; t < Rows - 1; ++t) held[t] = held[t + 1];
        held[Rows - 1] = oldest;
    }
    look.keep(given);
}

// Window j of a row, from its own cells; `rows` rows of them, the first one at x.
template <class N>
CENOTE_ONCE void slide_alone(N& numbers, const Axis& a, int64_t j, const char* x, int64_t rows, int64_t step, char* y) {
    using T = typename N::T;
    const Span taps = real_taps(a, j);
    typename N::Look look(numbers);
    typename N::template Reg<T> all{};
    bool first = true;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t t = taps.begin; t < taps.end; ++t) {
            const T cell = load<T>(reinterpret_cast<const T*>(x + r * step) + first_cell(a, j) + t);
            look.at(cell);
            all = first ? numbers.fresh(cell) : N::C::combine(all, numbers.fresh(cell));
            first = false;
        }
    look.keep(numbers);
    store(y, first ? numbers.none() : numbers.cell(all));
}

template <class N>
void slide_tile(const Job& job, int64_t task, Arena* arena) {
    using T = typename N::T;
    using Rows = void (*)(N&, const Slide<T>&, const char*, char*, int64_t, int64_t);
    static constexpr Rows ways[][kSlideTaps] = {{&slide_rows<N, 2, 1>, &slide_rows<N, 2, 2>, &slide_rows<N, 2, 3>},
                                                {&slide_rows<N, 3, 1>, &slide_rows<N, 3, 2>, &slide_rows<N, 3, 3>}};
    constexpr int64_t size = sizeof(T);
    const Box b = locate(job, task);
    const int last = job.rank - 1;
    const Axis &a = job.axis[last], &up = job.axis[0];
    const Rows* way = ways[a.k - 2];
    const Span whole = whole_windows(a, b.j0[last], b.count[last]);
    const Span sound = last ? whole_windows(up, b.j0[0], b.count[0]) : Span{0, 1};
    const int64_t n = b.count[last], rows = last ? b.count[0] : 1, wide = Lane<T, kVectorBytes>::count;
    const bool together = n >= wide, cut = whole.begin > 0 || whole.end < n;
    N numbers(job);
    Slide<T> slide{{}, last ? job.x_stride[0] : 0, last ? job.y_stride[0] * size : 0, {}, 0, 0};
    const int64_t first = most(first_cell(a, b.j0[last]), 0);
    if (together && cut) {
        const int64_t length = n + a.k - 1;
        slide.before = least(most(-first_cell(a, b.j0[last]), 0), length);
        slide.inside = most(0, least(a.n - first, length - slide.before));
        for (T*& line : slide.lines) {
            line = take<T>(arena, length);
            for (int64_t i = 0; i < length; ++i) line[i] = numbers.none();
        }
    }
    for (T*& row : slide.held) row = take<T>(arena, together ? n + wide : 0);
    char* unused = reinterpret_cast<char*>(take<T>(arena, together ? n : 0));
    for (int64_t i = 0, next; i < rows; i = next) {
        // Rows of windows that lack no row of cells are gone through together.
        next = i >= sound.begin && i < sound.end ? sound.end : i + 1;
        const Span taps = last ? real_taps(up, b.j0[0] + i) : Span{0, 1};
        const int64_t count = taps.end - taps.begin;
        const char* x = b.x + (last ? first_cell(up, b.j0[0] + i) + taps.begin : 0) * slide.x_step;
        char* y = job.y + b.y * size + i * slide.y_step;
        if (together && count > 0) {
            for (int64_t t = 0; t < count - 1; ++t) {
                Slide<T> one = slide;
                one.held[0] = slide.held[t];
                way[0](numbers, one, x + t * slide.x_step + first * size, unused, n, 1);
            }
            way[count - 1](numbers, slide, x + (count - 1) * slide.x_step + first * size, y, n, next - i);
            continue;
        }
        for (int64_t r = 0; r < next - i; ++r, x += slide.x_step, y += slide.y_step)
            for (int64_t j = 0; j < n; ++j)
                slide_alone(numbers, a, b.j0[last] + j, x, count, slide.x_step, y + j * size);
    }
    if (!numbers.wild()) return;
    if constexpr (__is_same(N, Halves<true>)) slide_tile<WildHalves<true>>(job, task, arena);
    if constexpr (__is_same(N, Halves<false>)) slide_tile<WildHalves<false>>(job, task, arena);
}

template <bool Largest>
TaskFn sliding(const Job& job) {
    const int last = job.rank - 1;
    if (rows_are_lanes(job) || job.rank > 2 || job.winners || job.omit || job.swap || job.prepare != Prepare::none ||
        job.out != job.in || job.physical_padding || job.x_stride[last] != size_of(job.in))
        return nullptr;
    const Axis &a = job.axis[last], &up = job.axis[0];
    if (a.starts || a.s > 1 || a.d > 1 || a.k < 2 || a.k > kSlideTaps || a.o * size_of(job.in) < kVectorBytes)
        return nullptr;
    if (last && (up.starts || up.s > 1 || up.d > 1 || up.k > kSlideTaps)) return nullptr;
    // Of floats that tie the first one stays: the order of the axes must be that of the window.
    const bool in_order = job.pass[0] == last;
    switch (job.in) {
        case DType::i8: return &slide_tile<Numbers<int8_t, Largest>>;
        case DType::u8: return &slide_tile<Numbers<uint8_t, Largest>>;
        case DType::i16: return &slide_tile<Numbers<int16_t, Largest>>;
        case DType::u16: return &slide_tile<Numbers<uint16_t, Largest>>;
        case DType::i32: return &slide_tile<Numbers<int32_t, Largest>>;
        case DType::u32: return &slide_tile<Numbers<uint32_t, Largest>>;
        case DType::i64: return &slide_tile<Numbers<int64_t, Largest>>;
        case DType::u64: return &slide_tile<Numbers<uint64_t, Largest>>;
        case DType::f16:
        case DType::bf16: return in_order ? &slide_tile<Halves<Largest>> : nullptr;
        case DType::f32: return in_order ? &slide_tile<Numbers<float, Largest>> : nullptr;
        case DType::f64: return in_order ? &slide_tile<Numbers<double, Largest>> : nullptr;
        default: return nullptr;
    }
}
