#include "conv/plan.hpp"

#include <atomic>
#include <new>
#include <stdexcept>
#include <utility>

#include "runtime/buffer_cache.hpp"
#include "runtime/cpu.hpp"
#include "runtime/limit.hpp"
#include "runtime/parallel.hpp"

namespace cenote {

namespace {

Limit<int64_t> box_bytes{192 * 1024};           // of the box of a tile: half of an L2 cache
Limit<double> grain_products{32 * 1024 * 8.0};  // with less work, a second thread costs more than it gains

// The axis of a convolution: one phase with all taps.
void plan_forward(ConvPlanAxis& p, const ConvAxis& a) {
    p.step = a.s;
    p.out_step = 1;
    p.u = {0, a.o};
    Phase phase{{0, a.o}, 0, {}};
    phase.taps.reserve(static_cast<size_t>(a.k));
    for (int64_t t = 0; t < a.k; ++t) phase.taps.push_back({t, t * a.d - a.low});
    p.phases.push_back(std::move(phase));
}

// Its adjoint: pixel i = u*s + r - low receives from tap t of window j = u + (r - t*d)/s. Taps are packed from last to
// first, so that offsets increase here too.
void plan_backward(ConvPlanAxis& p, const ConvAxis& a) {
    p.step = 1;
    p.out_step = a.s;
    p.u = {0, 0};
    for (int64_t i = 0; i < min(a.s, a.n); ++i) {
        const int64_t u = floor_div(i + a.low, a.s), r = i + a.low - u * a.s;
        Phase phase{{u, u + ceil_div(a.n - i, a.s)}, r - a.low, {}};
        if (a.s == 1) phase.taps.reserve(static_cast<size_t>(a.k));
        for (int64_t t = a.k - 1; t >= 0; --t)
            if ((r - t * a.d) % a.s == 0) phase.taps.push_back({a.k - 1 - t, (r - t * a.d) / a.s});
        p.u = p.phases.empty() ? phase.u : Span{min(p.u.begin, phase.u.begin), max(p.u.end, phase.u.end)};
        p.phases.push_back(std::move(phase));
    }
}

bool is_plain(const ConvAxis& a) { return a.k == 1 && a.s == 1 && a.low == 0 && a.n == a.o; }

DType part_of(DType t) { return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t; }

DType work_of(DType part) {
    if (part == DType::f16 || part == DType::bf16 || part == DType::f32) return DType::f32;
    if (part == DType::f64) return DType::f64;
    return size_of(part) == 8 ? DType::u64 : DType::u32;
}

int64_t box_elements(const ConvPlan& plan, const std::vector<int64_t>& tile) {
    int64_t elements = 1;
    for (size_t q = 0; q < plan.axes.size(); ++q) {
        const ConvPlanAxis& a = plan.axes[q];
        elements *= make_side(a, {0, tile[q]}, {0, min(a.k, a.chunk)}).elements;
        if (elements > int64_t{1} << 40) break;
    }
    return elements;
}

void set_tiles(ConvPlan& plan, const std::vector<int64_t>& tile) {
    for (size_t q = 0; q < tile.size(); ++q) {
        ConvPlanAxis& a = plan.axes[q];
        a.tile = max(tile[q], 1);
        a.tiles = ceil_div(a.u.end - a.u.begin, a.tile);
        // As even as possible.
        if (a.tiles > 0) a.tile = ceil_div(a.u.end - a.u.begin, a.tiles);
    }
}

}  // namespace

ConvPlan make_plan(const ConvProblem& r) {
    ConvPlan plan{};
    plan.part = part_of(r.type);
    plan.parts = plan.part == r.type ? 1 : 2;
    plan.part_bytes = size_of(plan.part);
    const DType work = work_of(plan.part);
    plan.width = size_of(work);
    plan.same = plan.part_bytes == plan.width;
    plan.kernels = level_in_use().find_conv(work);
    if (!plan.kernels) throw std::runtime_error("there is no convolution of this dtype");
    const bool back = r.form == Form::input;
    const ConvArray& from = back ? r.y : r.x;
    const ConvArray& to = back ? r.x : r.y;
    plan.groups = r.groups;
    plan.bundle = 1;
    plan.reduce = (back ? r.out : r.in) * plan.parts;
    plan.out = (back ? r.in : r.out) * plan.parts;
    plan.source = from.data;
    plan.result = to.data;
    plan.source_channel = from.stride[r.rank + 1];
    plan.result_channel = to.stride[r.rank + 1];
    plan.w_reduce = r.w.stride[r.rank + (back ? 1 : 0)];
    plan.w_out = r.w.stride[r.rank + (back ? 0 : 1)];
    plan.w_group = r.w.stride[r.rank + 1] * r.out;
    plan.w = r.w.data;
    plan.bias = r.bias;
    plan.bias_stride = r.bias_stride;
    plan.taps = plan.pixels = 1;

    bool last_plain = false;
    for (int q = -1; q < r.rank; ++q) {
        const ConvAxis batch{r.batch, r.batch, 1, 1, 1, 0};
        const ConvAxis& a = q < 0 ? batch : r.axis[q];
        ConvPlanAxis p{};
        p.n = back ? a.o : a.n;
        p.out_n = back ? a.n : a.o;
        p.stride = from.stride[q + 1];
        p.out_stride = to.stride[q + 1];
        p.k = a.k;
        p.w_stride = q < 0 ? 0 : r.w.stride[q];
        p.d = a.d;
        p.chunk = max(a.k, 1);
        p.chunks = 1;
        plan.taps *= a.k;
        plan.pixels *= p.out_n;
        const bool plain = is_plain(a);
        if (plain && a.n == 1 && (q >= 0 || r.rank > 0) && !(q == r.rank - 1 && plan.axes.empty())) continue;
        // Axes that are only looped over are merged if they are contiguous in memory.
        if (plain && last_plain && plan.axes.back().stride == p.stride * p.n &&
            plan.axes.back().out_stride == p.out_stride * p.out_n) {
            ConvPlanAxis& before = plan.axes.back();
            before.n = before.out_n = p.n * before.n;
            before.stride = p.stride;
            before.out_stride = p.out_stride;
            before.u = before.phases[0].u = {0, before.n};
            continue;
        }
        if (back) {
            plan_backward(p, a);
            if (a.k > 0 && q >= 0) plan.w += (a.k - 1) * p.w_stride;
            p.w_stride = -p.w_stride;
        } else {
            plan_forward(p, a);
        }
        plan.axes.push_back(std::move(p));
        last_plain = plain;
    }
    return plan;
}

// ----------------------------------------------------------------------------------------------------- tiles

void choose_conv_tiles(ConvPlan& plan, int64_t channels, int64_t extra_per_pixel, int64_t bytes, int64_t tasks) {
    std::vector<int64_t> tile;
    for (const ConvPlanAxis& a : plan.axes) tile.push_back(max(1, a.u.end - a.u.begin));
    const auto pixels = [&] {
        int64_t count = 1;
        for (size_t q = 0; q < tile.size(); ++q) count *= tile[q] * plan.axes[q].out_step;
        return count;
    };
    const auto size = [&] { return (box_elements(plan, tile) * channels + pixels() * extra_per_pixel) * plan.width; };
    const auto tiles = [&] {
        int64_t count = 1;
        for (size_t q = 0; q < tile.size(); ++q) count *= ceil_div(plan.axes[q].u.end - plan.axes[q].u.begin, tile[q]);
        return count;
    };
    while (size() > bytes || (tiles() < tasks && pixels() > 48) || pixels() > 16384) {
        // Halve the axis where the tiles' boxes then overlap least; the last axis forms the rows, so it comes last.
        int best = -1;
        double best_cost = 0;
        for (size_t q = 0; q < tile.size(); ++q) {
            if (tile[q] <= 1) continue;
            const ConvPlanAxis& a = plan.axes[q];
            const int64_t half = (tile[q] + 1) / 2;
            const auto elements = [&](int64_t n) {
                return static_cast<double>(make_side(a, {0, n}, {0, min(a.k, a.chunk)}).elements) /
                       static_cast<double>(n);
            };
            double cost = elements(half) / elements(tile[q]);
            if (q + 1 == tile.size()) cost += half < 64 ? 0.7 : 0.01;
            if (best < 0 || cost < best_cost) best = static_cast<int>(q), best_cost = cost;
        }
        if (best < 0) break;
        tile[best] = (tile[best] + 1) / 2;
    }
    set_tiles(plan, tile);
}

void choose_row_tiles(ConvPlan& plan, int64_t lanes, int64_t bytes, int64_t tasks) {
    const size_t axes = plan.axes.size(), last = axes - 1;
    const auto windows = [&](size_t q) { return max(1, plan.axes[q].u.end - plan.axes[q].u.begin); };
    std::vector<int64_t> tile(axes, 1);
    // Some rows of results, and the source rows that their taps cover.
    const int64_t resident_rows =
        last > 0 ? make_side(plan.axes[last - 1], {0, 4}, {0, plan.axes[last - 1].k}).elements : 1;
    const int64_t pixel = max(1, lanes * plan.width);
    tile[last] = max(1, min(windows(last), bytes / (pixel * resident_rows)));
    if (last > 0) tile[last - 1] = max(1, min(windows(last - 1), 8 * bytes / (pixel * tile[last])));
    const auto tiles = [&] {
        int64_t count = 1;
        for (size_t q = 0; q < axes; ++q) count *= ceil_div(windows(q), tile[q]);
        return count;
    };
    while (tiles() < tasks && (tile[last] > 16 || (last > 0 && tile[last - 1] > 4))) {
        int64_t& halved = last > 0 && tile[last - 1] > 4 ? tile[last - 1] : tile[last];
        halved = (halved + 1) / 2;
    }
    set_tiles(plan, tile);
}

int64_t all_elements(const ConvPlan& plan) {
    std::vector<int64_t> all;
    for (const ConvPlanAxis& a : plan.axes) all.push_back(max(1, a.u.end - a.u.begin));
    return max(1, box_elements(plan, all));
}

int64_t tile_count(const ConvPlan& plan) {
    int64_t count = 1;
    for (const ConvPlanAxis& a : plan.axes) count *= a.tiles;
    return count;
}

Tile tile_at(const ConvPlan& plan, int64_t index) {
    Tile tile;
    tile.u.resize(plan.axes.size());
    tile.chunk.resize(plan.axes.size());
    for (int q = static_cast<int>(plan.axes.size()) - 1; q >= 0; --q) {
        const ConvPlanAxis& a = plan.axes[q];
        const int64_t begin = a.u.begin + index % a.tiles * a.tile;
        tile.u[q] = {begin, min(begin + a.tile, a.u.end)};
        tile.chunk[q] = {0, a.k};
        index /= a.tiles;
    }
    return tile;
}

// ---------------------------------------------------------------------------------------------------- memory

namespace {

// The last large block is last_block for the next call: page faults of fresh memory cost as much as filling it. Larger
// ones go through the buffer cache.
constexpr int64_t kLarge = 64 * 1024, kMaxKept = 8 * 1024 * 1024;
constexpr std::align_val_t kAligned{128};
std::atomic<Memory::Header*> last_block{nullptr};

}  // namespace

Memory::Memory(int64_t bytes) {
    bytes = (bytes + 256) / 128 * 128;
    if (bytes >= kLarge) header_ = last_block.exchange(nullptr);
    if (header_ && header_->bytes >= bytes) return;
    ::operator delete(std::exchange(header_, nullptr), kAligned);
    void* pages = nullptr;
    if (bytes > kMaxKept) {
        pages = take_buffer(static_cast<size_t>(bytes + 256));
        if (!pages) throw std::bad_alloc();
        header_ = reinterpret_cast<Header*>((reinterpret_cast<uintptr_t>(pages) + 127) / 128 * 128);
    } else {
        header_ = static_cast<Header*>(::operator new(static_cast<size_t>(bytes + 128), kAligned));
    }
    header_->bytes = bytes;
    header_->pages = pages;
}

void Memory::release() {
    if (header_ && header_->pages) {
        return_buffer(header_->pages);
        header_ = nullptr;
        return;
    }
    if (header_ && header_->bytes >= kLarge && header_->bytes <= kMaxKept) header_ = last_block.exchange(header_);
    ::operator delete(header_, kAligned);
    header_ = nullptr;
}

void bundle_groups(ConvPlan& plan, int64_t lanes) {
    for (int64_t m = lanes / plan.out; m > 1; --m) {
        if (plan.groups % m) continue;
        plan.bundle = m;
        plan.groups /= m;
        plan.reduce *= m;
        plan.out *= m;
        return;
    }
}

bool reads_in_place(const ConvPlan& plan) {
    if (plan.reduce != 1 || plan.out != 1 || !plan.same || plan.source_channel != plan.width ||
        reinterpret_cast<uintptr_t>(plan.source) % plan.width)
        return false;
    for (const ConvPlanAxis& a : plan.axes)
        if (a.stride % plan.width) return false;
    return true;
}

int conv_threads(double products) {
    const double threads = products / grain_products;
    return threads < 1 ? 1 : threads > num_threads() ? num_threads() : static_cast<int>(threads);
}

int64_t conv_tasks(double products) { return products < 2 * grain_products ? 1 : 16; }

int64_t conv_tile_bytes() { return box_bytes; }

void set_conv_limits(int64_t bytes_per_tile, int64_t elements_per_thread) {
    box_bytes = bytes_per_tile;
    grain_products = static_cast<double>(elements_per_thread) * 8;
}

}  // namespace cenote
