// Roots of unity and twiddle factors of overlap-save.

#include <cmath>
#include <mutex>

#include "conv/fft.hpp"

namespace cenote {

namespace {

int64_t reversed(int64_t i, int64_t n) {
    int64_t r = 0;
    for (int64_t bit = 1; bit < n; bit *= 2, i /= 2) r = 2 * r + i % 2;
    return r;
}

void root_of_unity(int64_t j, int64_t n, double& re, double& im) {
    const long double angle =
        2 * 3.14159265358979323846264338327950288L * static_cast<long double>(j) / static_cast<long double>(n);
    re = static_cast<double>(std::cos(angle));
    im = static_cast<double>(std::sin(angle));
}

std::vector<double> make_roots(int64_t n) {
    std::vector<double> roots(static_cast<size_t>(n));
    for (int64_t j = 0; j < n / 2; ++j) root_of_unity(j, n, roots[j], roots[n / 2 + j]);
    return roots;
}

// exp(2πi·k·j/n) for row k (in the order of frequencies) and column j, each as the product of two roots.
std::vector<double> make_twiddles(int64_t n1, int64_t n2) {
    const int64_t pitch = n2 + kFftPadding, n = n1 * n2;
    int shift = 0;
    while (n2 >> shift > 1) ++shift;
    std::vector<double> fine(static_cast<size_t>(2 * n2)), coarse(static_cast<size_t>(2 * n1));
    for (int64_t j = 0; j < n2; ++j) root_of_unity(j, n, fine[2 * j], fine[2 * j + 1]);
    for (int64_t j = 0; j < n1; ++j) root_of_unity(j, n1, coarse[2 * j], coarse[2 * j + 1]);
    std::vector<double> twiddles(static_cast<size_t>(2 * n1 * pitch));
    double *re = twiddles.data(), *im = re + n1 * pitch;
    for (int64_t row = 0; row < n1; ++row) {
        const int64_t k = reversed(row, n1);
        for (int64_t j = 0; j < n2; ++j) {
            const double *a = fine.data() + 2 * (k * j & (n2 - 1)), *b = coarse.data() + 2 * (k * j >> shift);
            re[row * pitch + j] = a[0] * b[0] - a[1] * b[1];
            im[row * pitch + j] = a[0] * b[1] + a[1] * b[0];
        }
    }
    return twiddles;
}

// The last few tables are cached: a table costs about as much as a transform.
constexpr size_t kCachedTables = 6;
constexpr int64_t kCachedNumbers = int64_t{1} << 18;
std::mutex cache_lock;
std::vector<std::shared_ptr<const FftTables>>& cached_tables() {
    static auto* const all =
        new std::vector<std::shared_ptr<const FftTables>>;  // never destroyed: threads may outlive static objects
    return *all;
}

}  // namespace

std::shared_ptr<const FftTables> fft_tables(int64_t n1, int64_t n2, bool line) {
    {
        const std::lock_guard<std::mutex> lock(cache_lock);
        for (auto& t : cached_tables())
            if (t->n1 == n1 && t->n2 == n2 && t->line == line) return t;
    }
    auto tables = std::make_shared<FftTables>();
    tables->n1 = n1;
    tables->n2 = n2;
    tables->line = line;
    tables->roots1 = make_roots(n1);
    tables->roots2 = make_roots(n2);
    if (line) tables->twiddles = make_twiddles(n1, n2);
    if (n1 * n2 <= kCachedNumbers || !line) {
        const std::lock_guard<std::mutex> lock(cache_lock);
        auto& all = cached_tables();
        if (all.size() >= kCachedTables) all.erase(all.begin());
        all.push_back(tables);
    }
    return tables;
}

}  // namespace cenote
