// Several awaits in one expression. Where results are taken late (COFLUX_LATE_RESULTS), all are completed before the
// first result is taken; if that throws, the results of the other awaits are never taken. Things that they hold must
// not stay, and their errors must not be lost.
#include <coflux/core/detail/frame/frame.hpp>

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"

namespace {

using coflux_test::manual_executor;
using hand = manual_executor;
using pool = coflux::thread_pool_executor;

template <typename E>
coflux::fork<int, E> fails(coflux::environment&, const char* text, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    throw std::runtime_error(text);
}
template <typename E>
coflux::fork<int, E> gives(coflux::environment&, int value, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return value;
}
coflux::call<int> call_fails(coflux::environment&, const char* text, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    throw std::runtime_error(text);
}
coflux::call<int> call_gives(coflux::environment&, int value, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return value;
}
template <typename E>
coflux::fork<std::string, E> text_later(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return "longer than a small string may be";
}
template <typename E>
coflux::fork<int, E> stops(coflux::environment&) {
    co_await coflux::yield();
    co_await coflux::this_coroutine::stop();
    co_return 0;
}

// Functions, because g++ cannot parse `(co_await x).member()` in a template.
bool has_value(const coflux::outcome<int>& o) {
    return o.has_value();
}
int value_of(const std::optional<int>& v) {
    return v.value_or(0);
}

/// Expressions whose first await fails; what the second gives.
enum class second { value, error, named_value, named_error, call_value, call_error, text, view, outcome, received };

template <typename E>
coflux::task<int, E> adds(coflux::environment&, second what, int yields) {
    auto&& here = co_await coflux::context();
    switch (what) {
    case second::value: co_return co_await fails<E>(here, "first", yields) + co_await gives<E>(here, 1, yields);
    case second::error: co_return co_await fails<E>(here, "first", yields) + co_await fails<E>(here, "second", yields);
    case second::named_value: {
        auto a = fails<E>(here, "first", yields);
        auto b = gives<E>(here, 1, yields);
        co_return co_await std::move(a) + co_await std::move(b);
    }
    case second::named_error: {
        auto a = fails<E>(here, "first", yields);
        auto b = fails<E>(here, "second", yields);
        co_return co_await std::move(a) + co_await std::move(b);
    }
    case second::call_value: co_return co_await fails<E>(here, "first", yields) + co_await call_gives(here, 1, yields);
    case second::call_error:
        co_return co_await call_fails(here, "first", yields) + co_await call_fails(here, "second", yields);
    case second::text: {
        const std::string all =
            co_await text_later<E>(here, yields) + std::to_string(co_await fails<E>(here, "first", yields));
        co_return static_cast<int>(all.size());
    }
    case second::view: {
        auto f = gives<E>(here, 1, yields);
        const auto v = f.view();
        co_return co_await fails<E>(here, "first", yields) + co_await v;
    }
    case second::outcome: {
        auto f = fails<E>(here, "first", yields);
        co_return co_await std::move(f) + has_value(co_await coflux::as_outcome(gives<E>(here, 1, yields)));
    }
    case second::received: {
        coflux::channel<int[1]> ch;
        auto send = [](coflux::environment&, coflux::borrowed<coflux::channel<int[1]>> to) -> coflux::fork<void, E> {
            co_await coflux::yield();
            co_await coflux::yield();
            const bool sent = co_await to->send(4);
            EXPECT_TRUE(sent);
        };
        auto f = fails<E>(here, "first", yields);
        std::string error;
        auto sender = send(here, coflux::borrowed(ch));
        try {
            const int sum = co_await std::move(f) + value_of(co_await ch.receive());
            EXPECT_EQ(sum, 0);
        } catch (const std::runtime_error& e) {
            error = e.what();
        }
        // The record of what waits here is used again.
        co_await std::move(sender);
        (void)ch.try_receive();
        auto again = send(here, coflux::borrowed(ch));
        const auto got = co_await ch.receive();
        EXPECT_EQ(got, 4);
        co_await std::move(again);
        throw std::runtime_error(error);
    }
    }
    co_return 0;
}

template <typename E, typename Drive>
void check_all(E& executor, Drive drive) {
    for (int what = 0; what <= static_cast<int>(second::received); ++what) {
        for (const int yields : {0, 1, 3}) {
            SCOPED_TRACE(::testing::Message() << "second " << what << ", " << yields << " yields");
            coflux::counting_resource frames;
            std::string error;
            std::size_t others = 0;
            {
                auto env = coflux::make_environment(executor, &frames);
                auto t = adds<E>(env, static_cast<second>(what), yields);
                drive();
                try {
                    (void)t.get();
                } catch (const std::runtime_error& e) {
                    error = e.what();
                    others = coflux::other_errors().size();
                }
            }
            EXPECT_EQ(error, "first");
            EXPECT_EQ(frames.live(), 0U);
            // Where the second is awaited at all, or runs anyway, its error is not lost.
            if (static_cast<second>(what) == second::named_error || static_cast<second>(what) == second::error) {
                EXPECT_LE(others, 1U);
            }
            if (static_cast<second>(what) == second::named_error) {
                EXPECT_EQ(others, 1U);
            }
        }
    }
}

TEST(two_awaits, of_which_the_first_fails_leave_no_frame_and_lose_no_error) {
    hand by_hand;
    check_all(by_hand, [&] { by_hand.run_all(); });
}

TEST(two_awaits, of_which_the_first_fails_leave_no_frame_on_a_pool) {
    pool one{1};
    check_all(one, [] {});
}

coflux::task<int, hand> after_an_outcome(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto first = gives<hand>(here, 1, 1);
    auto second = stops<hand>(here);
    co_return has_value(co_await coflux::as_outcome(std::move(first))) + co_await std::move(second);
}
coflux::task<int, hand> after_a_failure(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto first = fails<hand>(here, "first", 1);
    auto second = stops<hand>(here);
    co_return co_await std::move(first) + co_await std::move(second);
}

/// The end of `root`: 1 a value, 2 an error, 3 a stop; 10 more for an error that the environment got.
int end_of(coflux::task<int, hand> (*root)(coflux::environment&)) {
    static int unobserved;
    unobserved = 0;
    int end = 1;
    coflux::counting_resource frames;
    {
        hand by_hand;
        auto env = coflux::make_environment(by_hand, &frames);
        env.on_unobserved_error([](const std::exception_ptr&) noexcept { unobserved += 10; });
        auto t = root(env);
        by_hand.run_all();
        try {
            (void)t.get();
        } catch (const std::runtime_error&) {
            end = 2;
        } catch (const coflux::task_stopped&) {
            end = 3;
        }
    }
    EXPECT_EQ(frames.live(), 0U);
    return end + unobserved;
}

TEST(two_awaits, of_which_one_is_as_an_outcome_stop_where_the_other_is_stopped) {
    EXPECT_EQ(end_of(&after_an_outcome), 3);
}

TEST(two_awaits, of_which_the_second_is_stopped_do_not_lose_the_error_of_the_first) {
    EXPECT_EQ(end_of(&after_a_failure), 2);
}

}  // namespace
