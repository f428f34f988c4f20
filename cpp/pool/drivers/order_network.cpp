// Medians and modes of small windows by sorting networks, a row of windows at a time.
//
// The keys of a tile are stored so that the elements t of neighbouring windows are contiguous: a row of a window with
// stride s is s phases, each of every s-th column. Windows that reach over the ends of a row, and those with NaN that
// are omitted, are collected by their number of elements until there is a row of them.

#include <algorithm>

#include "pool/order_rows.hpp"
#include "pool/order_window.hpp"
#include "runtime/cpu.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

#include "pool/tile_rows.inl"

template <class T>
T* take(Arena* arena, int64_t n) {
    return static_cast<T*>(arena_take(arena, max(n, 1) * static_cast<int64_t>(sizeof(T))));
}

// Batcher's merge exchange (Knuth 5.2.2, algorithm M). For a median only what leads to the middle is kept.
void make_network(Network& network, int64_t n, bool median) {
    network.n = n;
    network.size = 0;
    int64_t top = 1;
    while (2 * top < n) top *= 2;
    for (int64_t p = n > 1 ? top : 0; p > 0; p /= 2) {
        for (int64_t q = top, r = 0, d = p;; d = q - p, q /= 2, r = p) {
            for (int64_t i = 0; i + d < n; ++i)
                if ((i & p) == r)
                    network.step[network.size++] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i + d), true, true};
            if (q == p) break;
        }
    }
    if (!median) return;
    bool needed[kNetworkTaps] = {};
    needed[(n - 1) / 2] = needed[n / 2] = true;
    int64_t kept = network.size;
    for (int64_t i = network.size - 1; i >= 0; --i) {
        Comparator c = network.step[i];
        c.keeps_smaller = needed[c.a];
        c.keeps_larger = needed[c.b];
        if (!c.keeps_smaller && !c.keeps_larger) continue;
        needed[c.a] = needed[c.b] = true;
        network.step[--kept] = c;
    }
    std::copy(network.step + kept, network.step + network.size, network.step);
    network.size -= kept;
}

constexpr int64_t kCollected = 32;  // windows

// Windows of the same number of elements that are not neighbours: element t of window i is keys[t * kCollected + i].
template <class K>
struct Collection {
    K* keys;
    int64_t* y;  // where their results are
    Network* network;
    int64_t size;
};

template <class K>
class NetworkTile {
 public:
    NetworkTile(const PoolSchedule& of, int64_t task, Arena* with)
        : job(of),
          arena(with),
          b(locate(of, task)),
          last(of.rank - 1),
          a(of.axis[last]),
          index(key_index(of.work)),
          kernels(*level_in_use().pool.order) {
        columns = ceil_div(line_length(a, b.count[last]), a.s);
        int64_t size = a.s * columns * b.lanes, outer = 1;
        for (int q = last - 1; q >= 0; --q) {
            stride[q] = size;
            size *= b.elements[q];
            outer *= job.axis[q].k;
        }
        taps = take<OrderTap>(arena, outer);
        window = take<K>(arena, outer * a.k);
        low = take<K>(arena, b.count[last] * b.lanes);
        high = take<K>(arena, b.count[last] * b.lanes);
        network = take<Network>(arena, 1);
        network->n = 0;
        if (can_read_in_place())
            read_in_place();
        else
            load(take<K>(arena, size), take<K>(arena, a.s > 1 ? a.s * columns * b.lanes : 0));
    }

    void run() {
        for_rows(last, b.count, [&](const int64_t* at) { row(at); });
        for (int64_t n = 1; n <= kNetworkTaps; ++n)
            if (collected[n].size) finish(n);
    }

 private:
    // Where column c of a row is, counted from the first window's first element.
    int64_t place(int64_t c) const { return (c % a.s * columns + c / a.s) * b.lanes; }

    bool has_own_bits() const { return job.in == job.work && sizeof(K) < 8; }  // its keys are its elements

    bool can_read_in_place() const {
        const int64_t size = sizeof(K);
        bool aligned = reinterpret_cast<uintptr_t>(b.x) % sizeof(K) == 0;
        for (int q = 0; q < job.rank; ++q) aligned &= job.x_stride[q] % size == 0;
        return aligned && has_own_bits() && !job.swap && a.s == 1 && job.x_stride[last] == b.lanes * size &&
               (b.lanes == 1 || job.lane_stride == size);
    }
    void read_in_place() {
        const char* first = b.x + window_start(a, b.j0[last]) * job.x_stride[last];
        for (int q = 0; q < last; ++q) {
            first += b.c0[q] * job.x_stride[q];
            stride[q] = job.x_stride[q] / static_cast<int64_t>(sizeof(K));
        }
        keys = reinterpret_cast<const K*>(first);
    }

