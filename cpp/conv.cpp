#include "conv.hpp"

#include "conv_plan.hpp"

namespace cenote {

void convolve(const ConvRequest& r) {
    if (r.form == Form::filter) {
        for (int q = 0; q < r.rank; ++q)
            if (r.axis[q].k == 0) return;
        if (r.in == 0 || r.out == 0 || r.groups == 0) return;
        Plan plan = make_plan(r);
        return run_filter(plan);
    }
    const bool back = r.form == Form::input;
    if (r.batch == 0 || r.groups == 0 || (back ? r.in : r.out) == 0) return;
    for (int q = 0; q < r.rank; ++q)
        if ((back ? r.axis[q].n : r.axis[q].o) == 0) return;
    Plan plan = make_plan(r);
    run_forward(plan);
}

}  // namespace cenote
