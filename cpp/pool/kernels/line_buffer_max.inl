// Max and min of small windows that overlap, with their argmax or without.
// The last rows are held, each joined along itself. The next row is joined along itself, held, joined with those before
// it and written, in one go: two passes would spend more time on getting from one row of a few vectors to the next than
// on the rows.

// Of longer rows, in bytes, the next ones of elements and of results are fetched meanwhile: what is held of them fills
// the nearest cache (max 3×3 s1 of 2048², two threads: 1.25 ms, and 0.85 so; over 64 lanes of 8×112×112 1.97 and 1.43;
// 512 bytes at a time, and not a vector: 1.6). Short ones the CPU fetches itself (rows of 5 KiB: 1.27 ms, and 1.51 so;
// 112 bytes of int8: 5.3 and 6.8).
constexpr int64_t kLongRow = 6144;

// An element of a row of results whose window is cut along the row.
template <class U>
struct Cut {
    int64_t at;
    U first;    // the place of its first element along the row
    bool none;  // it has none
};

// Where rows of elements and of results lie, and what is held of the last rows.
template <class N>
struct LineBuffer {
    using T = typename N::T;
    using U = typename N::U;
    int64_t x_step, y_step;  // bytes from one row to the next
    bool streaming;          // results are written with streaming stores
    int64_t apart;           // elements from one element of a window to the next along the row
    // A ring of rows: the rows of a window are `between` places apart, and the next one goes to `place`.
    T* held;
    U* held_argmax;
    int64_t room, places, between, place;
    // Where windows are cut, rows are laid between elements that lose against any other. There are two places for them
    // by turns: a row that was written just now is slow to read. Max 3×3 s1 p1 of 16 planes of 112×112, with windows
    // that are cut one by one: 235 µs; in one place: 90 µs; in two: 76 µs.
    T* lines[2];             // null: elements are read where they lie
    int64_t before, inside;  // padding in front of a row, and its elements, in elements
    // A flat index is the sum of what its row of elements, the window's place along the row and its tap there add. A
    // number in the window does without the place, and what the window's own first row adds is taken off.
    U row, row_step, tap, own, own_step;
    const U* along;
    const Cut<U>* cuts;
    int64_t cut, told_step;  // elements that are cut; from one row of argmax to the next
    ArgmaxStore<U> pending_argmax;
};

// Padding is laid out as elements that are no larger than any other. Where that is the result, all elements are, and
// the first one that is none of the padding wins.
template <class T, class U>
CENOTE_ONCE void fix_padding_argmax(const Cut<U>* cuts, int64_t count, const char* y, U* argmax, U row, T none) {
    for (const Cut<U>* c = cuts; c < cuts + count; ++c) {
        if (load<T>(reinterpret_cast<const T*>(y) + c->at) == none) argmax[c->at] = static_cast<U>(row + c->first);
        if (c->none) argmax[c->at] = static_cast<U>(~U{0});
    }
}

