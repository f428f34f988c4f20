// Which method serves a convolution: two ordered lists, the first entry that accepts it wins.

#include "conv/conv.hpp"
#include "conv/direct.hpp"
#include "conv/fft.hpp"
#include "conv/plan.hpp"

namespace cenote {

namespace {

struct ConvMethod {
    const char* name;
    bool (*accepts)(const ConvPlan&);
    void (*run)(ConvPlan&);
};

bool always(const ConvPlan&) { return true; }

// Convolution, and its derivative with respect to the input.
const ConvMethod kForward[] = {
    {"overlap_save",
     [](const ConvPlan& p) {
         FftChoice choice;
         return choose_fft(p, false, choice);
     },
     [](ConvPlan& p) { run_fft(p); }},
    {"winograd", &winograd_pays, &run_winograd},
    {"direct", &always, [](ConvPlan& p) { run_directly(p); }},
};

// The derivative with respect to the filter.
const ConvMethod kFilter[] = {
    {"overlap_save_filter",
     [](const ConvPlan& p) {
         FftChoice choice;
         return choose_fft(p, true, choice);
     },
     [](ConvPlan& p) {
         if (!run_fft_filter(p)) run_filter_directly(p);  // fails for NaN and infinities
     }},
    {"direct_filter", &always, &run_filter_directly},
};

// The variant of a direct sum, by its vector lanes (choose_method in direct.cpp).
const char* direct_variant(const ConvPlan& p) {
    Forward f{};
    f.plan = p;
    choose_method(f, true);
    if (f.by_taps) return "direct_taps";
    return f.lanes == Lanes::groups   ? "direct_depthwise"
           : f.lanes == Lanes::pixels ? "direct_pixels"
                                      : "direct_channels";
}

bool is_empty(const ConvProblem& r) {
    const bool filter = r.form == Form::filter, back = r.form == Form::input;
    if (r.groups == 0 || (filter ? r.in == 0 || r.out == 0 : r.batch == 0 || (back ? r.in : r.out) == 0)) return true;
    for (int q = 0; q < r.rank; ++q)
        if ((filter ? r.axis[q].k : back ? r.axis[q].n : r.axis[q].o) == 0) return true;
    return false;
}

const ConvMethod& choose(const ConvProblem& r, const ConvPlan& plan) {
    const ConvMethod* method = r.form == Form::filter ? kFilter : kForward;
    while (!method->accepts(plan)) ++method;  // the last entry accepts everything
    return *method;
}

}  // namespace

void convolve(const ConvProblem& r) {
    if (is_empty(r)) return;
    ConvPlan plan = make_plan(r);
    choose(r, plan).run(plan);
}

const char* conv_method_of(const ConvProblem& r) {
    if (is_empty(r)) return "empty";
    const ConvPlan plan = make_plan(r);
    const ConvMethod& method = choose(r, plan);
    return &method == &kForward[2] ? direct_variant(plan) : method.name;
}

}  // namespace cenote
