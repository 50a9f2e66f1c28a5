// Actors that read and write under a shared_mutex.
#pragma once

#include <utility>

#include <coflux/coflux.hpp>

#include "linearizability/objects/shared_mutex_specification.hpp"
#include "linearizability/stage.hpp"

namespace coflux_test::linearizability {

class shared_mutex_scene {
public:
    using specification_type = shared_mutex_specification;

    explicit shared_mutex_scene(random_numbers&) noexcept {}
    [[nodiscard]] specification_type specification() const noexcept { return {}; }
    void call_time(actor&) noexcept {}

    static coflux::fork<void, coflux::thread_pool_executor>
    act(coflux::environment&, coflux::borrowed<shared_mutex_scene> scene, coflux::borrowed<actor> me) {
        const attendance present(*me);
        for (int step = 0; step < 3; ++step) {
            me->dawdle_a_little();
            held lock(*me);
            switch (me->random.below(6)) {
            case 0: {
                recording r(*me, specification_type::try_lock);
                lock.written = scene->mutex_.try_lock();
                r.returned(lock.written.owns_lock() ? 1 : 0);
                break;
            }
            case 1: {
                recording r(*me, specification_type::try_lock_shared);
                lock.read = scene->mutex_.try_lock_shared();
                r.returned(lock.read.owns_lock() ? 1 : 0);
                break;
            }
            case 2:
            case 3: {
                recording r(*me, specification_type::lock);
                auto guard = co_await r.watch(scene->mutex_.lock());
                r.returned();
                lock.written = std::move(guard);
                break;
            }
            default: {
                recording r(*me, specification_type::lock_shared);
                auto guard = co_await r.watch(scene->mutex_.lock_shared());
                r.returned();
                lock.read = std::move(guard);
            }
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
            if (written.owns_lock()) {
                recording r(by, specification_type::unlock);
                written.unlock();
                r.returned();
            }
            if (read.owns_lock()) {
                recording r(by, specification_type::unlock_shared);
                read.unlock();
                r.returned();
            }
        }
        actor& by;
        coflux::shared_mutex::guard written;
        coflux::shared_mutex::shared_guard read;
    };

    coflux::shared_mutex mutex_;
};

}  // namespace coflux_test::linearizability
