#include <coflux/time/limited.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/foreign_event.hpp"
#include "support/witness.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::limited;
using coflux::testing::sim_executor;
using coflux_test::move_only;

TEST(limited, is_a_value) {
    limited<std::string> l(std::in_place, 3U, 'a');
    EXPECT_TRUE(l);
    EXPECT_TRUE(l.has_value());
    EXPECT_FALSE(l.timed_out());
    EXPECT_EQ(*l, "aaa");
    EXPECT_EQ(l->size(), 3U);
    EXPECT_EQ(l.value_or("b"), "aaa");
    EXPECT_EQ(l, "aaa");
    EXPECT_NE(l, "b");
    EXPECT_NE(l, std::nullopt);
    EXPECT_EQ(l, std::optional<std::string>("aaa"));
    const std::optional<std::string> kept = l;
    EXPECT_EQ(kept, "aaa");
    EXPECT_EQ(std::move(l).value(), "aaa");
}

TEST(limited, is_that_the_time_was_up) {
    const limited<int> l = std::nullopt;
    EXPECT_FALSE(l);
    EXPECT_FALSE(l.has_value());
    EXPECT_TRUE(l.timed_out());
    EXPECT_EQ(l.value_or(5), 5);
    EXPECT_EQ(l, std::nullopt);
    EXPECT_NE(l, 0);
    EXPECT_EQ(l, std::optional<int>());
    EXPECT_NE(l, std::optional<int>(0));
    const std::optional<int> kept = l;
    EXPECT_FALSE(kept.has_value());
    EXPECT_THROW((void)l.value(), std::bad_optional_access);
    EXPECT_TRUE(limited<int>().timed_out());
}

TEST(limited_death, has_no_value_to_look_at_where_the_time_was_up) {
    const limited<int> l;
    EXPECT_DEATH((void)*l, "the value of an operation whose time was up");
    const limited<std::string> s;
    EXPECT_DEATH((void)s->size(), "the value of an operation whose time was up");
}

TEST(limited, of_a_move_only_value_gives_it_away) {
    limited<move_only> l(std::in_place, 7);
    const move_only one = *std::move(l);
    EXPECT_EQ(*one.value, 7);
    limited<move_only> other(std::in_place, 8);
    const std::optional<move_only> kept = std::move(other);
    EXPECT_EQ(*kept->value, 8);
    const move_only fallback = limited<move_only>().value_or(move_only(9));
    EXPECT_EQ(*fallback.value, 9);
}

TEST(limited, of_a_reference_refers) {
    int x = 1;
    const limited<int&> l(std::in_place, &x);
    static_assert(std::is_same_v<decltype(*l), int&>);
    EXPECT_EQ(&*l, &x);
    EXPECT_EQ(&l.value(), &x);
    EXPECT_EQ(l, 1);
    const std::optional<std::reference_wrapper<int>> kept = l;
    EXPECT_EQ(&kept->get(), &x);
    EXPECT_TRUE(limited<int&>().timed_out());
}

TEST(limited, of_void_is_whether_it_ended) {
    const limited<void> ended(std::in_place);
    const bool in_time = ended;
    EXPECT_TRUE(in_time);
    EXPECT_FALSE(ended.timed_out());
    EXPECT_TRUE(limited<void>().timed_out());
}

TEST(limited, is_not_asked_where_its_value_may_be) {
    static_assert(coflux::detail::has_own_truth<bool>);
    static_assert(coflux::detail::has_own_truth<int*>);
    static_assert(coflux::detail::has_own_truth<std::optional<int>>);
    static_assert(coflux::detail::has_own_truth<std::unique_ptr<int>>);
    static_assert(coflux::detail::has_own_truth<coflux::outcome<void>>);
    static_assert(coflux::detail::has_own_truth<coflux::io_result<int>>);
    static_assert(coflux::detail::has_own_truth<coflux::limited<int>>);
    static_assert(!coflux::detail::has_own_truth<int>);
    static_assert(!coflux::detail::has_own_truth<std::string>);
    static_assert(!coflux::detail::has_own_truth<coflux::mutex::guard>);
    static_assert(!std::is_convertible_v<limited<bool>, bool>);
    const limited<bool> l(std::in_place, false);
    EXPECT_FALSE(l.timed_out());
    EXPECT_FALSE(*l);
    EXPECT_TRUE(limited<bool>().value_or(true));
    const std::optional<bool> kept = l;
    EXPECT_EQ(kept, std::optional(false));
}

TEST(limited, of_an_io_result_is_one_with_one_error_more) {
    const limited<coflux::io_result<int>> value(std::in_place, coflux::io_result<int>(3));
    EXPECT_TRUE(value);
    EXPECT_EQ(*value, 3);
    EXPECT_FALSE(value.timed_out());
    const limited<coflux::io_result<int>> error(std::in_place,
                                                coflux::io_result<int>(std::make_error_code(std::errc::timed_out)));
    EXPECT_FALSE(error);
    EXPECT_FALSE(error.timed_out()) << "the system's";
    const limited<coflux::io_result<int>> late;
    EXPECT_FALSE(late);
    EXPECT_TRUE(late.timed_out());
    EXPECT_EQ(late.error(), std::errc::timed_out);
    EXPECT_THROW((void)late.value(), std::system_error);
    const limited<coflux::io_result<void>> nothing(std::in_place, coflux::io_result<void>());
    EXPECT_TRUE(nothing);
    EXPECT_TRUE(limited<coflux::io_result<void>>().timed_out());
}

