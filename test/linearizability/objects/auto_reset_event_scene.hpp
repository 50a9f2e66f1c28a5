// Actors that set an auto_reset_event and wait for it.
#pragma once

#include <coflux/coflux.hpp>

#include "linearizability/objects/auto_reset_event_specification.hpp"
#include "linearizability/stage.hpp"

namespace coflux_test::linearizability {

class auto_reset_event_scene {
public:
    using specification_type = auto_reset_event_specification;

    explicit auto_reset_event_scene(random_numbers&) noexcept {}
    [[nodiscard]] specification_type specification() const noexcept { return {}; }
    void call_time(actor& director) noexcept {
        if (director.random.one_in(2)) set(director);
    }

    static coflux::fork<void, coflux::thread_pool_executor>
    act(coflux::environment&, coflux::borrowed<auto_reset_event_scene> scene, coflux::borrowed<actor> me) {
        const attendance present(*me);
        for (int step = 0; step < 5; ++step) {
            me->dawdle_a_little();
            switch (me->random.below(8)) {
            case 0: {
                recording r(*me, specification_type::try_wait);
                const bool was_set = scene->event_.try_wait();
                r.returned(was_set ? 1 : 0);
                break;
            }
            case 1: {
                recording r(*me, specification_type::reset);
                scene->event_.reset();
                r.returned();
                break;
            }
            case 2:
            case 3:
            case 4: {
                recording r(*me, specification_type::wait);
                co_await r.watch(scene->event_.wait());
                r.returned();
                break;
            }
            default: scene->set(*me);
            }
            if (me->random.one_in(8)) co_await coflux::yield();
        }
    }

private:
    void set(actor& by) noexcept {
        recording r(by, specification_type::set);
        event_.set();
        r.returned();
    }

    coflux::auto_reset_event event_;
};

}  // namespace coflux_test::linearizability
