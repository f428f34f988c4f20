// A small persistent thread pool.
//
// Threads are started by the first job that needs them and wait for the next one. One job runs at a time: a second
// caller runs its tasks on its own thread instead of waiting. After fork() the child starts its own threads.
#pragma once

#include <cstdint>

#include "core/geometry.hpp"

namespace cenote {

// How many threads a call of this thread may use: the number of the process, or this thread's limit if that is less.
int num_threads();
int set_num_threads(int n);  // of the process; gives what it was
// The limit of this thread from now on, 0 for none; gives what it was. Where a scheduler of tasks already keeps all
// CPUs busy, each task computes on one.
int limit_threads(int n);

// Calls run(context, task, arena) for every task below `tasks` on at most `threads` threads, including this one. An
// exception thrown by a task is rethrown here after all threads have stopped.
using Body = void (*)(const void* context, int64_t task, Arena* arena);
void parallel_for(int64_t tasks, int threads, Body run, const void* context);

// A hook that a thread calls now and then while it runs tasks or waits for them: between tasks and at checkpoints
// (core/geometry.hpp). An exception it throws stops the job like an exception of a task.
struct Poll {
    void (*hook)(void* with);  // may be null
    void* with;
};
// Sets this thread's hook and returns the previous one.
Poll poll_with(Poll poll);

}  // namespace cenote
