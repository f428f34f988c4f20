#include "pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <mutex>
#include <vector>

// Pages that a process has not touched yet cost more than the work on them: the system finds each one and fills it with
// zeros. So memory of results that nobody needs any more is kept, up to a limit, and the next result of about that size
// is made in it. It is a loan: the system is told (MADV_FREE) that it may take the pages while they are not in use, as
// it does when memory runs short, in a container too, and then the next result finds new ones there.

namespace cenote {

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMostBlocks = 16;

// Stands before the memory that is handed out.
struct alignas(64) Block {
    size_t mapped;  // bytes, from here
    size_t asked;
};

// Nobody waits: who does not get the lock at once, or is a child of a process that forked while it was held, does
// without.
struct Kept {
    struct Place {
        Block* block;
        size_t mapped;  // here, for the system may have taken what the block says
    };
    std::mutex lock;
    std::vector<Place> places;  // the one that was given back last is the last
    size_t bytes = 0;
    size_t limit = 0;  // set when the package is imported
};

Kept& kept() {
    static Kept& all = *new Kept;  // never destroyed: results may outlive everything else
    return all;
}

Block* map_pages(size_t bytes) {
    // Huge pages begin at multiples of their size: what lies before the first and after the last one is unmapped again.
    const size_t room = bytes + kHugePage;
    void* found = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(found);
    const uintptr_t begin = (address + kHugePage - 1) / kHugePage * kHugePage, end = begin + bytes;
    if (begin > address) munmap(found, begin - address);
    if (end < address + room) munmap(reinterpret_cast<void*>(end), address + room - end);
    auto* block = reinterpret_cast<Block*>(begin);
#if defined(MADV_HUGEPAGE)
    madvise(block, bytes, MADV_HUGEPAGE);  // a wish
#endif
    block->mapped = bytes;
    return block;
}

// The smallest block with so many bytes, and not many more.
Block* find_kept(size_t bytes) {
    Kept& k = kept();
    std::unique_lock<std::mutex> lock(k.lock, std::try_to_lock);
    if (!lock) return nullptr;
    size_t best = k.places.size();
    for (size_t i = 0; i < k.places.size(); ++i) {
        const size_t size = k.places[i].mapped;
        if (size < bytes || size > bytes + bytes / 8) continue;
        if (best == k.places.size() || size <= k.places[best].mapped) best = i;
    }
    if (best == k.places.size()) return nullptr;
    const Kept::Place found = k.places[best];
    k.places.erase(k.places.begin() + static_cast<std::ptrdiff_t>(best));
    k.bytes -= found.mapped;
    found.block->mapped = found.mapped;
    return found.block;
}

// With the lock held: the oldest go first.
void drop_beyond(Kept& k, size_t bytes, size_t count) {
    size_t n = 0;
    for (; n < k.places.size() && (k.bytes > bytes || k.places.size() - n > count); ++n) {
        k.bytes -= k.places[n].mapped;
        munmap(k.places[n].block, k.places[n].mapped);
    }
    k.places.erase(k.places.begin(), k.places.begin() + static_cast<std::ptrdiff_t>(n));
}

}  // namespace

void* take_pages(size_t bytes) {
    static const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (bytes > SIZE_MAX / 2) return nullptr;
    const size_t whole = (bytes + sizeof(Block) + page - 1) / page * page;
    Block* block = find_kept(whole);
    if (!block) block = map_pages(whole);
    if (!block) return nullptr;
    block->asked = bytes;
    return block + 1;
}

size_t size_of_pages(const void* data) { return (static_cast<const Block*>(data) - 1)->asked; }

void give_pages_back(void* data) {
    Block* block = static_cast<Block*>(data) - 1;
    const size_t mapped = block->mapped;
#if defined(MADV_FREE)
    Kept& k = kept();
    std::unique_lock<std::mutex> lock(k.lock, std::try_to_lock);
    if (lock && mapped <= k.limit && madvise(block, mapped, MADV_FREE) == 0) {
        drop_beyond(k, k.limit - mapped, kMostBlocks - 1);
        k.places.push_back({block, mapped});
        k.bytes += mapped;
        return;
    }
#endif
    munmap(block, mapped);
}

int64_t kept_bytes() {
    const std::lock_guard<std::mutex> lock(kept().lock);
    return static_cast<int64_t>(kept().bytes);
}

int64_t kept_limit() { return static_cast<int64_t>(kept().limit); }

void set_kept_limit(int64_t bytes) {
    const std::lock_guard<std::mutex> lock(kept().lock);
    kept().limit = static_cast<size_t>(bytes);
    drop_beyond(kept(), kept().limit, kMostBlocks);
}

}  // namespace cenote
