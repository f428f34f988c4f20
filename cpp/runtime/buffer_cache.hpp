// A cache of the memory of large results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cenote {

constexpr size_t kLargeResult = size_t{4} << 20;  // results of this size or more are allocated here

// At least `bytes` bytes, aligned to 64; null if out of memory.
void* take_buffer(size_t bytes);
// The `bytes` that were requested for `data`.
size_t buffer_size(const void* data);
// Caches the buffer for reuse, or frees it if it exceeds the limit.
void return_buffer(void* data);

// Asks the system for huge pages in the memory of a large result that somebody else allocated, before it is written for
// the first time: fresh memory is then faulted in 2 MiB at a time. Without effect on memory that is in use.
void use_huge_pages(void* data, size_t bytes);

int64_t cached_bytes();
int64_t cache_limit();
void set_cache_limit(int64_t bytes);

}  // namespace cenote
