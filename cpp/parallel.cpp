#include "parallel.hpp"

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace cenote {

// ------------------------------------------------------------------------------------------- working memory

// Blocks are handed out one after the other from chunks; what a thread keeps between calls is bounded.
struct Arena {
    struct Chunk {
        char* data;
        int64_t size, used;
    };
    static constexpr int64_t kFirst = int64_t{1} << 18, kKept = int64_t{1} << 22;
    std::vector<Chunk> chunks;
    size_t current = 0;

    void* take(int64_t bytes) {
        // Blocks never share a cache line, and those of no bytes have an address of their own too.
        bytes = (bytes + 128) / 128 * 128;
        for (; current < chunks.size(); ++current) {
            Chunk& c = chunks[current];
            if (c.used + bytes <= c.size) {
                c.used += bytes;
                return c.data + (c.used - bytes);
            }
        }
        const int64_t size = bytes > kFirst ? bytes : kFirst;
        void* data = std::aligned_alloc(128, static_cast<size_t>(size));
        if (!data) throw std::bad_alloc();
        chunks.push_back({static_cast<char*>(data), size, bytes});
        current = chunks.size() - 1;
        return data;
    }

    void rewind() {
        for (Chunk& c : chunks) c.used = 0;
        current = 0;
    }

    // At the end of a job: keep a little for the next one.
    void trim() {
        int64_t kept = 0;
        size_t n = 0;
        for (Chunk& c : chunks) {
            if (kept + c.size <= kKept) {
                kept += c.size;
                chunks[n++] = c;
            } else {
                std::free(c.data);
            }
        }
        chunks.resize(n);
        rewind();
    }

    ~Arena() {
        for (Chunk& c : chunks) std::free(c.data);
    }
};

void* arena_take(Arena* arena, int64_t bytes) { return arena->take(bytes); }
void arena_rewind(Arena* arena) { arena->rewind(); }

// ------------------------------------------------------------------------------------------------------ pool

namespace {

// The tasks of a job. Each thread has a share of neighbouring ones, and when it is through with that it helps with the
// others': what it reads, and what it wrote in the call before, is mostly in its own cache.
struct Work {
    static constexpr int kShares = 64;

    struct alignas(64) Share {
        std::atomic<int64_t> next;
        int64_t end;
    };

    int64_t tasks;
    Body run;
    const void* context;
    int shares;
    Share share[kShares];
    std::mutex failing;
    std::exception_ptr failure;

    Work(int64_t all, int threads, Body body, const void* with) : tasks(all), run(body), context(with) {
        shares = threads < kShares ? threads : kShares;
        // Without the product of two large numbers.
        const int64_t each = tasks / shares, more = tasks % shares;
        for (int i = 0; i < shares; ++i) {
            share[i].next.store(i * each + (i < more ? i : more), std::memory_order_relaxed);
            share[i].end = (i + 1) * each + (i + 1 < more ? i + 1 : more);
        }
    }

    // The caller is thread 0.
    void help(int thread) {
        thread_local Arena arena;
        try {
            for (int i = 0; i < shares; ++i) {
                Share& s = share[(thread + i) % shares];
                for (int64_t task; (task = s.next.fetch_add(1, std::memory_order_relaxed)) < s.end;) {
                    arena.rewind();
                    run(context, task, &arena);
                }
            }
        } catch (...) {
            for (int i = 0; i < shares; ++i) share[i].next.store(tasks, std::memory_order_relaxed);
            std::lock_guard<std::mutex> lock(failing);
            if (!failure) failure = std::current_exception();
        }
        arena.trim();
    }
};

// Calls often follow each other within microseconds, and waking a thread takes tens of them: look out for so long
// before going to sleep.
template <class F>
void look_out(F happened) {
    for (int i = 0; i < 1000 && !happened(); ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        std::this_thread::yield();
#endif
    }
}

struct Pool {
    std::mutex busy;  // held by the caller whose job is running
    std::mutex m;
    std::condition_variable wake, done;
    int threads = 0;              // started
    std::atomic<int> wanted{0};   // of the current job, not yet joined by a thread
    std::atomic<int> running{0};  // both are written with `m` held
    Work* work = nullptr;

    void loop(int thread) {
        for (;;) {
            look_out([&] { return wanted.load(std::memory_order_relaxed) > 0; });
            std::unique_lock<std::mutex> lock(m);
            wake.wait(lock, [&] { return wanted > 0; });
            --wanted;
            ++running;
            Work* mine = work;
            lock.unlock();
            mine->help(thread);
            lock.lock();
            if (--running == 0) done.notify_one();
            lock.unlock();
        }
    }

    void run(Work& job, int helpers) {
        {
            std::lock_guard<std::mutex> lock(m);
            while (threads < helpers) {
                try {
                    std::thread([this, thread = threads + 1] { loop(thread); }).detach();
                } catch (const std::system_error&) {  // no more threads to be had: do with those there are
                    helpers = threads;
                    break;
                }
                ++threads;
            }
            work = &job;
            wanted = helpers;
        }
        if (helpers == 1)
            wake.notify_one();
        else
            wake.notify_all();
        job.help(0);
        std::unique_lock<std::mutex> lock(m);
        wanted = 0;  // nothing is left for a thread that has not woken up yet
        lock.unlock();
        look_out([&] { return running.load(std::memory_order_relaxed) == 0; });
        lock.lock();
        done.wait(lock, [&] { return running == 0; });
        work = nullptr;
    }
};

// Never destroyed: its threads may outlive every static object.
std::atomic<Pool*> pool{nullptr};
std::atomic<int> thread_count{1};

// In a forked child the threads are gone and the locks may be held by nobody: start anew, leak the old one.
void after_fork() { pool.store(nullptr); }

Pool& the_pool() {
    Pool* p = pool.load();
    if (!p) {
        static std::once_flag registered;
        std::call_once(registered, [] { pthread_atfork(nullptr, nullptr, after_fork); });
        auto fresh = std::make_unique<Pool>();
        if (pool.compare_exchange_strong(p, fresh.get())) p = fresh.release();
    }
    return *p;
}

}  // namespace

int num_threads() { return thread_count.load(std::memory_order_relaxed); }
void set_num_threads(int n) { thread_count.store(n, std::memory_order_relaxed); }

void parallel_for(int64_t tasks, int threads, Body run, const void* context) {
    if (threads > tasks) threads = static_cast<int>(tasks);
    Work work(tasks, threads > 1 ? threads : 1, run, context);
    if (threads > 1) {
        Pool& p = the_pool();
        std::unique_lock<std::mutex> mine(p.busy, std::try_to_lock);
        if (mine.owns_lock())
            p.run(work, threads - 1);
        else
            work.help(0);
    } else {
        work.help(0);
    }
    if (work.failure) std::rethrow_exception(work.failure);
}

}  // namespace cenote
