#include "pool/tiling.hpp"

#include "pool/schedule.hpp"
#include "runtime/limit.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

// The size of a tile: the elements, intermediate and final results of all passes together stay in the L2 cache.
constexpr int64_t kTileBytes = 192 * 1024;
Limit<int64_t> tile_bytes{kTileBytes};
// With too few tiles for the threads they are made smaller, down to this fraction.
constexpr int64_t kSmallestPart = 6;
// Large overlapping windows get larger tiles, so that tiles have fewer elements in common.
constexpr int64_t kLargePart = 3;
// Small windows of stride 1 use a line buffer, which keeps a few rows of a tile however tall it is, while the rows that
// two tiles share are read twice. Taller tiles, over 64 lanes of 8×112×112, two threads: avg 3×3 1.9 vs. 1.6 ms in
// tiles four times as tall, indices of max 4.3 vs. 3.5. Norms may need the whole tile in double precision: smooth
// max 2.9 vs. 2.4 in tiles twice as tall.
constexpr int64_t kBuffered = 3, kBufferedPart = 4, kNormPart = 2;
// Column strips: the size of their ring of rows; how many times as many elements as a tile they have; strips per
// thread, for balance; how many times as tall as its windows a strip is.
constexpr int64_t kStripBytes = 320 * 1024, kStripParts = 16, kStripTasks = 3, kStripTall = 12;
constexpr int64_t kPage = 8192;
// Planes of up to half this size share a task, whose tile stays in the L1 cache.
constexpr int64_t kPlanes = 16 * 1024;
// With less work than this, a second thread costs more than it gains.
Limit<int64_t> grain_elements{32 * 1024};
// Smaller results may still be in the cache when they are read (max 2×2 of 26 MB to 6 MB: 0.40 ms, 0.43 with streaming
// stores), unless much more is read than written (max 2×2×2 of 67 MB to 8 MB, channels last: 2.1 ms, 1.9 with streaming
// stores).
constexpr int64_t kStreamingBytes = int64_t{16} << 20;
Limit<int64_t> streaming_bytes{kStreamingBytes};

// How many elements a run of windows covers, clipped to the axis.
int64_t elements_under(const Axis& a, int64_t windows) {
    if (a.starts) return min(a.n, a.n * windows / max(a.o, 1) + a.k);
    return min(max(a.n, 1), (windows - 1) * a.s + (a.k - 1) * a.d + 1);
}

int64_t tile_size(const PoolSchedule& job) {
    int64_t size = job.lane_tile;
    for (int q = 0; q < job.rank; ++q) {
        size *= max(elements_under(job.axis[q], job.tile[q]), job.tile[q]);
        if (size > int64_t{1} << 40) break;
    }
    return size;
}

// How much halving the tile along axis q increases the work per window: tiles do not share the elements in which their
// windows overlap.
double cost_of_halving(const PoolSchedule& job, int q) {
    const Axis& a = job.axis[q];
    const int64_t whole = job.tile[q], half = (whole + 1) / 2;
    const double before = static_cast<double>(elements_under(a, whole)) / static_cast<double>(whole);
    double cost = static_cast<double>(elements_under(a, half)) / static_cast<double>(half) / before;
    // Along the first axis, small windows are combined separately for each result anyway: a sum only reads the shared
    // elements again, and a maximum repeats half of its work.
    if (q == 0 && a.k < kLargeWindow) cost = 1 + (cost - 1) * (job.reduce == Reduce::sum ? 0.4 : 0.7);
    if (q < job.rank - 1) return cost;
    // Rows of less than a few vectors run at the speed of their tails, and partial rows are slow to read and write: max
    // 3×3 of 2048² floats takes 2.7 ms in tiles of 64×512 and 1.5 ms in 16×2048.
    const int64_t row = half * job.lane_tile * size_of(job.work);
    if (row < kPage) return cost + (job.lanes == 1 && row < 512 ? 1.0 : 0.3);
    return job.lanes == 1 ? cost + 0.02 : cost;
}