// `count` rows of n results side by side, at least as many as a vector has lanes: K elements of the row x and what is
// held of the Rows - 1 rows before it. Only elements of the windows are read. Large: rows may be long, and results may
// be written with streaming stores. A row of less than a line has no time to ask.
template <class N, int K, int Rows, bool Large>
CENOTE_ONCE void line_buffer_rows(N& given, LineBuffer<N>& state, const char* x, char* y, int64_t n, int64_t count) {
    using T = typename N::T;
    using U = typename N::U;
    using C = typename N::C;
    using V = typename Lane<T, kVectorBytes>::V;
    using W = typename Lane<U, kVectorBytes>::V;
    using Reg = typename N::template Reg<V>;
    constexpr int64_t size = sizeof(T), wide = Lane<T, kVectorBytes>::count;
    const N numbers = given;            // which no store can change
    const LineBuffer<N> slide = state;  // this too
    typename N::Look look(given);
    const bool laid = slide.lines[0] != nullptr;
    const bool streaming = Large && slide.streaming, is_long = Large && n * size >= kLongRow;
    const int64_t apart = slide.apart * size, elements = n + (K - 1) * slide.apart;
    const auto lay = [&](int64_t row, const char* from) {
        copy_row(slide.lines[row % 2] + slide.before, reinterpret_cast<const T*>(from), slide.inside);
    };
    int64_t place = slide.place;
    U from_row = slide.row, own = slide.own;
    ArgmaxStore<U> pending_argmax = slide.pending_argmax;
    U* argmax = pending_argmax.rows;
    if (laid) lay(0, x);
    for (int64_t r = 0; r < count; ++r, x += slide.x_step, y += slide.y_step) {
        const char* from = x;
        if (laid) {
            if (r + 1 < count) lay(r + 1, x + slide.x_step);
            from = reinterpret_cast<const char*>(slide.lines[r % 2]);
        }
        int64_t held[Rows];  // where the rows of these windows are
        for (int64_t t = Rows - 1, p = place; t >= 0; --t, p -= slide.between) {
            if (p < 0) p += slide.places;
            held[t] = p * slide.room;
        }
        for (int64_t i = 0; i < n; i += wide) {
            const int64_t at = i < n - wide ? i : n - wide;  // the last ones, some of them a second time
            if (is_long) {
                __builtin_prefetch(x + slide.x_step + at * size);
                if (!streaming) __builtin_prefetch(y + slide.y_step + at * size, 1);
            }
            V element[K];
            Reg all;
            each<K>(K, [&](int64_t t) CENOTE_INLINE {
                element[t] = load<V>(from + at * size + t * apart);
                const Reg next = numbers.from_value(element[t]);
                all = t ? C::combine(all, next) : next;
            });
            look.at(element[0]);
            // Each vector has a place of its own: parts of two are slow to read.
            store(slide.held + held[Rows - 1] + i, all.v);
            // The first element with the bits of the result is the winner: of numbers, of zeros and of NaN.
            const auto prefer = [](V a, V result, W its, W others)
                                    CENOTE_INLINE { return (W)a == (W)result ? its : others; };
            W winner;
            if constexpr (N::placed) {
                winner = splat<W>(static_cast<U>(from_row + (K - 1) * slide.tap));
                each<K - 1>(K - 1, [&](int64_t t) CENOTE_INLINE {
                    const U element_at = static_cast<U>(from_row + static_cast<U>(K - 2 - t) * slide.tap);
                    winner = prefer(element[K - 2 - t], all.v, splat<W>(element_at), winner);
                });
                store(slide.held_argmax + held[Rows - 1] + i, winner);
            }
            V row[Rows];
            each<Rows>(Rows, [&](int64_t t)
                                 CENOTE_INLINE { row[t] = t < Rows - 1 ? load<V>(slide.held + held[t] + i) : all.v; });
            if constexpr (Rows == 2) all = C::combine(numbers.held(row[0]), all);
            if constexpr (Rows == 3) all = C::combine(C::combine(numbers.held(row[0]), numbers.held(row[1])), all);
            store_or_stream(y + at * size, numbers.element(all), streaming);
            if constexpr (N::placed) {
                if constexpr (Rows > 1)
                    each<Rows - 1>(Rows - 1, [&](int64_t t) CENOTE_INLINE {
                        const int64_t u = Rows - 2 - t;
                        winner = prefer(row[u], all.v, load<W>(slide.held_argmax + held[u] + i), winner);
                    });
                winner = winner + (load<W>(slide.along + at) - own);
                if constexpr (N::omit)  // all elements are NaN that are left out
                    winner = all.v == all.v ? winner : splat<W>(static_cast<U>(~U{0}));
                store(argmax + at, winner);
                if (pending_argmax.lines) pending_argmax.flush_some(r * n);
            }
        }
        for (int64_t i = n; i < elements; i += wide)
            look.at(load<V>(from + min(i, elements - wide) * size));  // the others
        if constexpr (N::placed) {
            const U top = static_cast<U>(from_row - own - static_cast<U>((Rows - 1) * slide.between) * slide.row_step);
            if (slide.cut) fix_padding_argmax<T, U>(slide.cuts, slide.cut, y, argmax, top, N::none());
        }
        if (++place == slide.places) place = 0;
        from_row = static_cast<U>(from_row + slide.row_step);
        own = static_cast<U>(own + slide.own_step);
        argmax += slide.told_step;
    }
    state.place = place;
    state.pending_argmax.line = pending_argmax.line;
    look.keep(given);
}

