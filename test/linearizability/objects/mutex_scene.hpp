// Actors that lock, try to lock and unlock a mutex.
#pragma once

#include <utility>

#include <coflux/coflux.hpp>

#include "linearizability/objects/mutex_specification.hpp"
#include "linearizability/stage.hpp"

namespace coflux_test::linearizability {

/// Mutex: lock(), try_lock() and a movable guard with unlock(), as a coflux::mutex has them.
template <typename Mutex, typename Specification = mutex_specification>
class mutex_scene {
public:
    using specification_type = Specification;

    explicit mutex_scene(random_numbers&) noexcept {}
    [[nodiscard]] Specification specification() const noexcept { return {}; }
    void call_time(actor&) noexcept {}

    static coflux::fork<void, coflux::thread_pool_executor>
    act(coflux::environment&, coflux::borrowed<mutex_scene> scene, coflux::borrowed<actor> me) {
        const attendance present(*me);
        for (int step = 0; step < 3; ++step) {
            me->dawdle_a_little();
            held lock(*me);
            if (me->random.one_in(3)) {
                recording r(*me, Specification::try_lock);
                lock.guard = scene->mutex_.try_lock();
                r.returned(lock.guard.owns_lock() ? 1 : 0);
            } else {
                recording r(*me, Specification::lock);
                auto guard = co_await r.watch(scene->mutex_.lock());
                r.returned();
                lock.guard = std::move(guard);
            }
            if (me->random.one_in(3)) me->dawdle_a_little();
            if (me->random.one_in(8)) co_await coflux::yield();
        }
    }

private:
    struct held {
        explicit held(actor& a) noexcept : by(a) {}
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() {
            if (!guard.owns_lock()) return;
            recording r(by, Specification::unlock);
            guard.unlock();
            r.returned();
        }
        actor& by;
        typename Mutex::guard guard;
    };

    Mutex mutex_;
};

}  // namespace coflux_test::linearizability
