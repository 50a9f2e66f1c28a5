// Law 3 where a coroutine runs nested on another one's stack: only what is awaited, or made, runs before control is
// back there.
#include <coflux/coflux.hpp>

#include <coroutine>
#include <source_location>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "support/gate.hpp"

namespace {

using coflux::detail::promise_base;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

/// How many coroutines are below on the stack, and how many other ones ran meanwhile.
struct inside {
    int depth = 0;
    int others = 0;
    bool over = false;
    coflux_test::gate g = {};
};
using inside_of = coflux::borrowed<inside>;

/// Runs all the time, in turns with all other coroutines, and lets the waiters through.
coflux::fork<void> looks_in(coflux::environment&, inside_of in) {
    while (!in->over) {
        if (in->depth != 0) ++in->others;
        (void)in->g.let_one();
        co_await coflux::yield();
    }
}

/// Awaits A, and notes for how long control is with A while the awaiting coroutine has not suspended.
template <typename A>
struct [[nodiscard]] noted {
    A&& awaited;
    inside& in;

    class awaiter {
    public:
        awaiter(promise_base& p, A&& awaited, inside& in, std::source_location where)
            : in_((++in.depth, in)),
              inner_(coflux::detail::bind_await(p, std::forward<A>(awaited), where)) {
            --in_.depth;
        }
        bool await_ready() { return inner_.await_ready(); }
        template <typename P>
        auto await_suspend(std::coroutine_handle<P> h) {
            return inner_.await_suspend(h);
        }
        decltype(auto) await_resume() { return inner_.await_resume(); }

    private:
        inside& in_;
        decltype(coflux::detail::bind_await(std::declval<promise_base&>(), std::declval<A>(),
                                            std::source_location())) inner_;
    };
    awaiter await_in(promise_base& p, std::source_location where) && {
        return awaiter(p, std::forward<A>(awaited), in, where);
    }
};
template <typename A>
noted(A&&, inside&) -> noted<A>;

// --- ways to suspend -------------------------------------------------------------------------------------------------

enum class way {
    yields,
    waits,
    awaits_older_fork,
    fails_below,
    makes_inline,
    does_not_suspend_after_all,
    yields_in_outcome,
    waits_in_outcome,
    last
};

coflux::fork<void, noop> yields_inline(coflux::environment&) {
    co_await coflux::yield();
}
coflux::fork<int> gives(coflux::environment&) {
    co_return 1;
}
coflux::call<void> yields_in_call(coflux::environment&) {
    co_await coflux::yield();
}
coflux::call<void> fails(coflux::environment&) {
    throw std::runtime_error("at once");
    co_return;
}
coflux::call<void> yields_after_a_failure(coflux::environment&) {
    auto&& here = co_await coflux::context();
    EXPECT_THROW(co_await fails(here), std::runtime_error);
    co_await coflux::yield();
}
coflux::call<void> waits_after_a_failure(coflux::environment&, inside_of in) {
    auto&& here = co_await coflux::context();
    EXPECT_THROW(co_await fails(here), std::runtime_error);
    co_await in->g.wait();
}
/// Foreign: changes its mind.
struct stays {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
    void await_resume() const noexcept {}
};

/// Suspends more than once: after the first time it may be on its awaiter's stack still.
coflux::call<void> suspends(coflux::environment&, way how, inside_of in) {
    auto&& here = co_await coflux::context();
    switch (how) {
    case way::yields: break;
    case way::waits: co_await in->g.wait(); break;
    case way::awaits_older_fork: {
        auto older = gives(here);
        auto younger = gives(here);
        co_await coflux::yield();
        EXPECT_EQ(co_await std::move(older) + co_await std::move(younger), 2);
        break;
    }
    case way::fails_below: EXPECT_THROW((co_await noted{fails(here), *in}), std::runtime_error); break;
    case way::makes_inline: {
        auto made = yields_inline(here);
        co_await std::move(made);
        break;
    }
    case way::does_not_suspend_after_all:
        co_await stays{};
        co_await yields_after_a_failure(here);
        break;
    case way::yields_in_outcome: (void)co_await coflux::as_outcome(yields_after_a_failure(here)); break;
    case way::waits_in_outcome: (void)co_await coflux::as_outcome(waits_after_a_failure(here, in)); break;
    case way::last: break;
    }
    co_await noted{yields_in_call(here), *in};
    co_await coflux::yield();
}
coflux::call<void> suspends_below(coflux::environment&, way how, inside_of in, int levels) {
    auto&& here = co_await coflux::context();
    if (levels == 0) {
        co_await noted{suspends(here, how, in), *in};
    } else {
        co_await noted{suspends_below(here, how, in, levels - 1), *in};
    }
}
coflux::fork<void> suspends_in_fork(coflux::environment&, way how, inside_of in) {
    auto&& here = co_await coflux::context();
    co_await noted{suspends(here, how, in), *in};
}

coflux::call<void> forks_below(coflux::environment&, way how, inside_of in) {
    auto&& here = co_await coflux::context();
    co_await noted{suspends_in_fork(here, how, in), *in};
}

template <typename Body>
int others_while(Body body) {
    pool one(1);
    auto env = coflux::make_environment(one);
    inside in;
    [](coflux::environment&, inside_of i, coflux::borrowed<Body> run) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto a = looks_in(here, i);
        auto b = looks_in(here, i);
        co_await coflux::yield();  // both are ready from now on, and no longer forks that have not begun
        co_await coflux::yield();
        co_await coflux::yield();
        co_await (*run)(here, i);
        i->over = true;
        co_await std::move(a);
        co_await std::move(b);
    }(env, inside_of(in), coflux::borrowed(body))
                                                                             .get();
    return in.others;
}

TEST(law_03_nested_run, no_other_coroutine_runs_in_an_await_before_control_is_back_with_its_coroutine) {
    for (int w = 0; w != static_cast<int>(way::last); ++w) {
        for (const int levels : {0, 1, 4}) {
            EXPECT_EQ(others_while([&](coflux::environment& here, inside_of in) {
                          return suspends_below(here, static_cast<way>(w), in, levels);
                      }),
                      0)
                << "way " << w << ", " << levels << " levels";
        }
        EXPECT_EQ(others_while([&](coflux::environment& here, inside_of in) {
                      return forks_below(here, static_cast<way>(w), in);
                  }),
                  0)
            << "way " << w << ", in a fork";
    }
}

// --- a creator's call, in which something is awaited -----------------------------------------------------------------

coflux::fork<void, noop> awaits_inline(coflux::environment&, way how, inside_of in) {
    auto&& here = co_await coflux::context();
    co_await suspends(here, how, in);
}

coflux::call<void> makes_what_awaits(coflux::environment&, way how, inside_of in) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 5; ++i) {
        ++in->depth;
        auto made = awaits_inline(here, how, in);
        --in->depth;
        co_await std::move(made);
    }
}

TEST(law_03_nested_run, no_other_coroutine_runs_in_a_creators_call_in_which_something_is_awaited) {
    for (int w = 0; w != static_cast<int>(way::last); ++w) {
        EXPECT_EQ(others_while([&](coflux::environment& here, inside_of in) {
                      return makes_what_awaits(here, static_cast<way>(w), in);
                  }),
                  0)
            << "way " << w;
    }
}

}  // namespace