template <class N>
void line_buffer_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    using T = typename N::T;
    using U = typename N::U;
    using Rows = void (*)(N&, LineBuffer<N>&, const char*, char*, int64_t, int64_t);
    static constexpr Rows ways[][2][kBufferTaps] = {
        {{&line_buffer_rows<N, 2, 1, false>, &line_buffer_rows<N, 2, 2, false>, &line_buffer_rows<N, 2, 3, false>},
         {&line_buffer_rows<N, 2, 1, true>, &line_buffer_rows<N, 2, 2, true>, &line_buffer_rows<N, 2, 3, true>}},
        {{&line_buffer_rows<N, 3, 1, false>, &line_buffer_rows<N, 3, 2, false>, &line_buffer_rows<N, 3, 3, false>},
         {&line_buffer_rows<N, 3, 1, true>, &line_buffer_rows<N, 3, 2, true>, &line_buffer_rows<N, 3, 3, true>}}};
    constexpr int64_t size = sizeof(T), wide = Lane<T, kVectorBytes>::count;
    const PoolTile b = locate(job, task);
    const int last = job.rank - 1;
    const Axis& a = job.axis[last];
    const Axis up = last ? job.axis[0] : Axis{1, 1, 1, 1, 1, 0, 0, nullptr, nullptr, 0, 0, 0};
    const int64_t j0 = b.j0[last], up_j0 = last ? b.j0[0] : 0, rows = last ? b.count[0] : 1;
    const int64_t x_stride = last ? job.x_stride[0] : 0;
    const int64_t unit = b.lanes, n = b.count[last] * unit, y_stride = last ? job.y_stride[0] : n;
    const Span whole = interior_windows(a, j0, b.count[last]), sound = interior_windows(up, up_j0, rows);
    const bool cut = whole.begin > 0 || whole.end < b.count[last];
    N numbers(job);
    LineBuffer<N> slide{};
    slide.apart = a.d * unit;
    slide.y_step = y_stride * size;
    // Not where they are read again (fix_padding_argmax), nor beside indices that are twice as many.
    slide.streaming = job.streaming && !(N::placed && (cut || job.argmax_format == ArgmaxFormat::index)) &&
                      n % wide == 0 && vector_aligned(job.y + b.y * size, slide.y_step);
    const Rows* way = ways[a.k - 2][slide.streaming || n * size >= kLongRow];
    slide.room = n + wide;
    const int64_t first = max(window_start(a, j0), 0), places = (up.k - 1) * up.d + 1;
    slide.held = take<T>(arena, places * slide.room);
    if (cut) {
        const int64_t length = n + (a.k - 1) * slide.apart;
        slide.before = min(max(-window_start(a, j0), 0) * unit, length);
        slide.inside = max(0, min((a.n - first) * unit, length - slide.before));
        for (T*& line : slide.lines) {
            line = take<T>(arena, length);
            for (int64_t i = 0; i < length; ++i) line[i] = numbers.none();
        }
    }
    char* unused = reinterpret_cast<char*>(take<T>(arena, n));
    int64_t most_rows = rows;
    const bool flat = job.argmax_format == ArgmaxFormat::index;
    if constexpr (N::placed) {
        most_rows = max(kArgmaxRows / n, 1);
        slide.held_argmax = take<U>(arena, places * slide.room);
        slide.pending_argmax = {take<U>(arena, min(most_rows, rows) * n), indices_stream(job), nullptr, 0, 0};
        slide.tap = static_cast<U>(flat ? a.d * job.plane[last] : job.weight[last]);
        slide.told_step = n;
        slide.own_step = flat ? U{0} : static_cast<U>(job.weight[0]);
        U* along = take<U>(arena, n);
        Cut<U>* cuts = take<Cut<U>>(arena, n);
        for (int64_t j = 0, e = 0; j < b.count[last]; ++j) {
            const U here = static_cast<U>(flat ? window_start(a, j0 + j) * job.plane[last] : 0);
            const Span taps = real_taps(a, j0 + j);
            for (int64_t lane = 0; lane < unit; ++lane, ++e) {
                along[e] = here;
                if (taps.end - taps.begin == a.k) continue;
                const U place = static_cast<U>(here + static_cast<U>(taps.begin) * slide.tap);
                cuts[slide.cut++] = {e, place, taps.begin == taps.end};
            }
        }
        slide.along = along;
        slide.cuts = cuts;
    }
    for (int64_t i = 0, next; i < rows; i = next) {
        // Rows of windows that lack no row of elements are gone through together.
        const bool in_line = i >= sound.begin && i < sound.end;
        next = in_line ? min(sound.end, i + most_rows) : i + 1;
        const Span taps = real_taps(up, up_j0 + i);
        const int64_t count = taps.end - taps.begin, top = window_start(up, up_j0 + i) + taps.begin * up.d;
        const int64_t at = b.y + i * y_stride;
        const char* x = b.x + top * x_stride;
        char* y = job.y + at * size;
        slide.x_step = in_line ? x_stride : up.d * x_stride;
        if constexpr (N::placed) {
            slide.own = static_cast<U>(static_cast<U>(i) * slide.own_step);
            slide.row = static_cast<U>(flat ? top * job.plane[0] : (i + taps.begin) * job.weight[0]);
            slide.row_step = static_cast<U>(flat ? (in_line ? 1 : up.d) * job.plane[0] : job.weight[0]);
            slide.pending_argmax.begin_rows(job, at, n, y_stride);
        }
        if (count > 0) {
            x += first * job.x_stride[last];
            const int64_t between = in_line ? up.d : 1, before = (count - 1) * between;
            if (!in_line || i == sound.begin) {  // otherwise the rows before are held already
                slide.between = between;
                slide.places = before + 1;
                slide.place = 0;
                LineBuffer<N> only_held = slide;
                only_held.y_step = only_held.told_step = 0;
                only_held.streaming = false;
                only_held.pending_argmax.lines = nullptr;
                way[0](numbers, only_held, x, unused, n, before);
                slide.place = before;
            }
            slide.row = static_cast<U>(slide.row + static_cast<U>(before) * slide.row_step);
            way[count - 1](numbers, slide, x + before * slide.x_step, y, n, next - i);
        } else {
            for (int64_t e = 0; e < n; ++e) {
                store(reinterpret_cast<T*>(y) + e, numbers.none());
                if constexpr (N::placed) slide.pending_argmax.rows[e] = static_cast<U>(~U{0});
            }
        }
        if constexpr (N::placed) slide.pending_argmax.flush(job, at, n, next - i, y_stride);
    }
    if (slide.pending_argmax.streaming || slide.streaming) fence_stores();
    if (!numbers.wild()) return;
    if constexpr (__is_same(N, Halves)) line_buffer_tile<WildHalves>(job, task, arena);
}
