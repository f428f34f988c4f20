#include "runtime/buffer_cache.hpp"

#include <mutex>

#if defined(_WIN32)
#define NOMINMAX
#include <windows.h>
#else
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

// Page-faulting fresh memory can cost more than the computation: the system has to find each page and zero it. So freed
// buffers of large results are kept, up to a limit, and reused for results of about the same size. The system may
// reclaim the pages of a cached buffer when memory runs short, in a container too (MADV_FREE); the next result then
// faults in new ones.

namespace cenote {

namespace {

constexpr size_t kMaxBlocks = 16;
[[maybe_unused]] constexpr size_t kHugePage = size_t{2} << 20;

// Header in front of the memory that is handed out.
struct alignas(64) Block {
    size_t mapped;  // bytes, including this header
    size_t requested;
};

// ----------------------------------------------------------------------------------------------- the system

#if defined(_WIN32)

size_t page_size() {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return info.dwPageSize;
}

void* map(size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }

void unmap(void* memory, size_t) { VirtualFree(memory, 0, MEM_RELEASE); }

// Tells the system that it may reclaim the pages until they are written again.
bool mark_reclaimable(void*, size_t) { return false; }

#else

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void unmap(void* memory, size_t bytes) { munmap(memory, bytes); }

void* map(size_t bytes) {
#if defined(MADV_HUGEPAGE)
    // Huge pages start at multiples of their size: map more, and unmap what is before the first and after the last one.
    constexpr size_t kAligned = kHugePage, kAround = kHugePage;
#else
    constexpr size_t kAligned = 1, kAround = 0;
#endif
    const size_t room = bytes + kAround;
    void* found = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(found);
    const uintptr_t begin = (address + kAligned - 1) / kAligned * kAligned, end = begin + bytes;
    if (begin > address) munmap(found, begin - address);
    if (end < address + room) munmap(reinterpret_cast<void*>(end), address + room - end);
    auto* memory = reinterpret_cast<void*>(begin);
#if defined(MADV_HUGEPAGE)
    madvise(memory, bytes, MADV_HUGEPAGE);  // a hint only
#endif
    return memory;
}

bool mark_reclaimable([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
#if defined(MADV_FREE)
    return madvise(memory, bytes, MADV_FREE) == 0;
#else
    return false;
#endif
}

#endif

Block* map_block(size_t bytes) {
    auto* block = static_cast<Block*>(map(bytes));
    if (block) block->mapped = bytes;
    return block;
}

// ------------------------------------------------------------------------------------------------ the cache

struct BufferCache {
    struct Entry {
        Block* block;
        size_t mapped;  // a copy: the system may have reclaimed the page that holds the header
    };
    std::mutex lock;  // never waited for by results: they use fresh memory instead
    Entry entries[kMaxBlocks] = {};
    size_t count = 0;  // most recently freed last
    size_t bytes = 0;
    size_t limit = 0;  // set when the package is imported

    void remove(size_t first, size_t last) {
        for (size_t i = last; i < count; ++i) entries[first + i - last] = entries[i];
        count -= last - first;
    }
};

// Constant-initialised, because initialisation on first use could run while another thread forks, and never destroyed,
// because results may outlive all static objects.
union Forever {
    BufferCache cache;
    constexpr Forever() : cache() {}
    ~Forever() {}
};
constinit Forever forever;
BufferCache& the_cache() { return forever.cache; }

#if !defined(_WIN32)
// Held across fork(), so that the child finds it unlocked and the cache consistent.
[[maybe_unused]] const int registered = pthread_atfork(
    [] { the_cache().lock.lock(); }, [] { the_cache().lock.unlock(); }, [] { the_cache().lock.unlock(); });
#endif

const size_t page = page_size();

// The smallest cached block of at least `bytes` bytes that wastes at most an eighth.
Block* find_cached(size_t bytes) {
    BufferCache& c = the_cache();
    std::unique_lock<std::mutex> lock(c.lock, std::try_to_lock);
    if (!lock) return nullptr;
    size_t best = c.count;
    for (size_t i = 0; i < c.count; ++i) {
        const size_t size = c.entries[i].mapped;
        if (size < bytes || size > bytes + bytes / 8) continue;
        if (best == c.count || size <= c.entries[best].mapped) best = i;
    }
    if (best == c.count) return nullptr;
    const BufferCache::Entry found = c.entries[best];
    c.remove(best, best + 1);
    c.bytes -= found.mapped;
    found.block->mapped = found.mapped;
    return found.block;
}

// Unmaps the least recently freed blocks until the limits hold. The caller holds the lock.
void drop_beyond(BufferCache& c, size_t bytes, size_t count) {
    size_t n = 0;
    for (; n < c.count && (c.bytes > bytes || c.count - n > count); ++n) {
        c.bytes -= c.entries[n].mapped;
        unmap(c.entries[n].block, c.entries[n].mapped);
    }
    c.remove(0, n);
}

bool drop_all() {
    BufferCache& c = the_cache();
    std::unique_lock<std::mutex> lock(c.lock, std::try_to_lock);
    if (!lock || c.count == 0) return false;
    drop_beyond(c, 0, 0);
    return true;
}

}  // namespace

void* take_buffer(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
    const size_t whole = (bytes + sizeof(Block) + page - 1) / page * page;
    Block* block = find_cached(whole);
    if (!block) block = map_block(whole);
    if (!block && drop_all()) block = map_block(whole);  // the cache itself may have used up the memory
    if (!block) return nullptr;
    block->requested = bytes;
    return block + 1;
}

size_t buffer_size(const void* data) { return (static_cast<const Block*>(data) - 1)->requested; }

void return_buffer(void* data) {
    Block* block = static_cast<Block*>(data) - 1;
    const size_t mapped = block->mapped;
    BufferCache& c = the_cache();
    std::unique_lock<std::mutex> lock(c.lock, std::try_to_lock);
    if (lock && mapped <= c.limit && mark_reclaimable(block, mapped)) {
        drop_beyond(c, c.limit - mapped, kMaxBlocks - 1);
        c.entries[c.count++] = {block, mapped};
        c.bytes += mapped;
        return;
    }
    if (lock) lock.unlock();
    unmap(block, mapped);
}

void use_huge_pages([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
    const auto address = reinterpret_cast<uintptr_t>(data);
    const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage;
    const uintptr_t end = (address + bytes) / kHugePage * kHugePage;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a hint only
#endif
}

int64_t cached_bytes() {
    const std::lock_guard<std::mutex> lock(the_cache().lock);
    return static_cast<int64_t>(the_cache().bytes);
}

int64_t cache_limit() {
    const std::lock_guard<std::mutex> lock(the_cache().lock);
    return static_cast<int64_t>(the_cache().limit);
}

void set_cache_limit(int64_t bytes) {
    const std::lock_guard<std::mutex> lock(the_cache().lock);
    the_cache().limit = static_cast<size_t>(bytes);
    drop_beyond(the_cache(), the_cache().limit, kMaxBlocks);
}

}  // namespace cenote
