// Memory for large results, which is kept for the next ones.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cenote {

constexpr size_t kLargeResult = size_t{4} << 20;  // from here on results are made in this memory

// At least `bytes` bytes at an address that is a multiple of 64; null when there are none.
void* take_buffer(size_t bytes);
// How many were asked for when `data` was taken.
size_t buffer_size(const void* data);
// Kept for the next one, if it is not more than the limit.
void return_buffer(void* data);

int64_t cached_bytes();
int64_t cache_limit();
void set_cache_limit(int64_t bytes);

}  // namespace cenote