    void load(K* to, K* copy) {
        keys = to;
        const KeyFormat format = key_format(job);
        const int64_t before = b.c0[last] - window_start(a, b.j0[last]), n = b.elements[last];
        const bool whole = b.lanes == 1 || (b.lanes == job.lanes && job.x_stride[last] == job.lanes * job.lane_stride);
        const int64_t along = b.lanes == 1 ? job.x_stride[last] : job.lane_stride;
        const InputRows rows{last, n, 0};
        for_input_rows(job, b, rows, [&](const char* from) {
            K* const first = (a.s > 1 ? copy : to) + before * b.lanes;
            if (whole)
                has_nan |= load_keys(first, from, along, n * b.lanes, format);
            else
                for (int64_t c = 0; c < n; ++c)
                    has_nan |= load_keys(first + c * b.lanes, from + c * job.x_stride[last], along, b.lanes, format);
            if (a.s > 1) spread(copy, to);
            to += a.s * columns * b.lanes;
        });
    }

    // A row of columns to phases.
    void spread(const K* from, K* to) const {
        const int64_t lanes = b.lanes, size = columns * lanes;
        if (a.s == 2 && lanes == 1) return kernels.split[index](chars(from), columns, chars(to), chars(to + columns));
        for (int64_t p = 0; p < min(a.s, (a.k - 1) * a.d + 1); ++p)
            for (int64_t i = 0; i < columns; ++i)
                std::copy_n(from + (i * a.s + p) * lanes, lanes, to + p * size + i * lanes);
    }

    void row(const int64_t* at) {
        int64_t y = b.y;
        for (int q = 0; q < last; ++q) y += at[q] * job.y_stride[q];
        rows = taps_before(job, b, last, at, stride, taps);
        const Span inside = rows ? interior_windows(a, b.j0[last], b.count[last]) : Span{0, 0};
        for (int64_t i = 0; i < inside.begin; ++i) alone(i, y);
        if (inside.end > inside.begin) together(inside, y);
        for (int64_t i = max(inside.begin, inside.end); i < b.count[last]; ++i) alone(i, y);
        checkpoint();
    }

    // Windows that have all elements of the row.
    void together(Span windows, int64_t y) {
        const int64_t n = rows * a.k, number = windows.end - windows.begin, length = number * b.lanes;
        const char* from[kNetworkTaps];
        for (int64_t i = 0, t = 0; i < rows; ++i)
            for (int64_t c = 0; c < a.k; ++c)
                from[t++] = chars(keys + taps[i].at + place(c * a.d) + windows.begin * b.lanes);
        if (network->n != n) make_network(*network, n, job.reduce == Reduce::median);
        // Results that are keys are written where they belong.
        const bool direct = has_own_bits() && job.out == job.in && n % 2 && job.y_stride[last] == b.lanes;
        K* const row = low;
        if (direct) low = reinterpret_cast<K*>(job.y) + y + windows.begin * b.lanes;
        const K* upper = low;
        if (job.reduce == Reduce::mode) {
            kernels.mode[index](from, *network, length, chars(low));
        } else if (shares_columns(length)) {
            const char* first[5];
            for (int64_t i = 0; i < rows; ++i) first[i] = from[i * a.k];
            kernels.shared[index](first, rows, a.d * b.lanes, length, chars(low));
        } else {
            kernels.median[index](from, *network, length, chars(low), chars(high));
            if (n % 2 == 0) upper = high;
        }
        low = row;
        if (direct) return;
        if (has_nan) mark_nan(from, n, length, upper == high);
        if (job.y_stride[last] == b.lanes)
            write(y + windows.begin * b.lanes, low, upper, length);
        else
            for (int64_t i = 0; i < number; ++i)
                write(y + (windows.begin + i) * job.y_stride[last], low + i * b.lanes, upper + i * b.lanes, b.lanes);
        if (has_nan && job.omit)
            for (int64_t i = 0; i < length; ++i)
                if (low[i] == kLastKey<K>) alone(windows.begin + i / b.lanes, y, i % b.lanes, 1);
    }

