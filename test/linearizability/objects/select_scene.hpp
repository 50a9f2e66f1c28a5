// Actors that use two channels, a bounded one and a rendezvous, one at a time or both in a select.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <coflux/coflux.hpp>

#include "linearizability/objects/channel_specification.hpp"
#include "linearizability/stage.hpp"

namespace coflux_test::linearizability {

class select_scene {
    using kinds = channel_specification;

public:
    using specification_type = channel_specification;

    explicit select_scene(random_numbers& random) noexcept : closes_(random.one_in(3)) {}
    [[nodiscard]] specification_type specification() const noexcept { return {{1, 0}}; }
    void call_time(actor& director) noexcept {
        if (director.random.one_in(2)) close(director, 0);
        if (director.random.one_in(2)) close(director, 1);
    }

    static coflux::fork<void, coflux::thread_pool_executor>
    act(coflux::environment&, coflux::borrowed<select_scene> scene, coflux::borrowed<actor> me) {
        const attendance present(*me);
        auto&& here = co_await coflux::context();
        for (int step = 0; step < 4; ++step) {
            me->dawdle_a_little();
            const unsigned where = me->random.below(2);
            coflux::basic_channel<int>& channel = scene->at(where);
            const unsigned what = me->random.below(16);
            if (what == 0 && scene->closes_) {
                scene->close(*me, where);
            } else if (what < 4) {
                recording r(*me, kinds::receive, where);
                const std::optional<int> got = co_await r.watch(channel.receive());
                r.returned(static_cast<unsigned>(got.value_or(0)));
            } else if (what < 8) {
                int value = me->next_value();
                recording r(*me, kinds::send, where, static_cast<unsigned>(value));
                const bool sent = co_await r.watch(channel.send(std::move(value)));
                r.returned(sent ? 1 : 0);
            } else {
                co_await scene->selects(here, *me);
            }
            if (me->random.one_in(8)) co_await coflux::yield();
        }
    }

private:
    coflux::basic_channel<int>& at(unsigned where) noexcept {
        if (where == 0) return a_;
        return b_;
    }
    void close(actor& by, unsigned where) noexcept {
        recording r(by, kinds::close, where);
        at(where).close();
        r.returned();
    }
    static unsigned result(unsigned won, const std::optional<int>& got) noexcept {
        return won << 6U | static_cast<unsigned>(got.value_or(0));
    }

    coflux::call<void> selects(coflux::environment&, actor& me) {
        const auto shape = static_cast<unsigned>(me.random.below(5));
        const unsigned argument = shape == 4 ? kinds::with_otherwise : shape;
        int value = argument == 0 || argument == kinds::with_otherwise ? 0 : me.next_value();
        recording r(me, kinds::select, argument, static_cast<unsigned>(value));
        if (argument == 0) {
            auto got = co_await r.watch(coflux::select(a_.receive(), b_.receive()));
            r.returned(got.index() == 0 ? result(0, get<0>(got)) : result(1, get<1>(got)));
        } else if (argument == kinds::sends_to_first) {
            auto got = co_await r.watch(coflux::select(a_.send(std::move(value)), b_.receive()));
            r.returned(got.index() == 0 ? result(0, get<0>(got) ? 1 : 0) : result(1, get<1>(got)));
        } else if (argument == kinds::sends_to_second) {
            auto got = co_await r.watch(coflux::select(b_.send(std::move(value)), a_.receive()));
            r.returned(got.index() == 1 ? result(0, get<1>(got)) : result(1, get<0>(got) ? 1 : 0));
        } else if (argument == kinds::with_otherwise) {
            auto got = co_await r.watch(coflux::select(a_.receive(), b_.receive(), coflux::otherwise));
            if (got.index() == 2) {
                r.returned(kinds::otherwise_won);
            } else {
                r.returned(got.index() == 0 ? result(0, get<0>(got)) : result(1, get<1>(got)));
            }
        } else {
            int again = value;  // only one of the two is sent
            auto got = co_await r.watch(coflux::select(a_.send(std::move(value)), b_.send(std::move(again))));
            r.returned(got.index() == 0 ? result(0, get<0>(got) ? 1 : 0) : result(1, get<1>(got) ? 1 : 0));
        }
    }

    bool closes_;
    coflux::channel<int[1]> a_;
    coflux::channel<int[]> b_;
};

}  // namespace coflux_test::linearizability
