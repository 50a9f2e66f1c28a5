// Actors that do all that can be done with a channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <coflux/coflux.hpp>

#include "linearizability/objects/channel_specification.hpp"
#include "linearizability/stage.hpp"

namespace coflux_test::linearizability {

/// Channel: of ints, as a coflux::channel<int[N]> or a coflux::channel<int[]>.
template <typename Channel>
class channel_scene {
    using kinds = channel_specification;
    static constexpr bool bounded = requires(Channel& c) { c.reserve(); };

public:
    using specification_type = channel_specification;

    explicit channel_scene(random_numbers& random) noexcept : permits_(random.one_in(3)), closes_(random.one_in(3)) {}
    [[nodiscard]] specification_type specification() const noexcept {
        specification_type s;
        if constexpr (bounded) s.capacity[0] = static_cast<std::uint8_t>(channel_.capacity());
        return s;
    }
    void call_time(actor& director) noexcept {
        if (director.random.one_in(2)) close(director);
    }

    static coflux::fork<void, coflux::thread_pool_executor>
    act(coflux::environment&, coflux::borrowed<channel_scene> scene, coflux::borrowed<actor> me) {
        const attendance present(*me);
        const unsigned sends = me->random.one_in(2) ? 8 : 2;  // of ten
        Channel& channel = scene->channel_;
        for (int step = 0; step < 5; ++step) {
            me->dawdle_a_little();
            const bool by_waiting = !me->random.one_in(3);
            if (scene->closes_ && me->random.one_in(8)) {
                scene->look_or_close(*me);
            } else if (me->random.below(10) >= sends) {
                recording r(*me, by_waiting ? kinds::receive : kinds::try_receive);
                std::optional<int> got;
                if (by_waiting) {
                    got = co_await r.watch(channel.receive());
                } else {
                    got = channel.try_receive();
                }
                r.returned(static_cast<unsigned>(got.value_or(0)));
            } else if (!bounded || !scene->permits_ || me->random.one_in(2)) {
                int value = me->next_value();
                recording r(*me, by_waiting ? kinds::send : kinds::try_send, 0, static_cast<unsigned>(value));
                bool sent = false;
                if (by_waiting) {
                    sent = co_await r.watch(channel.send(std::move(value)));
                } else {
                    sent = channel.try_send(std::move(value));
                }
                r.returned(sent ? 1 : 0);
            } else if constexpr (bounded) {
                held place(*me);
                {
                    recording r(*me, by_waiting ? kinds::reserve : kinds::try_reserve);
                    if (by_waiting) {
                        auto permit = co_await r.watch(channel.reserve());
                        r.returned(permit ? 1 : 0);
                        place.permit = std::move(permit);
                    } else {
                        auto permit = channel.try_reserve();
                        r.returned(permit ? 1 : 0);
                        place.permit = std::move(permit);
                    }
                }
                me->dawdle_a_little();
                if (me->random.one_in(4)) co_await coflux::yield();
                if (place.permit && !me->random.one_in(4)) place.send();
            }
            if (me->random.one_in(8)) co_await coflux::yield();
        }
    }

private:
    /// A permit, or none, whose death is an operation.
    struct held {
        explicit held(actor& a) noexcept : by(a) {}
        held(const held&) = delete;
        held& operator=(const held&) = delete;
        ~held() {
            if (!permit) return;
            recording r(by, kinds::permit_dies);
            permit.reset();
            r.returned();
        }
        void send() noexcept {
            const int value = by.next_value();
            recording r(by, kinds::permit_send, 0, static_cast<unsigned>(value));
            permit->send(value);
            r.returned();
            permit.reset();
        }
        actor& by;
        std::optional<coflux::permit<int>> permit;
    };

    void close(actor& by) noexcept {
        recording r(by, kinds::close);
        channel_.close();
        r.returned();
    }
    void look_or_close(actor& by) noexcept {
        const unsigned what = by.random.below(4);
        if (what >= 2) {
            close(by);
        } else {
            recording r(by, what == 0 ? kinds::closed : kinds::drained);
            const bool is = what == 0 ? channel_.closed() : channel_.drained();
            r.returned(is ? 1 : 0);
        }
    }

    bool permits_;
    bool closes_;
    Channel channel_;
};

}  // namespace coflux_test::linearizability
