// The seam for threads, heavy half: used from L4 up and in .cpp files, never by the vocabulary layers.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace coflux::detail {

using std::condition_variable;
using std::lock_guard;
using std::mutex;
using std::thread;
using std::unique_lock;

}  // namespace coflux::detail