// --- nests: whatever is around what, the result says which limit acted -------------------------------------------

template <typename F>
void simulated(F body) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    constexpr auto runs = [](environment&, F f) -> coflux::task<void, sim_executor> {
        auto&& here = co_await coflux::context();
        co_await f(here);
    };
    runs(env, body).get();
}

coflux::call<int> naps(environment&, std::chrono::nanoseconds time) {
    co_await coflux::sleep_for(time);
    co_return 7;
}
coflux::call<int> fails(environment&) {
    co_await coflux::sleep_for(1ms);
    throw std::runtime_error("error");
}
coflux::call<int> stops(environment&) {
    co_await coflux::sleep_for(1ms);
    co_await coflux::this_coroutine::stop();
    co_return 0;
}

TEST(limited, is_an_outcome_whatever_the_limit_and_the_end) {
    simulated([](environment& here) -> coflux::call<void> {
        const auto end = coflux::clock::now() + 1h;
        {
            const auto o = co_await coflux::as_outcome(coflux::timeout(naps(here, 1ms), 1h));
            static_assert(std::is_same_v<decltype(o), const coflux::outcome<limited<int>>>);
            EXPECT_EQ(**o, 7);
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::deadline(naps(here, 1ms), end));
            EXPECT_EQ(**o, 7);
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::timeout(naps(here, 1h), 1ms));
            EXPECT_TRUE(o.has_value() && (*o).timed_out()) << "a time that was up is a value";
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::timeout(coflux::sleep_for(1h), 0ms));
            EXPECT_TRUE(o.has_value() && (*o).timed_out());
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::timeout(fails(here), 1h));
            EXPECT_TRUE(o.has_error());
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::timeout(stops(here), 1h));
            EXPECT_TRUE(o.is_stopped()) << "not for the limit's sake";
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::deadline(stops(here), end));
            EXPECT_TRUE(o.is_stopped());
        }
        const bool goes_on = co_await coflux::timeout(coflux::sleep_for(1ms), 1h);
        EXPECT_TRUE(goes_on);
    });
}

coflux::fork<void, sim_executor> is_stopped_in_an_outcome(environment&) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::as_outcome(coflux::timeout(naps(here, 1h), 2h));
    co_await coflux::sleep_for(1h);
    ADD_FAILURE() << "goes on";
}
TEST(limited, as_an_outcome_takes_no_stop_of_its_coroutine_away) {
    simulated([](environment& here) -> coflux::call<void> {
        const auto begin = coflux::clock::now();
        auto f = is_stopped_in_an_outcome(here);
        co_await coflux::sleep_for(1ms);
        f.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(f));
        EXPECT_TRUE(end.is_stopped());
        EXPECT_EQ(coflux::clock::now() - begin, 1ms);
    });
}

TEST(limited, nests_with_outcomes_shields_and_limits) {
    simulated([](environment& here) -> coflux::call<void> {
        const auto end = coflux::clock::now() + 1h;
        {
            const auto l = co_await coflux::timeout(coflux::as_outcome(naps(here, 1ms)), 1h);
            EXPECT_EQ(**l, 7);
        }
        {
            const auto l = co_await coflux::timeout(coflux::as_outcome(coflux::timeout(naps(here, 1h), 1ms)), 1h);
            EXPECT_TRUE((**l).timed_out());
        }
        {
            const auto l = co_await coflux::deadline(coflux::timeout(naps(here, 1h), 1ms), end);
            EXPECT_TRUE(!l.timed_out() && (*l).timed_out());
        }
        {
            const auto l = co_await coflux::timeout(coflux::deadline(naps(here, 1h), end), 1ms);
            EXPECT_TRUE(l.timed_out());
        }
        {
            const auto l = co_await coflux::shielded(coflux::timeout(naps(here, 1h), 1ms));
            EXPECT_TRUE(l.timed_out());
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::shielded(coflux::timeout(naps(here, 1h), 1ms)));
            EXPECT_TRUE((*o).timed_out());
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::timeout(coflux::shielded(naps(here, 2ms)), 1ms));
            EXPECT_EQ(**o, 7) << "however late";
        }
        {
            const auto o = co_await coflux::as_outcome(coflux::as_outcome(coflux::timeout(naps(here, 1ms), 1h)));
            EXPECT_EQ(***o, 7);
        }
    });
}

TEST(limited, of_a_bool_and_of_a_lock_is_what_a_channel_and_a_mutex_give) {
    simulated([](environment&) -> coflux::call<void> {
        coflux::channel<int[1]> ch;
        {
            const auto sent = co_await coflux::timeout(ch.send(1), 1ms);
            EXPECT_TRUE(*sent);
        }
        {
            const auto sent = co_await coflux::timeout(ch.send(2), 1ms);
            EXPECT_TRUE(sent.timed_out()) << "it is full";
        }
        ch.close();
        {
            const auto sent = co_await coflux::timeout(ch.send(3), 1ms);
            EXPECT_FALSE(sent.timed_out());
            EXPECT_FALSE(*sent) << "it is closed";
        }
        coflux::mutex m;
        auto first = co_await m.lock();
        if (auto second = co_await coflux::timeout(m.lock(), 1ms)) ADD_FAILURE() << "has the lock";
        first.unlock();
        auto second = co_await coflux::timeout(m.lock(), 1ms);
        EXPECT_TRUE(second);
        EXPECT_TRUE(second->owns_lock());
    });
}

}  // namespace
