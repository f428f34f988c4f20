// Overlap-save: from source to spectra and from spectra to results.

#include <cstring>
#include <limits>
#include <new>
#include <numeric>

#include "conv/fft.hpp"
#include "runtime/buffer_cache.hpp"

namespace cenote {

namespace {

constexpr int64_t kWidth = sizeof(double);
// Padding between the real and the imaginary part: if they were a multiple of 4096 bytes apart, loads of one would wait
// for stores to the other (4K aliasing; 127×127 on 2048²: 53 vs. 42 ms on one thread).
constexpr int64_t kPartPadding = 136;
constexpr int64_t kTile = 32;  // columns transformed and transposed at a time

// Transposes columns j … j+kTile-1 of a matrix of `rows` rows.
void transpose_tile(const Fft& f, const double* from, int64_t pitch_from, double* to, int64_t pitch_to, int64_t rows,
                    int64_t j, int64_t columns) {
    for (int64_t i = 0; i < rows; i += kTile)
        f.work->load({DType::f64, reinterpret_cast<char*>(const_cast<double*>(from) + i * pitch_from + j), kWidth,
                      pitch_from * kWidth, to + j * pitch_to + i, pitch_to, 1, columns, min(kTile, rows - i)});
}

void clear(double* row, int64_t begin, int64_t end) {
    if (end > begin) std::memset(row + begin, 0, static_cast<size_t>(end - begin) * sizeof(double));
}

void load_row(const Fft& f, const char* from, int64_t stride, double* to, int64_t every, int64_t count) {
    if (count > 0)
        f.work->load({f.p.part, const_cast<char*>(from), count * stride, stride, to, count * every, every, 1, count});
}
void store_row(const Fft& f, char* to, int64_t stride, const double* from, int64_t every, int64_t count) {
    if (count > 0)
        f.work->store(
            {f.p.part, to, count * stride, stride, const_cast<double*>(from), count * every, every, 1, count});
}

Segment segment_at(const ConvPlan& p, const FftAxis& f, int64_t index) {
    const ConvPlanAxis& a = p.axes[f.axis];
    const int64_t start = index % f.residues + a.d * (index / f.residues) * f.useful;
    Segment s{};
    s.element = a.u.begin * a.step + a.phases[0].taps[0].offset + start;
    s.next = a.d;
    s.every = a.step / std::gcd(a.step, a.d);
    while (s.first < s.every && (start + a.d * s.first) % a.step) ++s.first;
    const int64_t elements = start < f.dense ? min(f.useful, ceil_div(f.dense - start, a.d)) : 0;
    if (s.first < s.every && s.first < elements) s.results = ceil_div(elements - s.first, s.every);
    s.u = a.u.begin + (start + a.d * s.first) / a.step;
    s.u_step = a.d * s.every / a.step;
    return s;
}

// The elements of a segment that are not padding.
Span real_elements(const Segment& s, int64_t n, int64_t elements) {
    const int64_t begin = min(n, max(0, ceil_div(-s.element, s.next)));
    return {begin, max(begin, min(n, ceil_div(elements - s.element, s.next)))};
}

// Adds the byte offset of an index along several axes, in the results or in the source; false if it is padding.
bool add_offset(const ConvPlan& p, const std::vector<size_t>& axes, int64_t index, bool results, int64_t& bytes) {
    for (size_t i = axes.size(); i-- > 0;) {
        const ConvPlanAxis& a = p.axes[axes[i]];
        const int64_t windows = a.u.end - a.u.begin, u = a.u.begin + index % windows;
        index /= windows;
        const int64_t element = u * a.step + a.phases[0].taps[0].offset;
        if (!results && (element < 0 || element >= a.n)) return false;
        bytes += results ? (u + a.phases[0].out_base) * a.out_stride : element * a.stride;
    }
    return true;
}

// body(row, column, byte offset of the first result, count) for the rows of a block.
template <class Body>
void for_results(const Fft& f, const BlockAt& b, Body body) {
    const ConvPlan& p = f.p;
    const Segment& c = b.columns;
    const ConvPlanAxis& inner = p.axes[f.columns.axis];
    const auto bytes = [](const ConvPlanAxis& a, int64_t u) { return (u + a.phases[0].out_base) * a.out_stride; };
    if (f.line) {
        for (int64_t row = 0; row < f.n1; ++row) {
            const int64_t begin = max(0, ceil_div(row * f.n2 - c.first, c.every));
            const int64_t end = min(c.results, ceil_div((row + 1) * f.n2 - c.first, c.every));
            if (begin < end)
                body(row, c.first + begin * c.every - row * f.n2, bytes(inner, c.u + begin * c.u_step), end - begin);
        }
        return;
    }
    const ConvPlanAxis& outer = p.axes[f.rows.axis];
    if (c.results == 0) return;
    for (int64_t q = 0; q < b.rows.results; ++q)
        body(b.rows.first + q * b.rows.every, c.first, bytes(outer, b.rows.u + q * b.rows.u_step) + bytes(inner, c.u),
             c.results);
}

void load_block(const Fft& f, const BlockAt& b, const char* source, double* to) {
    const ConvPlanAxis& inner = f.p.axes[f.columns.axis];
    const Segment& c = b.columns;
    const Span real = real_elements(c, f.columns.n, inner.n);
    const int64_t stride = c.next * inner.stride;
    Span rows{0, f.n1};
    if (!f.line) rows = real_elements(b.rows, f.n1, f.p.axes[f.rows.axis].n);
    for (int64_t i = 0; i < f.n1; ++i) {
        double* const row = to + i * f.pitch2;
        if (i < rows.begin || i >= rows.end) {
            clear(row, 0, f.n2);
            continue;
        }
        const int64_t before = f.line ? i * f.n2 : 0;
        const int64_t begin = min(f.n2, max(0, real.begin - before));
        const int64_t end = max(begin, min(f.n2, real.end - before));
        const char* from = source + (c.element + (before + begin) * c.next) * inner.stride;
        if (!f.line) from += (b.rows.element + i * b.rows.next) * f.p.axes[f.rows.axis].stride;
        clear(row, 0, begin);
        load_row(f, from, stride, row + begin, 1, end - begin);
        clear(row, end, f.n2);
    }
}

double limit_of(DType part) {
    switch (part) {
        case DType::f16: return 65520;
        case DType::bf16: return 0x1.ffp127;
        case DType::f32: return 0x1.ffffffp127;
        default: return std::numeric_limits<double>::infinity();
    }
}

int64_t channel_bytes(const ConvPlan& p, int64_t channel, int64_t stride) {
    return channel / p.parts * stride + channel % p.parts * p.part_bytes;
}

// body(row, byte offset, count) for the rows of a filter.
template <class Body>
void for_filter(const Fft& f, int64_t group, int64_t index, Body body) {
    const ConvPlan& p = f.p;
    const int64_t part = index % p.parts, in = index / p.parts % (p.reduce / p.parts);
    int64_t rest = index / p.reduce;
    const int64_t out = rest / f.taps;
    int64_t bytes = group * p.w_group + in * p.w_reduce + out * p.w_out + part * p.part_bytes;
    for (size_t i = f.tapped.size(); i-- > 0; rest /= p.axes[f.tapped[i]].k)
        bytes += rest % p.axes[f.tapped[i]].k * p.axes[f.tapped[i]].w_stride;
    const ConvPlanAxis& inner = p.axes[f.columns.axis];
    if (f.line) {
        for (int64_t row = 0; row * f.n2 < inner.k; ++row)
            body(row, bytes + row * f.n2 * inner.w_stride, min(f.n2, inner.k - row * f.n2));
        return;
    }
    const ConvPlanAxis& outer = p.axes[f.rows.axis];
    for (int64_t row = 0; row < outer.k; ++row) body(row, bytes + row * outer.w_stride, inner.k);
}

}  // namespace

Spectra::Spectra(int64_t bytes) : large_(bytes >= static_cast<int64_t>(kLargeResult)) {
    if (large_) {
        data_ = static_cast<double*>(take_buffer(static_cast<size_t>(bytes)));
        if (!data_) throw std::bad_alloc();
    } else {
        small_ = Memory(bytes);
        data_ = reinterpret_cast<double*>(small_.get());
    }
}

Spectra::~Spectra() {
    if (large_) return_buffer(data_);
}

FftAxis divide_axis(const ConvPlan& p, size_t axis, int64_t n) {
    const ConvPlanAxis& a = p.axes[axis];
    FftAxis f{axis, n, n - a.k + 1, (a.u.end - a.u.begin - 1) * a.step + 1, 1, 1};
    f.residues = min(a.d, f.dense);
    f.blocks = ceil_div(ceil_div(f.dense, f.residues), f.useful);
    return f;
}

Fft plan_fft(const ConvPlan& p, const FftChoice& choice) {
    Fft f(p);
    f.work = level_in_use().find_conv(DType::f64);
    f.kernels = level_in_use().fft;
    f.line = choice.line;
    f.rows = choice.rows;
    f.columns = choice.columns;
    if (f.line) {
        f.n1 = 1;
        while (4 * f.n1 * f.n1 <= f.columns.n) f.n1 *= 2;
        f.n2 = f.columns.n / f.n1;
    } else {
        f.n1 = f.rows.n;
        f.n2 = f.columns.n;
    }
    f.pitch1 = f.n1 + kFftPadding;
    f.pitch2 = f.n2 + kFftPadding;
    f.size = f.n2 * f.pitch1;
    f.blocks = f.columns.count() * (f.line ? 1 : f.rows.count());
    f.planes = f.out_planes = f.taps = 1;
    for (size_t q = 0; q < p.axes.size(); ++q) {
        const ConvPlanAxis& a = p.axes[q];
        if (q == f.columns.axis || (!f.line && q == f.rows.axis)) continue;
        if (a.k == 1) {
            f.looped.push_back(q);
            f.blocks *= a.u.end - a.u.begin;
        } else {
            f.tapped.push_back(q);
            f.planes *= a.n;
            f.out_planes *= a.u.end - a.u.begin;
            f.taps *= a.k;
        }
    }
    f.pairs = ceil_div(f.blocks, 2);
    f.filters = f.taps * p.reduce * p.out / p.parts;
    f.tables = fft_tables(f.n1, f.n2, f.line);
    return f;
}

Matrix take_matrix(const Fft& f, Arena* arena) {
    const int64_t bytes = max(f.n1 * f.pitch2, f.n2 * f.pitch1) * kWidth;
    auto* const re = static_cast<double*>(arena_take(arena, bytes));
    return {re, static_cast<double*>(arena_take(arena, bytes + kPartPadding * kWidth)) + kPartPadding};
}

void forward_fft(const Fft& f, Matrix from, Matrix spectrum) {
    const FftTables& t = *f.tables;
    for (int64_t j = 0; j < f.n2; j += kTile) {
        const int64_t columns = min(kTile, f.n2 - j);
        f.kernels->columns({from.re + j, from.im + j, f.pitch2, f.n1, columns, t.roots1.data(),
                            f.line ? t.twiddles.data() + j : nullptr, false});
        transpose_tile(f, from.re, f.pitch2, spectrum.re, f.pitch1, f.n1, j, columns);
        transpose_tile(f, from.im, f.pitch2, spectrum.im, f.pitch1, f.n1, j, columns);
    }
    for (int64_t row = 0; row < f.n2; ++row) {  // the product runs over the padding too
        clear(spectrum.re + row * f.pitch1, f.n1, f.pitch1);
        clear(spectrum.im + row * f.pitch1, f.n1, f.pitch1);
    }
    f.kernels->columns({spectrum.re, spectrum.im, f.pitch1, f.n2, f.n1, t.roots2.data(), nullptr, false});
}

void inverse_fft(const Fft& f, Matrix spectrum, Matrix result) {
    const FftTables& t = *f.tables;
    for (int64_t i = 0; i < f.n1; i += kTile) {
        const int64_t columns = min(kTile, f.n1 - i);
        f.kernels->columns({spectrum.re + i, spectrum.im + i, f.pitch1, f.n2, columns, t.roots2.data(), nullptr, true});
        transpose_tile(f, spectrum.re, f.pitch1, result.re, f.pitch2, f.n2, i, columns);
        transpose_tile(f, spectrum.im, f.pitch1, result.im, f.pitch2, f.n2, i, columns);
    }
    f.kernels->columns(
        {result.re, result.im, f.pitch2, f.n1, f.n2, t.roots1.data(), f.line ? t.twiddles.data() : nullptr, true});
}

BlockAt block_at(const Fft& f, int64_t index) {
    BlockAt b{};
    b.columns = segment_at(f.p, f.columns, index % f.columns.count());
    index /= f.columns.count();
    if (!f.line) {
        b.rows = segment_at(f.p, f.rows, index % f.rows.count());
        index /= f.rows.count();
    }
    b.looped = index;
    return b;
}

void source_spectrum(const Fft& f, int64_t pair, int64_t plane, int64_t channel, Matrix buffer, Matrix spectrum) {
    const ConvPlan& p = f.p;
    const char* source = p.source + channel_bytes(p, channel, p.source_channel);
    for (size_t i = f.tapped.size(); i-- > 0; plane /= p.axes[f.tapped[i]].n)
        source += plane % p.axes[f.tapped[i]].n * p.axes[f.tapped[i]].stride;
    for (int i = 0; i < 2; ++i) {
        double* const to = i ? buffer.im : buffer.re;
        const int64_t index = 2 * pair + i;
        int64_t bytes = 0;
        const BlockAt b = block_at(f, min(index, f.blocks - 1));
        if (index < f.blocks && add_offset(p, f.looped, b.looped, false, bytes))
            load_block(f, b, source + bytes, to);
        else
            clear(to, 0, f.n1 * f.pitch2);
    }
    forward_fft(f, buffer, spectrum);
}

void result_spectrum(const Fft& f, int64_t pair, int64_t plane, int64_t channel, Matrix buffer, Matrix spectrum) {
    const ConvPlan& p = f.p;
    int64_t at = channel_bytes(p, channel, p.result_channel);
    add_offset(p, f.tapped, plane, true, at);
    for (int i = 0; i < 2; ++i) {
        double* const to = i ? buffer.im : buffer.re;
        clear(to, 0, f.n1 * f.pitch2);
        if (2 * pair + i >= f.blocks) continue;
        const BlockAt b = block_at(f, 2 * pair + i);
        int64_t bytes = at;
        add_offset(p, f.looped, b.looped, true, bytes);
        const int64_t stride = b.columns.u_step * p.axes[f.columns.axis].out_stride;
        for_results(f, b, [&](int64_t row, int64_t column, int64_t offset, int64_t count) {
            load_row(f, p.result + bytes + offset, stride, to + row * f.pitch2 + column, b.columns.every, count);
        });
    }
    forward_fft(f, buffer, spectrum);
}

void filter_spectrum(const Fft& f, int64_t group, int64_t index, Matrix buffer, Matrix spectrum) {
    clear(buffer.re, 0, f.n1 * f.pitch2);
    clear(buffer.im, 0, f.n1 * f.pitch2);
    for_filter(f, group, index, [&](int64_t row, int64_t bytes, int64_t count) {
        load_row(f, f.p.w + bytes, f.p.axes[f.columns.axis].w_stride, buffer.re + row * f.pitch2, 1, count);
    });
    forward_fft(f, buffer, spectrum);
}

bool store_block(const Fft& f, int64_t index, int64_t plane, int64_t channel, double* from) {
    const ConvPlan& p = f.p;
    int64_t bytes = channel_bytes(p, channel, p.result_channel);
    const BlockAt b = block_at(f, index);
    add_offset(p, f.tapped, plane, true, bytes);
    add_offset(p, f.looped, b.looped, true, bytes);
    double bias = 0;
    if (p.bias) load_row(f, p.bias + channel_bytes(p, channel, p.bias_stride), 0, &bias, 1, 1);
    const double scale = f.scale(), limit = limit_of(p.part);
    const int64_t every = b.columns.every, stride = b.columns.u_step * p.axes[f.columns.axis].out_stride;
    bool finite = true;
    for_results(f, b, [&](int64_t row, int64_t column, int64_t offset, int64_t count) {
        double* const at = from + row * f.pitch2 + column;
        finite &= f.kernels->results({at, (count - 1) * every + 1, scale, bias, limit});
        store_row(f, p.result + bytes + offset, stride, at, every, count);
    });
    return finite;
}

bool store_filter(const Fft& f, int64_t group, int64_t index, double* from) {
    bool finite = true;
    const double scale = f.scale(), limit = limit_of(f.p.part);
    for_filter(f, group, index, [&](int64_t row, int64_t bytes, int64_t count) {
        double* const at = from + row * f.pitch2;
        finite &= f.kernels->results({at, count, scale, 0, limit});
        store_row(f, const_cast<char*>(f.p.w) + bytes, f.p.axes[f.columns.axis].w_stride, at, 1, count);
    });
    return finite;
}

}  // namespace cenote
