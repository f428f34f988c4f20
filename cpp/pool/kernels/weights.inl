// The factors of a weight (pool/weighted.hpp) and its shifted form, vector by vector.

using Doubles = Lane<double, kVectorBytes>::V;
using DoubleBits = Rebind<Doubles, uint64_t>::type;
using DoubleMask = decltype(Doubles{} < Doubles{});
constexpr int64_t kDoubles = Lane<double, kVectorBytes>::count;

// Factors are in range if |βx|, or |log x| times the largest power, is at most this; and the factor that comes from the
// number of elements in a norm's window must have a logarithm of at most that.
constexpr double kPlainExponent = 300.0, kPlainLog = 200.0, kPlainCount = 100.0;

CENOTE_INLINE inline Doubles of_all(double v) { return splat<Doubles>(v); }
CENOTE_INLINE inline Doubles magnitude(Doubles x) { return (Doubles)((DoubleBits)x & ~uint64_t{0} >> 1); }
CENOTE_INLINE inline Doubles with_sign_of(Doubles x, Doubles size) {
    return (Doubles)(((DoubleBits)x & uint64_t{1} << 63) | (DoubleBits)size);
}
inline double larger(double a, double b) { return a > b ? a : b; }

CENOTE_ONCE Factors factors_of(const Weights& w, int64_t window_elements) {
    Factors f{};
    f.of = w;
    f.plain_pad = true;
    if (w.exponential) {
        if (!w.pads) return f;
        const Doubles by = of_all(w.beta), v = of_all(w.pad_value), t = by * v;
        f.plain_pad = t[0] >= -kPlainExponent && t[0] <= kPlainExponent;
        if (f.plain_pad) f.pad = exp_of<false>(t, product_error(by, v, t))[0];
        return f;
    }
    f.ones = w.q == 0.0 && !w.odd;
    f.term = power_for(w.p, 0.0);
    f.element = power_for(w.q, 0.0);
    const Doubles ratio = of_all(-w.q / w.p), p = of_all(w.p), product = ratio * p;
    const double lost =
        (-w.q - product[0]) - product_error(ratio, p, product)[0];  // the rounding error of the ratio, times p
    f.window = power_for(ratio[0], lost / w.p);
    const double size = larger(w.q < 0 ? -w.q : w.q, 1.0);
    f.most = exp_of<false>(of_all(kPlainLog / larger(w.p, size)), Doubles{})[0];
    f.least = 1.0 / f.most;
    double bits = 0;  // of the number of elements
    for (int64_t elements = window_elements; elements > 0; elements >>= 1) ++bits;
    if (size / w.p * bits * 0.7 > kPlainCount) f.least = __builtin_inf();
    return f;
}

CENOTE_INLINE inline DoubleMask out_of_range(Doubles t) {
    const Doubles size = magnitude(t);
    return (size > kMostPlain) | ((size < kLeastPlain) & (size != 0.0));
}

// exp(βx); 0 if out of range.
CENOTE_INLINE inline Doubles plain_exponential(const Factors& f, Doubles x, DoubleMask& plain) {
    const Doubles by = of_all(f.of.beta), t = x * by;
    plain = (t >= -kPlainExponent) & (t <= kPlainExponent);
    return plain ? exp_of<false>(plain ? t : Doubles{}, plain ? product_error(by, x, t) : Doubles{}) : Doubles{};
}

// |x|^p and s(x)·|x|^q; 0 if out of range. Either may be null.
CENOTE_INLINE inline void plain_powers(const Factors& f, Doubles x, Doubles* term, Doubles* weight, DoubleMask& plain) {
    const Doubles size = magnitude(x);
    const DoubleMask zero = size == 0.0, used = (size >= f.least) & (size <= f.most);
    plain = f.least <= f.most ? used | zero : used;
    const Doubles safe = used ? size : of_all(1.0);
    if (term) *term = used ? raise(safe, f.term) : Doubles{};
    if (!weight) return;
    const Doubles power = raise(safe, f.element);
    if (f.ones)
        *weight = plain ? of_all(1.0) : Doubles{};
    else
        *weight = used ? (f.of.odd ? with_sign_of(x, power) : power) : Doubles{};
}

// The operand of a window times its factor: v/D, or v·y^-q with y^p = D.
CENOTE_INLINE inline Doubles normalized(const Factors& f, Doubles v, Doubles total) {
    const DoubleMask none = total == 0.0;
    const Doubles safe = none ? of_all(1.0) : total;
    if (f.of.exponential) return none ? Doubles{} : v / safe;
    if (f.ones) return v;
    return none ? Doubles{} : v * raise(safe, f.window);
}

// ------------------------------------------------------------------------------------------ the shifted form

CENOTE_ONCE void shifted_weights(const Factors& f, Ratio of, const double* x, const double* pivot, double* out,
                                 int64_t n) {
    const Doubles infinity = of_all(__builtin_inf()), one = of_all(1.0);
    for (int64_t i = 0; i < n; i += kDoubles) {
        const Doubles v = load<Doubles>(x + i), p = load<Doubles>(pivot + i), size = magnitude(v);
        Doubles weight = one;
        if (f.of.exponential) {
            const DoubleMask infinite = magnitude(p) == infinity;
            const Doubles t = of_all(f.of.beta) * (infinite ? Doubles{} : v - p);
            weight = infinite ? (v == p ? one : Doubles{}) : exp_clamped(t, Doubles{});
        } else if (of.power != 0.0) {
            const DoubleMask used = (size > 0.0) & (size < infinity) & (p > 0.0) & (p < infinity);
            Doubles whole, rest, p_whole, p_rest;
            log_of(used ? size : one, whole, rest);
            log_of(used ? p : one, p_whole, p_rest);
            weight = power_of_log<true>(Doubles(whole - p_whole), Doubles(rest - p_rest), of.power, 0.0);
            const Doubles finite = of_all(of.power > 0.0 ? 0.0 : __builtin_inf());
            weight = p == infinity ? (size == infinity ? of_all(__builtin_nan("")) : finite) : weight;
        }
        if (!f.of.exponential && (of.power != 0.0 || of.odd))
            weight = size == 0.0 ? Doubles{} : of.odd ? with_sign_of(v, weight) : weight;
        store(out + i, weight);
    }
}

CENOTE_ONCE double power_once(double x, const Power& to) {
    Doubles whole, rest;
    log_of(of_all(x), whole, rest);
    return power_of_log<true>(whole, rest, to.q, to.q_rest)[0];
}
