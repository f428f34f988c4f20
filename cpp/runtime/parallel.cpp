#include "runtime/parallel.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <pthread.h>
#endif

#include "runtime/float_mode.hpp"

namespace cenote {

// ------------------------------------------------------------------------------------------- working memory

// A bump allocator: blocks are carved out of chunks one after the other, and a thread keeps a bounded amount.
struct Arena {
    struct Chunk {
        char* data;
        int64_t size, used;
    };
    static constexpr int64_t kFirst = int64_t{1} << 18, kKept = int64_t{1} << 22;
    // Page-aligned: with chunks wherever malloc puts them, kernels with unaligned rows took up to twice as long
    // (avg 3×3 s1 p1 of 8×64×112×112, one thread: 2.6 or 5.1 ms).
    static constexpr std::align_val_t kAligned{4096};
    std::vector<Chunk> chunks;
    size_t current = 0;

    void* take(int64_t bytes) {
        // Blocks never share a cache line, and empty blocks have distinct addresses.
        bytes = (bytes + 128) / 128 * 128;
        for (; current < chunks.size(); ++current) {
            Chunk& c = chunks[current];
            if (c.used + bytes <= c.size) {
                c.used += bytes;
                return c.data + (c.used - bytes);
            }
        }
        const int64_t size = bytes > kFirst ? bytes : kFirst;
        chunks.reserve(chunks.size() + 1);  // so that push_back cannot throw and leak `data`
        void* data = ::operator new(static_cast<size_t>(size), kAligned);
        chunks.push_back({static_cast<char*>(data), size, bytes});
        current = chunks.size() - 1;
        return data;
    }

    void rewind() {
        for (Chunk& c : chunks) c.used = 0;
        current = 0;
    }

    // At the end of a job: keep a bounded amount for the next one.
    void trim() {
        int64_t kept = 0;
        size_t n = 0;
        for (Chunk& c : chunks) {
            if (kept + c.size <= kKept) {
                kept += c.size;
                chunks[n++] = c;
            } else {
                ::operator delete(c.data, kAligned);
            }
        }
        chunks.resize(n);
        rewind();
    }

    ~Arena() {
        for (Chunk& c : chunks) ::operator delete(c.data, kAligned);
    }
};

// Large allocations double as checkpoints: a task that needs much memory runs long, and allocates in several steps.
constexpr int64_t kCheckpointBytes = int64_t{1} << 20;

void* arena_take(Arena* arena, int64_t bytes) {
    if (bytes >= kCheckpointBytes) checkpoint();
    return arena->take(bytes);
}
void arena_rewind(Arena* arena) { arena->rewind(); }

// ------------------------------------------------------------------------------------------------ interrupts

namespace {

constexpr int64_t kPollEvery = 50;  // ms: acquiring the GIL may mean waiting for another thread to release it

// Milliseconds, accurate to a few of them: this clock is read in a few nanoseconds.
int64_t coarse_time() {
#if defined(CLOCK_MONOTONIC_COARSE)
    timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return static_cast<int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1000000;
#else
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
#endif
}

struct Polling : Poll {
    int64_t at;  // when to poll next; 0 before the first task; 1 after it: a call of one task never reads the clock

    void poll() {
        if (!hook) return;
        if (at == 0) {
            at = 1;
        } else if (const int64_t now = coarse_time(); at == 1) {
            at = now + kPollEvery;
        } else if (now >= at) {
            hook(with);
            at = coarse_time() + kPollEvery;
        }
    }
};

thread_local Polling polling{};

struct Stopped {};  // thrown at the checkpoints of a job that has already failed

}  // namespace

Poll poll_with(Poll poll) {
    Polling& mine = polling;
    const Poll before = mine;
    mine = {poll, 0};
    return before;
}

// ------------------------------------------------------------------------------------------------------ pool

namespace {

// The tasks of a job. Each thread starts with its own range of neighbouring tasks, whose data is likely in its cache
// from the previous call, and then takes tasks from the ranges of the others (work stealing).
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
    std::atomic<bool> stopped{false};
    std::mutex failing;
    std::exception_ptr failure;

    Work(int64_t all, int threads, Body body, const void* with) : tasks(all), run(body), context(with) {
        shares = threads < kShares ? threads : kShares;
        // Computed without products of two large numbers, which could overflow.
        const int64_t each = tasks / shares, more = tasks % shares;
        for (int i = 0; i < shares; ++i) {
            share[i].next.store(i * each + (i < more ? i : more), std::memory_order_relaxed);
            share[i].end = (i + 1) * each + (i + 1 < more ? i + 1 : more);
        }
    }

