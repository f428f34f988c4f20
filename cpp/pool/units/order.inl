// Medians and modes: rows of windows that sorting networks serve.

#include "pool/units/unit.inl"

#include "pool/order.hpp"
#include "pool/order_rows.hpp"

namespace cenote::CENOTE_LEVEL {

namespace {

constexpr int kVectorBytes = CENOTE_VECTOR_BYTES;

#include "simd/vector.inl"

#include "pool/kernels/networks.inl"

#include "pool/kernels/median_rows.inl"

#include "pool/kernels/mode_rows.inl"

#include "pool/kernels/threshold_counts.inl"

}  // namespace

#define CENOTE_EACH_KEY(f) {&f<uint8_t>, &f<uint16_t>, &f<uint32_t>, &f<int64_t>}
extern const OrderRows order_rows;
const OrderRows order_rows = {
    kVectorBytes,
    CENOTE_EACH_KEY(median_row),
    CENOTE_EACH_KEY(mode_row),
    CENOTE_EACH_KEY(shared_row),
    CENOTE_EACH_KEY(vote_row),
    CENOTE_EACH_KEY(split_row),
    &threshold_counts,
};
#undef CENOTE_EACH_KEY

}  // namespace cenote::CENOTE_LEVEL
