// Several awaits in one expression. Where results are taken late (COFLUX_LATE_RESULTS), all are completed before the first
// result that is no object of a class is taken; if that throws, the others are never resumed from. The slots that they were given in a channel go back.
#include <coflux/channel/channel.hpp>

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/left_await.hpp"

namespace {

using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::manual_executor;

using root = by_hand::task<void>;

coflux::fork<int, manual_executor> fails(coflux::environment&) {
    co_await coflux::yield();
    throw std::runtime_error("first");
}

coflux::fork<void, manual_executor> sets(coflux::environment&, borrowed<coflux::auto_reset_event> event) {
    co_await coflux::yield();
    event->set();
}

template <typename T>
int takes(const T& got) {
    return got ? 1 : 0;
}

template <typename Selected>
int index_of(const Selected& selected) {
    return static_cast<int>(selected.index());
}

/// Awaits what `operation` gives behind an await that fails.
template <typename Operation>
coflux::call<int> adds(coflux::environment&, const Operation& operation) {
    coflux::environment& here = co_await coflux::context();
    auto first = fails(here);
    co_return co_await std::move(first) << takes(co_await operation());
}

/// How the second is awaited.
enum class how { beside_a_failure, left };
#if COFLUX_LATE_RESULTS
constexpr how all_ways[] = {how::beside_a_failure, how::left};
#else
constexpr how all_ways[] = {how::beside_a_failure};
#endif

template <typename Operation>
root tries(coflux::environment&, how way, Operation operation, std::string* error) {
    coflux::environment& here = co_await coflux::context();
    try {
        if (way == how::left) {
            co_await coflux_test::left(operation());
        } else {
            (void)co_await adds(here, operation);
        }
    } catch (const std::runtime_error& e) {
        *error = e.what();
    }
    // The record of what waits here is used again.
    coflux::auto_reset_event again;
    auto later = sets(here, borrowed(again));
    co_await again.wait();
    co_await std::move(later);
}

/// Runs `operation` as the second operand, and `meanwhile` when it waits, if it does.
template <typename Operation, typename Meanwhile>
void check(how way, Operation operation, Meanwhile meanwhile) {
    by_hand h;
    std::string error;
    auto t = tries(h.env, way, operation, &error);
    h.drive();
    meanwhile();
    h.run(std::move(t));
    EXPECT_NE(error, "");
}

constexpr auto nothing = [] {};

TEST(two_awaits, of_which_the_first_fails_reserve_no_slot_in_a_channel) {
    for (const how way : all_ways) {
        coflux::channel<int[1]> ch;
        const auto reserves = [&ch] { return ch.reserve(); };
        check(way, reserves, nothing);
        ASSERT_TRUE(ch.try_send(1));
        check(way, reserves, [&] { EXPECT_EQ(ch.try_receive(), 1); });
        EXPECT_TRUE(ch.try_send(2));
        check(way, reserves, [&] { ch.close(); });
        EXPECT_EQ(ch.try_receive(), 2);
        EXPECT_TRUE(ch.drained());
    }
}

root tries_a_select(coflux::environment&, how way, borrowed<coflux::channel<int[1]>> ch,
                    borrowed<coflux::channel<int[1]>> empty, bool* failed) {
    coflux::environment& here = co_await coflux::context();
    try {
        if (way == how::left) {
            co_await coflux_test::left(coflux::select(ch->reserve(), empty->receive()));
        } else {
            auto first = fails(here);
            const int sum =
                co_await std::move(first) + index_of(co_await coflux::select(ch->reserve(), empty->receive()));
            EXPECT_EQ(sum, 0);
        }
    } catch (const std::runtime_error&) {
        *failed = true;
    }
}

TEST(two_awaits, of_which_the_first_fails_reserve_no_slot_by_a_select) {
    for (const how way : all_ways) {
        for (const bool waits : {false, true}) {
            by_hand h;
            coflux::channel<int[1]> ch;
            coflux::channel<int[1]> empty;
            if (waits) {
                ASSERT_TRUE(ch.try_send(1));
            }
            bool failed = false;
            auto t = tries_a_select(h.env, way, borrowed(ch), borrowed(empty), &failed);
            h.drive();
            if (waits) {
                EXPECT_EQ(ch.try_receive(), 1);
            }
            h.run(std::move(t));
            EXPECT_TRUE(failed);
            EXPECT_TRUE(ch.try_send(2));
        }
    }
}

TEST(two_awaits, of_which_the_first_fails_leave_what_was_received_where_it_was_to_go) {
    for (const how way : all_ways) {
        coflux::channel<int[1]> ch;
        int got = 0;
        ASSERT_TRUE(ch.try_send(1));
        check(way, [&] { return ch >> got; }, nothing);
        EXPECT_EQ(got + ch.try_receive().value_or(0), 1);
        got = 0;
        check(way, [&] { return ch >> got; }, [&] { EXPECT_TRUE(ch.try_send(2)); });
        EXPECT_EQ(got + ch.try_receive().value_or(0), 2);
    }
}

TEST(two_awaits, of_which_the_first_fails_hold_no_slot_in_an_mpsc_queue) {
    for (const how way : all_ways) {
        auto [tx, rx] = coflux::make_mpsc<int>(1);
        const auto reserves = [&tx = tx] { return tx.reserve(); };
        const auto sends = [&tx = tx, value = 7] { return tx.send(value); };
        check(way, reserves, nothing);
        ASSERT_TRUE(tx.try_send(1));
        check(way, reserves, [&rx = rx] { EXPECT_EQ(rx.try_receive(), 1); });
        check(way, sends, nothing);
        (void)rx.try_receive();  // it may send before it looks at the first
        ASSERT_TRUE(tx.try_send(2));
        check(way, sends, [&rx = rx] { EXPECT_EQ(rx.try_receive(), 2); });
        (void)rx.try_receive();
        ASSERT_TRUE(tx.try_send(3));
        check(way, sends, [&rx = rx] { rx.close(); });
        EXPECT_EQ(rx.try_receive(), 3);
    }
}

by_hand::task<std::optional<int>> receives_from(coflux::environment&, borrowed<coflux::mpsc_receiver<int>> from) {
    co_return co_await from->receive();
}

TEST(two_awaits, of_which_the_first_fails_let_an_mpsc_queue_that_was_closed_end) {
    for (const how way : all_ways) {
        by_hand h;
        auto [tx, rx] = coflux::make_mpsc<int>(1);
        std::string error;
        auto t = tries(h.env, way, [&tx = tx] { return tx.reserve(); }, &error);
        // The slot goes back behind the close, if there is one.
        auto closes = [](coflux::environment&, borrowed<coflux::mpsc_receiver<int>> end) -> root {
            end->close();
            co_return;
        }(h.env, borrowed(rx));
        h.run(std::move(t));
        h.run(std::move(closes));
        EXPECT_EQ(h.run(receives_from(h.env, borrowed(rx))), std::nullopt);
    }
}

TEST(two_awaits, of_which_the_first_fails_hold_no_slot_in_an_spsc_queue) {
    for (const how way : all_ways) {
        auto [tx, rx] = coflux::make_spsc<int>(1);
        const auto reserves = [&tx = tx] { return tx.reserve(); };
        check(way, reserves, nothing);
        ASSERT_TRUE(tx.try_send(1));
        check(way, reserves, [&rx = rx] { EXPECT_EQ(rx.try_receive(), 1); });
        ASSERT_TRUE(tx.try_send(2));
    }
}

}  // namespace