    void stop(std::exception_ptr why) {
        for (int i = 0; i < shares; ++i) share[i].next.store(tasks, std::memory_order_relaxed);
        stopped.store(true, std::memory_order_relaxed);
        const std::lock_guard<std::mutex> lock(failing);
        if (!failure) failure = std::move(why);
    }

    // For a caller that waits for the other threads.
    void poll() {
        try {
            polling.poll();
        } catch (...) {
            stop(std::current_exception());
        }
    }

    // Thread 0 is the caller.
    void help(int thread);
    void run_tasks(int thread, Arena& arena) {
        Polling& mine = polling;
        for (int i = 0; i < shares; ++i) {
            Share& s = share[(thread + i) % shares];
            for (int64_t task; (task = s.next.fetch_add(1, std::memory_order_relaxed)) < s.end;) {
                mine.poll();
                arena.rewind();
                run(context, task, &arena);
            }
        }
    }
};

// The job this thread is working on. A poll hook may run another one in the middle of a task.
thread_local Work* current = nullptr;

void Work::help(int thread) {
    thread_local Arena kept;
    Work* const before = current;
    Arena own;
    Arena& arena = before ? own : kept;
    current = this;
    try {
        run_tasks(thread, arena);
    } catch (const Stopped&) {
        // the exception is already recorded
    } catch (...) {
        stop(std::current_exception());
    }
    current = before;
    arena.trim();
}

// Calls often follow each other within microseconds, and waking a thread takes tens of them: spin for about that long
// before going to sleep.
template <class F>
void spin_until(F happened) {
    for (int i = 0; i < 1000 && !happened(); ++i) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#else
        std::this_thread::yield();
#endif
    }
}

std::atomic<int> forks{0};  // incremented in every forked child

struct Pool {
    std::mutex busy;  // held by the caller whose job is running
    std::mutex m;
    std::condition_variable wake, done;
    int threads = 0;              // started
    std::atomic<int> wanted{0};   // threads that may still join the current job
    std::atomic<int> running{0};  // both are written with `m` held
    Work* work = nullptr;

    void loop(int thread) {
        const FloatMode mode;  // callers have set it already
        for (;;) {
            spin_until([&] { return wanted.load(std::memory_order_relaxed) > 0; });
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
        const int before = forks.load(std::memory_order_relaxed);
        {
            std::lock_guard<std::mutex> lock(m);
            while (threads < helpers) {
                try {
                    std::thread([this, thread = threads + 1] { loop(thread); }).detach();
                } catch (const std::system_error&) {  // no more threads available: continue with those started
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
        if (forked_since(before, job)) return;
        std::unique_lock<std::mutex> lock(m);
        wanted = 0;  // threads that have not woken up yet are not needed any more
        lock.unlock();
        spin_until([&] { return running.load(std::memory_order_relaxed) == 0; });
        lock.lock();
        const auto through = [&] { return running == 0; };
        while (polling.hook && !done.wait_for(lock, std::chrono::milliseconds(kPollEvery), through)) {
            lock.unlock();
            job.poll();
            if (forked_since(before, job)) return;
            lock.lock();
        }
        done.wait(lock, through);
        work = nullptr;
    }

    // A signal handler run by the hook may have forked: the child has none of the threads that share this job.
    static bool forked_since(int before, Work& job) {
        if (forks.load(std::memory_order_relaxed) == before) return false;
        job.stop(std::make_exception_ptr(std::runtime_error("the process was forked in the middle of this call")));
        return true;
    }
};

// Never destroyed: its threads may outlive every static object.
std::atomic<Pool*> pool{nullptr};
std::atomic<int> thread_count{1};
thread_local int thread_limit = 0;  // of the calls of this thread; 0: none

#if !defined(_WIN32)
// A forked child has none of the threads, and the locks may be locked forever: start anew and leak the old pool.
// Registered at load time: registering on first use needs a lock, which another thread may hold while this one forks.
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] {
    pool.store(nullptr);
    forks.fetch_add(1, std::memory_order_relaxed);
});
#endif

Pool& the_pool() {
    Pool* p = pool.load();
    if (!p) {
        auto fresh = std::make_unique<Pool>();
        if (pool.compare_exchange_strong(p, fresh.get())) p = fresh.release();
    }
    return *p;
}

}  // namespace

int num_threads() {
    const int all = thread_count.load(std::memory_order_relaxed);
    return thread_limit > 0 && thread_limit < all ? thread_limit : all;
}
int set_num_threads(int n) { return thread_count.exchange(n, std::memory_order_relaxed); }

int limit_threads(int n) {
    const int before = thread_limit;
    thread_limit = n;
    return before;
}

void checkpoint() {
    if (current && current->stopped.load(std::memory_order_relaxed)) throw Stopped{};
    polling.poll();
}

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