    bool shares_columns(int64_t length) const {
        const int64_t size = sizeof(K);
        return a.s == 1 && rows == a.k && (rows == 3 || rows == 5) && length * size >= kernels.vector_bytes &&
               (a.k - 1) * a.d * b.lanes * size <= kSharedReach;
    }

    // The last key for all windows that have a NaN.
    void mark_nan(const char* const* from, int64_t n, int64_t length, bool even) {
        for (int64_t t = 0; t < n; ++t) {
            const K* element = reinterpret_cast<const K*>(from[t]);
            for (int64_t i = 0; i < length; ++i) low[i] = element[i] == kLastKey<K> ? kLastKey<K> : low[i];
        }
        if (even)
            for (int64_t i = 0; i < length; ++i) high[i] = low[i] == kLastKey<K> ? kLastKey<K> : high[i];
    }

    void write(int64_t y, const K* lower, const K* upper, int64_t n) {
        if (job.reduce == Reduce::mode)
            write_elements(job, y, lower, n);
        else
            write_medians(job, y, lower, upper, n);
    }

    void alone(int64_t i, int64_t y) { alone(i, y, 0, b.lanes); }
    void alone(int64_t i, int64_t y, int64_t first_lane, int64_t lanes) {
        const Span real = real_taps(a, b.j0[last] + i);
        for (int64_t lane = first_lane; lane < first_lane + lanes; ++lane) {
            int64_t n = 0;
            bool nan = false;
            for (int64_t r = 0; r < rows; ++r) {
                for (int64_t t = real.begin; t < real.end; ++t) {
                    const K key = keys[taps[r].at + place(i * a.s + t * a.d) + lane];
                    const bool is_nan = has_nan && key == kLastKey<K>;
                    nan |= is_nan;
                    window[n] = key;
                    n += !(is_nan && job.omit);
                }
            }
            const int64_t to = y + i * job.y_stride[last] + lane;
            if (n == 0 || (nan && !job.omit))
                write_window(job, to, window, n, true);
            else
                collect(n, to);
        }
    }

    void collect(int64_t n, int64_t y) {
        Collection<K>& c = collected[n];
        if (!c.keys) {
            c.keys = take<K>(arena, n * kCollected);
            std::fill_n(c.keys, n * kCollected, K{});
            c.y = take<int64_t>(arena, kCollected);
            c.network = take<Network>(arena, 1);
            make_network(*c.network, n, job.reduce == Reduce::median);
        }
        for (int64_t t = 0; t < n; ++t) c.keys[t * kCollected + c.size] = window[t];
        c.y[c.size++] = y;
        if (c.size == kCollected) finish(n);
    }

    void finish(int64_t n) {
        Collection<K>& c = collected[n];
        const char* from[kNetworkTaps];
        for (int64_t t = 0; t < n; ++t) from[t] = chars(c.keys + t * kCollected);
        K lower[kCollected], upper[kCollected];
        if (job.reduce == Reduce::mode)
            kernels.mode[index](from, *c.network, kCollected, chars(lower));
        else
            kernels.median[index](from, *c.network, kCollected, chars(lower), chars(upper));
        for (int64_t i = 0; i < c.size; ++i) write(c.y[i], lower + i, (n % 2 ? lower : upper) + i, 1);
        c.size = 0;
    }

    static char* chars(K* p) { return reinterpret_cast<char*>(p); }
    static const char* chars(const K* p) { return reinterpret_cast<const char*>(p); }

    const PoolSchedule& job;
    Arena* const arena;
    const PoolTile b;
    const int last;
    const Axis& a;
    const int index;
    const OrderRows& kernels;
    int64_t columns;  // of a phase
    int64_t stride[kMaxDims];
    const K* keys;
    bool has_nan = false;
    OrderTap* taps;  // of the windows of this row
    int64_t rows = 0;
    K* window;      // one of them
    K *low, *high;  // a row of middle keys
    Network* network;
    Collection<K> collected[kNetworkTaps + 1] = {};  // by the number of elements
};

template <class K>
void network_tile(const PoolSchedule& job, int64_t task, Arena* arena) {
    NetworkTile<K>(job, task, arena).run();
}

}  // namespace

TaskFn find_sorting_network(const PoolSchedule& job) {
    switch (size_of(job.work)) {
        case 1: return &network_tile<uint8_t>;
        case 2: return &network_tile<uint16_t>;
        case 4: return &network_tile<uint32_t>;
        default: return &network_tile<int64_t>;
    }
}

}  // namespace cenote
