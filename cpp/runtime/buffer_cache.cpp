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

// Pages that a process has not touched yet cost more than the work on them: the system finds each one and fills it with
// zeros. So memory of results that nobody needs any more is kept, up to a limit, and the next result of about that size
// is made in it. It is a loan: the system knows (MADV_FREE) that it may take the pages while they are not in use,
// as it does when memory runs short, in a container too, and then the next result finds new ones there.

namespace cenote {

namespace {

constexpr size_t kMostBlocks = 16;

// Stands before the memory that is handed out.
struct alignas(64) Block {
    size_t mapped;  // bytes, from here
    size_t asked;
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

// Whether the system may take the pages while they are kept.
bool lend(void*, size_t) { return false; }

#else

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void unmap(void* memory, size_t bytes) { munmap(memory, bytes); }

void* map(size_t bytes) {
#if defined(MADV_HUGEPAGE)
    // Huge pages begin at multiples of their size: what lies before the first and after the last one is unmapped again.
    constexpr size_t kHugePage = size_t{2} << 20, kAround = kHugePage;
#else
    constexpr size_t kHugePage = 1, kAround = 0;
#endif
    const size_t room = bytes + kAround;
    void* found = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(found);
    const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage, end = begin + bytes;
    if (begin > address) munmap(found, begin - address);
    if (end < address + room) munmap(reinterpret_cast<void*>(end), address + room - end);
    auto* memory = reinterpret_cast<void*>(begin);
#if defined(MADV_HUGEPAGE)
    madvise(memory, bytes, MADV_HUGEPAGE);  // a wish
#endif
    return memory;
}

bool lend([[maybe_unused]] void* memory, [[maybe_unused]] size_t bytes) {
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

// ------------------------------------------------------------------------------------------- what is kept

struct Kept {
    struct Place {
        Block* block;
        size_t mapped;  // here, for the system may have taken what the block says
    };
    std::mutex lock;  // results do without rather than wait for it
    Place places[kMostBlocks] = {};
    size_t count = 0;  // the one that was kept last is the last
    size_t bytes = 0;
    size_t limit = 0;  // set when the package is imported

    void remove(size_t first, size_t last) {
        for (size_t i = last; i < count; ++i) places[first + i - last] = places[i];
        count -= last - first;
    }
};

// Neither made at first use, which could be in the middle of another thread's fork, nor destroyed: results may outlive
// everything else.
union Forever {
    Kept kept;
    constexpr Forever() : kept() {}
    ~Forever() {}
};
constinit Forever forever;
Kept& kept() { return forever.kept; }

#if !defined(_WIN32)
// A child finds the lock free, and what it guards as it should be.
[[maybe_unused]] const int registered =
    pthread_atfork([] { kept().lock.lock(); }, [] { kept().lock.unlock(); }, [] { kept().lock.unlock(); });
#endif

const size_t page = page_size();

// The smallest block with so many bytes, and not many more.
Block* find_kept(size_t bytes) {
    Kept& k = kept();
    std::unique_lock<std::mutex> lock(k.lock, std::try_to_lock);
    if (!lock) return nullptr;
    size_t best = k.count;
    for (size_t i = 0; i < k.count; ++i) {
        const size_t size = k.places[i].mapped;
        if (size < bytes || size > bytes + bytes / 8) continue;
        if (best == k.count || size <= k.places[best].mapped) best = i;
    }
    if (best == k.count) return nullptr;
    const Kept::Place found = k.places[best];
    k.remove(best, best + 1);
    k.bytes -= found.mapped;
    found.block->mapped = found.mapped;
    return found.block;
}

// With the lock held: the oldest go first.
void drop_beyond(Kept& k, size_t bytes, size_t count) {
    size_t n = 0;
    for (; n < k.count && (k.bytes > bytes || k.count - n > count); ++n) {
        k.bytes -= k.places[n].mapped;
        unmap(k.places[n].block, k.places[n].mapped);
    }
    k.remove(0, n);
}

bool drop_all() {
    Kept& k = kept();
    std::unique_lock<std::mutex> lock(k.lock, std::try_to_lock);
    if (!lock || k.count == 0) return false;
    drop_beyond(k, 0, 0);
    return true;
}

}  // namespace

void* take_buffer(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
    const size_t whole = (bytes + sizeof(Block) + page - 1) / page * page;
    Block* block = find_kept(whole);
    if (!block) block = map_block(whole);
    if (!block && drop_all()) block = map_block(whole);  // what is kept may be what is missing
    if (!block) return nullptr;
    block->asked = bytes;
    return block + 1;
}

size_t buffer_size(const void* data) { return (static_cast<const Block*>(data) - 1)->asked; }

void return_buffer(void* data) {
    Block* block = static_cast<Block*>(data) - 1;
    const size_t mapped = block->mapped;
    Kept& k = kept();
    std::unique_lock<std::mutex> lock(k.lock, std::try_to_lock);
    if (lock && mapped <= k.limit && lend(block, mapped)) {
        drop_beyond(k, k.limit - mapped, kMostBlocks - 1);
        k.places[k.count++] = {block, mapped};
        k.bytes += mapped;
        return;
    }
    if (lock) lock.unlock();
    unmap(block, mapped);
}

int64_t cached_bytes() {
    const std::lock_guard<std::mutex> lock(kept().lock);
    return static_cast<int64_t>(kept().bytes);
}

int64_t cache_limit() {
    const std::lock_guard<std::mutex> lock(kept().lock);
    return static_cast<int64_t>(kept().limit);
}

void set_cache_limit(int64_t bytes) {
    const std::lock_guard<std::mutex> lock(kept().lock);
    kept().limit = static_cast<size_t>(bytes);
    drop_beyond(kept(), kept().limit, kMostBlocks);
}

}  // namespace cenote
