// Law 9: what would wait for its own end is a checked error that names it: a blocking wait where no coroutine is
// current (callbacks, unwinding, the thread of the timers), an await of one's own handle, the join of one's own
// environment.
#include <coflux/coflux.hpp>

#include <chrono>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "support/foreign_event.hpp"
#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux_test::foreign_event;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

class law_09_own_end_death : public testing::Test {
protected:
    // The pool's threads do not survive a fork of the process that does not exec.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

template <typename F, typename... Args>
void without_hanging(F f, Args... args) {
    coflux_test::die_rather_than_hang();
    f(args...);
}

template <typename E>
coflux::task<int, E> never_ends(environment&, foreign_event* never) {
    co_await *never;
    co_return 1;
}

// --- blocking waits where no coroutine is current --------------------------------------------------------------------

template <typename E>
coflux::task<int, E> ends_soon(environment&, foreign_event* go) {
    co_await *go;
    co_return 1;
}
template <typename E>
coflux::task<int, E> fails_soon(environment&, foreign_event* go) {
    co_await *go;
    throw 42;
}

void get_in_a_callback() {
    foreign_event never;
    foreign_event go;
    pool workers(2);
    auto env = coflux::make_environment(workers);
    auto waits = never_ends<pool>(env, &never);
    auto ends = ends_soon<pool>(env, &go);
    ends.on_value([&](int) { (void)waits.get(); });
    go.set();
    ends.join();
}
void get_in_a_callback_of_an_error() {
    foreign_event never;
    foreign_event go;
    pool workers(2);
    auto env = coflux::make_environment(workers);
    auto parent = [](environment&, foreign_event* never_set, foreign_event* event) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto waits = never_ends<pool>(here, never_set);
        auto fails = fails_soon<pool>(here, event);
        fails.on_error([&](const std::exception_ptr&) { (void)waits.get(); });
        event->set();  // not before: a callback of what has failed is called by the parent, and its own
        (void)co_await coflux::as_outcome(std::move(fails));
    }(env, &never, &go);
    parent.join();
}

coflux::task<int, noop> naps(environment&, foreign_event* go) {
    co_await *go;  // until there is a callback: a later one is called where it is added
    co_await 1ms;
    co_return 1;
}
void get_in_a_callback_on_the_thread_of_the_timers() {
    foreign_event never;
    foreign_event go;
    auto env = coflux::make_environment();
    auto waits = never_ends<noop>(env, &never);
    auto ends = naps(env, &go);
    ends.on_value([&](int) { (void)waits.get(); });
    go.set();
    ends.join();
}

struct gets {
    coflux::task<int, pool>* of;
    ~gets() { (void)of->get(); }
};
coflux::fork<void, pool> gets_in_unwinding(environment&, coflux::borrowed<coflux::task<int, pool>> waits) {
    const gets at_the_end{&*waits};
    co_await coflux::this_coroutine::stop();
}
void get_in_the_unwinding_of_a_stop() {
    foreign_event never;
    pool workers(2);
    auto env = coflux::make_environment(workers);
    auto waits = never_ends<pool>(env, &never);
    [](environment&, coflux::borrowed<coflux::task<int, pool>> t) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::as_outcome(gets_in_unwinding(here, t));
    }(env, coflux::borrowed(waits))
                                                                         .join();
}

TEST_F(law_09_own_end_death, get_in_a_callback_names_whose_it_is) {
    EXPECT_DEATH(without_hanging(get_in_a_callback), "a blocking wait for .*never_ends.* in the end of .*ends_soon");
}
TEST_F(law_09_own_end_death, get_in_a_callback_of_an_error_names_the_parent) {
    EXPECT_DEATH(without_hanging(get_in_a_callback_of_an_error),
                 "a blocking wait for .*never_ends.* in the end of a child of .*get_in_a_callback_of_an_error");
}
TEST_F(law_09_own_end_death, get_in_a_callback_on_the_thread_of_the_timers_is_refused) {
    EXPECT_DEATH(without_hanging(get_in_a_callback_on_the_thread_of_the_timers),
                 "a blocking wait for .*never_ends.* in the end of .*naps");
}
TEST_F(law_09_own_end_death, get_in_the_unwinding_of_a_stop_names_what_is_stopped) {
    EXPECT_DEATH(without_hanging(get_in_the_unwinding_of_a_stop),
                 "a blocking wait for .*never_ends.* in the end of .*gets_in_unwinding");
}

// --- awaits of oneself -----------------------------------------------------------------------------------------------

using handle = std::optional<coflux::fork<int, pool>>;

enum class awaits { plainly, as_an_outcome, with_when_all, with_when_any, with_a_limit, by_a_view };

coflux::fork<int, pool> awaits_itself(environment&, coflux::borrowed<handle> own, coflux::borrowed<foreign_event> go,
                                      awaits how) {
    co_await *go;  // until the handle is where it looks for it
    switch (how) {
    case awaits::plainly: co_return co_await std::move(**own);
    case awaits::as_an_outcome: co_return (co_await coflux::as_outcome(std::move(**own))).value();
    case awaits::with_when_all: co_return std::get<0>(co_await coflux::when_all(std::move(**own)));
    case awaits::with_when_any: co_return std::get<0>(co_await coflux::when_any(std::move(**own)));
    case awaits::with_a_limit: co_return *co_await coflux::timeout(std::move(**own), 1h);
    case awaits::by_a_view: co_return co_await (*own)->view();
    }
    co_return 0;
}
void await_oneself(awaits how) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    foreign_event go;
    [](environment&, coflux::borrowed<foreign_event> event, awaits by) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        handle own;
        own.emplace(awaits_itself(here, coflux::borrowed<handle>(own), event, by));
        event->set();
        while (own->valid()) co_await coflux::yield();
    }(env, coflux::borrowed<foreign_event>(go), how)
                                                                              .join();
}

TEST_F(law_09_own_end_death, an_await_of_ones_own_handle_is_refused) {
    for (const awaits how : {awaits::plainly, awaits::as_an_outcome, awaits::with_when_all, awaits::with_when_any,
                             awaits::with_a_limit, awaits::by_a_view})
        EXPECT_DEATH(without_hanging(await_oneself, how),
                     "coflux: [a-z_:() ]*awaits_itself awaits itself: it would never end")
            << static_cast<int>(how);
}

// --- the join of one's own environment -------------------------------------------------------------------------------

template <typename Env>
coflux::fork<void, pool> joins_its_own(environment&, coflux::borrowed<Env> env) {
    co_await env->join();
}
void join_ones_own_environment() {
    pool workers(1);
    auto root = coflux::make_environment(workers);
    [](environment&) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto env = coflux::make_environment(here);
        auto joins = joins_its_own(env, coflux::borrowed(env));
        co_await std::move(joins);
        co_await env.join();
    }(root)
                            .join();
}

TEST_F(law_09_own_end_death, the_join_of_ones_own_environment_is_refused) {
    EXPECT_DEATH(
        without_hanging(join_ones_own_environment),
        "coflux: [a-z_:() ]*joins_its_own joins the environment that it was made in: it would wait for itself");
}

}  // namespace