// The innermost outer axis becomes the outermost pooled axis.
void join_planes(PoolSchedule& job, Workload& work) {
    const auto prepend = [&](auto* list, auto first) {
        for (int q = job.rank; q > 0; --q) list[q] = list[q - 1];
        list[0] = first;
    };
    const int64_t n = job.outer_size[--job.outer];
    work.batch /= n;
    prepend(job.axis, Axis{n, n, 1, 1, 1, 0, 0, nullptr, nullptr, 0, 0, 0});
    prepend(job.x_stride, job.outer_x[job.outer]);
    prepend(job.y_stride, job.outer_y[job.outer]);
    prepend(job.pad_low, int64_t{0});
    prepend(job.real_n, n);
    prepend(job.weight, job.window_elements);
    prepend(job.plane, int64_t{0});
    // It needs no pass, but a position in their order: that of the window's first axis.
    for (int i = 0; i < job.rank; ++i) ++job.pass[i];
    if (job.reduce == Reduce::sum)
        prepend(job.pass, 0);
    else
        job.pass[job.rank] = 0;
    ++job.rank;
}

// Whether windows are small and overlap along contiguous rows, as the line buffer needs it.
bool suits_line_buffer(const PoolSchedule& job) {
    const Axis &up = job.axis[0], &along = job.axis[job.rank - 1];
    if (job.rank != 2 || up.starts || along.starts || job.x_stride[1] != job.lanes * size_of(job.in)) return false;
    if (job.omit && job.reduce == Reduce::sum) return false;  // these have no line buffer for long rows
    return up.k > up.s && up.k <= kBuffered && along.s == 1 && along.k > 1 && along.k <= kBuffered;
}

void choose_tiles(PoolSchedule& job, const Workload& work, bool joined) {
    // Medians of 16-bit elements have ranks of 32 bits.
    const int64_t width = is_order(job.reduce) && size_of(job.work) == 2 ? 4 : size_of(job.work);
    int64_t budget = (joined ? min(tile_bytes, kPlanes) : tile_bytes) / width;
    bool overlaps = false;
    for (int q = 0; q < job.rank; ++q) overlaps |= job.axis[q].k >= kLargeWindow && job.axis[q].k > job.axis[q].s;
    if (overlaps && job.direct && !job.argmax && !joined)
        budget *= kLargePart;  // otherwise the tile also has a copy of its elements
    if (suits_line_buffer(job) && !joined) budget *= is_norm(job) ? kNormPart : job.direct ? kBufferedPart : 1;
    const bool large = work.elements >= grain_elements;
    for (;;) {
        for (int q = 0; q < job.rank; ++q) job.tile[q] = max(job.axis[q].o, 1);
        job.lane_tile = job.lanes;
        for (int64_t size = tile_size(job); size > budget; size = tile_size(job)) {
            // Lanes are cheap to split, down to a few cache lines, but not free: they are contiguous in memory.
            int best = -1;
            const int64_t lane_bytes = job.lane_tile * width;
            double cost = lane_bytes > 1024 ? 1.01 : lane_bytes > 256 ? 1.1 : 1e9;
            for (int q = 0; q < job.rank; ++q) {
                if (job.tile[q] == 1 || cost_of_halving(job, q) >= cost) continue;
                best = q;
                cost = cost_of_halving(job, q);
            }
            // Where neighbouring windows overlap almost completely, a tile above the budget is the lesser evil.
            if (cost > 1.4 && size < 4 * budget) break;
            if (best < 0 && cost > 2) break;
            if (best < 0)
                job.lane_tile = (job.lane_tile / 2 + 15) / 16 * 16;
            else
                job.tile[best] = (job.tile[best] + 1) / 2;
        }
        job.tasks = work.batch;
        for (int q = 0; q < job.rank; ++q) {
            job.tiles[q] = ceil_div(job.axis[q].o, job.tile[q]);
            job.tasks *= job.tiles[q];
        }
        job.lane_tiles = ceil_div(job.lanes, job.lane_tile);
        job.tasks *= job.lane_tiles;
        // With few large tiles, threads would wait for the last one.
        if (!large || work.threads == 1 || job.tasks >= 4 * work.threads ||
            budget * width * kSmallestPart <= tile_bytes)
            return;
        budget /= 2;
    }
}

}  // namespace

bool has_small_planes(const PoolSchedule& job) {
    if (job.outer == 0 || !job.planar || job.rank == kMaxDims || job.argmax || job.prologue != Prologue::none)
        return false;
    int64_t size = job.lanes * size_of(job.work);
    for (int q = 0; q < job.rank; ++q) {
        if (job.axis[q].spread_stride) return false;
        size *= max(job.axis[q].n, job.axis[q].o);
        if (size > kPlanes / 2) return false;
    }
    return true;
}

bool divide_into_tiles(PoolSchedule& job, Workload& work) {
    choose_tiles(job, work, false);
    return true;
}

