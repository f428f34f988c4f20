// A small persistent thread pool.
//
// Threads start with the first job that needs them and wait for the next one. One job runs at a time: a second
// caller does its work alone instead of waiting. A child process after fork() starts its own threads.
#pragma once

#include <cstdint>

#include "core/geometry.hpp"

namespace cenote {

int num_threads();
void set_num_threads(int n);

// run(context, task, arena) for every task below `tasks`, on at most `threads` threads, this one included.
// An exception of any task is thrown here after all threads have stopped.
using Body = void (*)(const void* context, int64_t task, Arena* arena);
void parallel_for(int64_t tasks, int threads, Body run, const void* context);

// What a thread calls every now and then while it runs or waits for tasks: between them, and at their checkpoints. What
// the hook throws stops the job as an exception of a task does.
struct Poll {
    void (*hook)(void* with);  // null: nothing
    void* with;
};
// For this thread, from now on; what it was before.
Poll poll_with(Poll poll);

// For tasks that may take longer than some 100 ms: throws when the job has failed elsewhere, and calls the hook.
void checkpoint();

}  // namespace cenote
