// Actors that take permits of a semaphore, and give permits, whether or not they had any.
#pragma once

#include <cstdint>

#include <coflux/coflux.hpp>

#include "linearizability/objects/semaphore_specification.hpp"
#include "linearizability/stage.hpp"

namespace coflux_test::linearizability {

/// Semaphore: made of a number; acquire(n), try_acquire(n) and release(n) as a coflux::semaphore has them.
template <typename Semaphore>
class semaphore_scene {
public:
    using specification_type = semaphore_specification;

    explicit semaphore_scene(random_numbers& random) noexcept
        : available_(static_cast<std::uint8_t>(random.below(4))),
          semaphore_(available_) {}
    [[nodiscard]] specification_type specification() const noexcept { return {available_}; }
    void call_time(actor& director) noexcept {
        if (director.random.one_in(2)) release(director, 3);
    }

    static coflux::fork<void, coflux::thread_pool_executor>
    act(coflux::environment&, coflux::borrowed<semaphore_scene> scene, coflux::borrowed<actor> me) {
        const attendance present(*me);
        for (int step = 0; step < 5; ++step) {
            me->dawdle_a_little();
            const unsigned n = me->random.below(3) + 1;
            switch (me->random.below(5)) {
            case 0: {
                recording r(*me, specification_type::try_acquire, n);
                const bool taken = scene->semaphore_.try_acquire(n);
                r.returned(taken ? 1 : 0);
                break;
            }
            case 1:
            case 2: scene->release(*me, n); break;
            default: {
                recording r(*me, specification_type::acquire, n);
                co_await r.watch(scene->semaphore_.acquire(n));
                r.returned();
            }
            }
            if (me->random.one_in(8)) co_await coflux::yield();
        }
    }

private:
    void release(actor& by, unsigned n) noexcept {
        recording r(by, specification_type::release, n);
        semaphore_.release(n);
        r.returned();
    }

    std::uint8_t available_;
    Semaphore semaphore_;
};

}  // namespace coflux_test::linearizability