bool divide_into_planes(PoolSchedule& job, Workload& work) {
    const bool joined = has_small_planes(job);
    if (joined) join_planes(job, work);
    choose_tiles(job, work, joined);
    return true;
}

// As wide as the L2 cache allows, because neighbours share k - 1 columns, and as tall as the number of tasks allows.
bool divide_into_strips(PoolSchedule& job, Workload& work) {
    const Axis &down = job.axis[0], &along = job.axis[1];
    const bool sums = job.reduce == Reduce::sum;
    const bool norms = is_norm(job);
    const int64_t width = norms ? 4 : size_of(job.work);
    // The ring has the last k rows for a maximum, also those of the next step for a sum, and both for a norm. A norm
    // rarely needs the maxima (column_strips_norm.inl), so its strips are as wide as those of a sum (63×63 of 2048², lp
    // and smooth max: 4 to 8 % faster).
    const int64_t rows = sums ? down.k + kStepRows : down.k;
    const auto windows_in = [&](int64_t bytes) { return bytes / (rows * width * job.lanes) - (along.k - 1); };
    if (windows_in(kStripBytes) < min(along.k, along.o)) return false;
    const int64_t most_windows = min(windows_in(tile_bytes * kStripBytes / kTileBytes), kPage / (width * job.lanes));
    const int64_t lines = max(1, 64 / (width * job.lanes));  // strips begin and end at cache lines of the result
    job.tiles[1] = ceil_div(along.o, max(1, most_windows));
    job.tile[1] = min(along.o, ceil_div(ceil_div(along.o, job.tiles[1]), lines) * lines);
    job.tiles[1] = ceil_div(along.o, job.tile[1]);
    job.lane_tile = job.lanes;
    job.lane_tiles = 1;
    const int64_t strips = work.batch * job.tiles[1];
    const int64_t tallest = max(1, kStripParts * tile_bytes / (elements_under(along, job.tile[1]) * job.lanes * width));
    job.tiles[0] = ceil_div(down.o, tallest);
    const int threads = work.threads;
    if (work.elements >= grain_elements && threads > 1) {
        // Vertical neighbours both compute the k - 1 rows they share, so strips stay tall unless threads would be idle
        // (max 31×31 of 1024², two threads: in six parts 0.34 ms, in two 0.30).
        const int64_t few = max(ceil_div(threads, strips), down.o / (kStripTall * (down.k - 1)));
        int64_t parts = max(job.tiles[0], min(few, ceil_div(kStripTasks * threads, strips)));
        // The same number for each thread: of 9 tasks, one of two threads would get 5, which takes a tenth longer.
        while (strips * parts < 8 * threads && strips * parts % threads) ++parts;
        job.tiles[0] = max(job.tiles[0], min(parts, ceil_div(down.o, down.k)));
    }
    job.tile[0] = ceil_div(down.o, job.tiles[0]);
    job.tiles[0] = ceil_div(down.o, job.tile[0]);
    job.tasks = strips * job.tiles[0];
    return true;
}

// Few planes are divided into slabs of rows. Rows of windows are not divided, nor are listed windows.
bool divide_into_slabs(PoolSchedule& job, Workload& work) {
    const Axis& outermost = job.axis[0];
    const bool divides = (job.rank > 1 || job.lanes > 1) && !outermost.starts;
    const int64_t wanted = divides ? max(1, ceil_div(4 * work.threads, work.batch)) : 1;
    job.tile[0] = max(1, work.threads == 1 ? outermost.n : max(ceil_div(outermost.n, wanted), 2 * outermost.k));
    if (!divides) job.tile[0] = max(1, outermost.n);
    job.tiles[0] = max(1, ceil_div(outermost.n, job.tile[0]));
    job.tasks = work.batch * job.tiles[0];
    return true;
}

int threads_for(int64_t elements) { return static_cast<int>(min(num_threads(), max(1, elements / grain_elements))); }

bool pays_to_stream(int64_t read, int64_t written) {
    return written >= streaming_bytes || (written >= streaming_bytes / 4 && read + written >= streaming_bytes * 4);
}

void set_limits(int64_t bytes_per_tile, int64_t elements_per_thread, int64_t streaming_bytes_from) {
    tile_bytes = bytes_per_tile;
    grain_elements = elements_per_thread;
    streaming_bytes = streaming_bytes_from;
}

}  // namespace cenote
