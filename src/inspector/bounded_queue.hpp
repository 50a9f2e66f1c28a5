// The connections of the server of the inspector, and the threads that answer them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include <coflux/base/thread.hpp>

#include <httplib.h>

namespace coflux::detail {

/// As httplib::ThreadPool, but no more than `most` connections are accepted ahead, so that a thousand clients do not
/// use up the program's descriptors: the others wait in the kernel.
class bounded_queue final : public httplib::TaskQueue {
    using enqueued = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));

public:
    bounded_queue(std::size_t threads, std::size_t most) : pool_(threads), most_(most) {}

    /// Waits while there are too many. All end soon once the server has stopped, so that it does not wait for ever.
    enqueued enqueue(std::function<void()> connection) override {
        {
            unique_lock lock(mutex_);
            room_.wait(lock, [&] { return open_ < most_; });
            ++open_;
        }
        pool_.enqueue([this, connection = std::move(connection)] {
            connection();
            const lock_guard lock(mutex_);
            --open_;
            room_.notify_one();
        });
        return static_cast<enqueued>(true);
    }
    void shutdown() override { pool_.shutdown(); }

private:
    httplib::ThreadPool pool_;
    mutex mutex_;
    condition_variable room_;
    std::size_t open_ = 0;  // guarded by mutex_
    const std::size_t most_;
};

}  // namespace coflux::detail
