#include <coflux/channel/permit.hpp>

#include <cstddef>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "by_hand.hpp"
#include "support/iterations.hpp"
#include "support/no_hang.hpp"
#include "support/witness.hpp"

namespace {

using coflux::borrowed;
using coflux_test::by_hand;
using coflux_test::receives;
using coflux_test::sends;
using one_slot = coflux::channel<int[1]>;
using two_slots = coflux::channel<int[2]>;

static_assert(!std::is_copy_constructible_v<coflux::permit<int>> &&
              std::is_nothrow_move_constructible_v<coflux::permit<int>>);

/// Reserves a slot, then hands the permit over through the room that it was given.
template <typename Channel>
by_hand::task<bool> reserves(coflux::environment&, borrowed<Channel> ch,
                             borrowed<std::optional<coflux::permit<int>>> room) {
    auto p = co_await ch->reserve();
    if (!p) co_return false;
    room->emplace(std::move(*p));
    co_return true;
}

TEST(permit, sends_to_nobody_where_the_receivers_are_gone) {
    coflux::channel<std::shared_ptr<int>[2]> ch;
    std::optional receiver(ch.receiver());
    auto p = ch.try_reserve();
    ASSERT_TRUE(p.has_value());
    receiver.reset();
    auto value = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = value;
    p->send(std::move(value));
    EXPECT_TRUE(watched.expired()) << "an answer that somebody waits for dies with it";
    EXPECT_EQ(ch.size(), 0U);
    EXPECT_TRUE(ch.drained());
}

using pointer = std::shared_ptr<int>;

template <typename Permit, typename Sender>
std::optional<Permit> reserved(Sender& tx) {
    coflux::noop_executor nowhere;
    auto env = coflux::make_environment(nowhere);
    const auto waits = [](coflux::environment&,
                          borrowed<Sender> from) -> coflux::task<std::optional<Permit>, coflux::noop_executor> {
        co_return co_await from->reserve();
    };
    return waits(env, borrowed(tx)).get();
}

/// The same for a queue of two ends.
template <typename Permit, typename Ends>
void sends_to_nobody(Ends ends) {
    auto& [tx, rx] = ends;
    std::optional receiver(std::move(rx));
    auto p = reserved<Permit>(tx);
    ASSERT_TRUE(p.has_value());
    auto kept = std::make_shared<int>(0);
    const std::weak_ptr<int> in_it = kept;
    EXPECT_TRUE(tx.try_send(std::move(kept)));
    receiver.reset();
    EXPECT_TRUE(in_it.expired());
    auto value = std::make_shared<int>(1);
    const std::weak_ptr<int> watched = value;
    p->send(std::move(value));
    EXPECT_TRUE(watched.expired());
    EXPECT_TRUE(tx.closed());
}
TEST(permit, of_a_queue_sends_to_nobody_where_the_receiver_is_gone) {
    sends_to_nobody<coflux::mpsc_permit<pointer>>(coflux::make_mpsc<pointer>(3));
    sends_to_nobody<coflux::spsc_permit<pointer>>(coflux::make_spsc<pointer>(3));
}

/// Each value is dropped by one side, however close a send and the death are.
template <typename Permit, typename Make>
void races_with_the_death(Make make) {
    for (std::size_t i = 0; i != coflux_test::repetitions(4'000); ++i) {
        auto [tx, rx] = make();
        std::optional receiver(std::move(rx));
        auto p = reserved<Permit>(tx);
        ASSERT_TRUE(p.has_value());
        auto first = std::make_shared<int>(1);
        auto second = std::make_shared<int>(2);
        const std::weak_ptr<int> of_first = first, of_second = second;
        std::latch both(2);
        std::thread sends([&p, &both, &first, &second, &to = tx] {
            both.arrive_and_wait();
            p->send(std::move(first));
            (void)to.try_send(std::move(second));
            second.reset();
        });
        both.arrive_and_wait();
        receiver.reset();
        sends.join();
        EXPECT_TRUE(of_first.expired() && of_second.expired()) << "the sender lives on, and waits for an answer";
    }
}
TEST(permit, that_sends_while_the_receiver_dies_leaves_nothing_behind) {
    races_with_the_death<coflux::mpsc_permit<pointer>>([] { return coflux::make_mpsc<pointer>(3); });
    races_with_the_death<coflux::spsc_permit<pointer>>([] { return coflux::make_spsc<pointer>(3); });
}

TEST(permit, holds_a_slot_until_it_is_used) {
    one_slot ch;
    auto p = ch.try_reserve();
    ASSERT_TRUE(p.has_value());
    EXPECT_FALSE(ch.try_send(1)) << "the slot is held";
    EXPECT_EQ(ch.try_reserve(), std::nullopt);
    EXPECT_EQ(ch.try_receive(), std::nullopt) << "and empty";
    p->send(2);
    EXPECT_FALSE(p->valid());
    EXPECT_FALSE(ch.try_send(3)) << "the slot is taken";
    EXPECT_EQ(ch.try_receive(), 2);
    EXPECT_TRUE(ch.try_send(4));
}

TEST(permit, that_is_sent_with_serves_a_receiver_that_waits) {
    by_hand h;
    one_slot ch;
    auto p = ch.try_reserve();
    auto r = receives(h.env, borrowed(ch));
    h.drive();
    p->send(1);
    EXPECT_EQ(h.executor.pending(), 1U) << "queued, not run inside the send";
    h.drive();
    EXPECT_EQ(r.get(), 1);
    EXPECT_TRUE(ch.try_send(2)) << "the slot is free again";
}

TEST(permit, that_dies_unused_gives_its_slot_to_the_first_waiter) {
    by_hand h;
    one_slot ch;
    auto p = ch.try_reserve();
    auto first = sends(h.env, borrowed(ch), 1);
    auto second = sends(h.env, borrowed(ch), 2);
    h.drive();
    p.reset();
    h.drive();
    EXPECT_TRUE(first.get());
    EXPECT_FALSE(second.done());
    EXPECT_EQ(ch.try_receive(), 1);
    EXPECT_EQ(ch.try_receive(), 2);
    h.drive();
    EXPECT_TRUE(second.get());
}

TEST(permit, holds_no_value_back_a_send_and_a_receive_meet_without_a_slot) {
    by_hand h;
    one_slot ch;
    const auto p = ch.try_reserve();
    auto s = sends(h.env, borrowed(ch), 1);
    h.drive();
    EXPECT_FALSE(s.done());
    EXPECT_EQ(ch.try_receive(), 1);
    auto r = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_TRUE(s.get());
    EXPECT_TRUE(ch.try_send(2));
    h.drive();
    EXPECT_EQ(r.get(), 2);
}

TEST(permit, that_is_waited_for_does_not_stand_between_a_send_and_a_receive) {
    by_hand h;
    one_slot ch;
    auto p = ch.try_reserve();
    std::optional<coflux::permit<int>> q;
    auto reserve = reserves(h.env, borrowed(ch), borrowed(q));
    auto s = sends(h.env, borrowed(ch), 1);
    h.drive();
    EXPECT_FALSE(s.done());
    auto r = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_TRUE(r.done());
    EXPECT_TRUE(s.done());
    EXPECT_FALSE(reserve.done()) << "its slot is not free yet";
    p.reset();
    h.drive();
    EXPECT_TRUE(reserve.get());
    q.reset();
    h.drive();
    EXPECT_EQ(r.get(), 1);
    EXPECT_TRUE(s.get());
    EXPECT_EQ(ch.size(), 0U);
}

TEST(permit, that_is_sent_with_while_both_sides_wait_serves_both) {
    by_hand h;
    one_slot ch;
    auto p = ch.try_reserve();
    std::optional<coflux::permit<int>> q;
    auto reserve = reserves(h.env, borrowed(ch), borrowed(q));
    auto s = sends(h.env, borrowed(ch), 3);
    auto r3 = receives(h.env, borrowed(ch));
    auto r1 = receives(h.env, borrowed(ch));
    auto r2 = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_EQ(r3.get(), 3) << "of the send, which waits for no permit";
    p->send(1);
    h.drive();
    EXPECT_EQ(r1.get(), 1);
    EXPECT_TRUE(reserve.get()) << "the slot of the value that was handed over";
    EXPECT_FALSE(r2.done());
    q->send(2);
    h.drive();
    EXPECT_EQ(r2.get(), 2);
    EXPECT_TRUE(s.get());
}

TEST(permit, is_waited_for_in_one_queue_with_sends) {
    by_hand h;
    one_slot ch;
    ASSERT_TRUE(ch.try_send(0));
    std::optional<coflux::permit<int>> p;
    auto first = sends(h.env, borrowed(ch), 1);
    auto second = reserves(h.env, borrowed(ch), borrowed(p));
    auto third = sends(h.env, borrowed(ch), 3);
    h.drive();
    EXPECT_EQ(ch.try_receive(), 0);
    h.drive();
    EXPECT_TRUE(first.get());
    EXPECT_FALSE(second.done());
    EXPECT_EQ(ch.try_receive(), 1);
    h.drive();
    EXPECT_TRUE(second.get());
    EXPECT_FALSE(third.done()) << "the slot is reserved";
    p->send(2);
    EXPECT_EQ(ch.try_receive(), 2);
    EXPECT_EQ(ch.try_receive(), 3);
    h.drive();
    EXPECT_TRUE(third.get());
}

TEST(permit, sends_after_the_close_and_receivers_wait_for_it) {
    by_hand h;
    two_slots ch;
    auto p = ch.try_reserve();
    auto q = ch.try_reserve();
    ch.close();
    EXPECT_EQ(ch.try_reserve(), std::nullopt);
    EXPECT_FALSE(ch.drained());
    auto r1 = receives(h.env, borrowed(ch));
    auto r2 = receives(h.env, borrowed(ch));
    auto r3 = receives(h.env, borrowed(ch));
    h.drive();
    EXPECT_FALSE(r1.done()) << "two values may still come";
    p->send(1);
    h.drive();
    EXPECT_EQ(r1.get(), 1);
    EXPECT_FALSE(r2.done());
    q->send(2);
    h.drive();
    EXPECT_EQ(r2.get(), 2);
    EXPECT_EQ(r3.get(), std::nullopt) << "and no third";
    EXPECT_TRUE(ch.drained());
}

TEST(permit, that_dies_unused_after_the_close_ends_the_wait_of_receivers) {
    by_hand h;
    one_slot ch;
    auto p = ch.try_reserve();
    auto r = receives(h.env, borrowed(ch));
    h.drive();
    ch.close();
    h.drive();
    EXPECT_FALSE(r.done());
    p.reset();
    h.drive();
    EXPECT_EQ(r.get(), std::nullopt);
}

TEST(permit, is_nothing_for_the_waiters_when_the_channel_closes) {
    by_hand h;
    one_slot ch;
    ASSERT_TRUE(ch.try_send(0));
    std::optional<coflux::permit<int>> p;
    auto waits = reserves(h.env, borrowed(ch), borrowed(p));
    h.drive();
    ch.close();
    h.drive();
    EXPECT_FALSE(waits.get());
}

TEST(permit, is_not_held_by_a_reserve_that_was_stopped) {
    by_hand h;
    one_slot ch;
    ASSERT_TRUE(ch.try_send(0));
    std::optional<coflux::permit<int>> p;
    auto waits = reserves(h.env, borrowed(ch), borrowed(p));
    h.drive();
    waits.request_stop();
    h.drive();
    EXPECT_THROW(waits.get(), coflux::task_stopped);
    EXPECT_EQ(ch.try_receive(), 0);
    EXPECT_TRUE(ch.try_send(1));
}

TEST(permit, in_a_coroutine_that_is_stopped_gives_its_slot_back) {
    by_hand h;
    one_slot ch;
    coflux::channel<int[]> unused;
    auto t = [](coflux::environment&, borrowed<one_slot> c, borrowed<coflux::channel<int[]>> n) -> by_hand::task<void> {
        auto p = co_await c->reserve();
        p->send(*co_await n->receive());
    }(h.env, borrowed(ch), borrowed(unused));
    h.drive();
    EXPECT_FALSE(ch.try_send(1));
    t.request_stop();
    h.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_TRUE(ch.try_send(1));
}

TEST(permit, moves_and_carries_what_only_moves) {
    coflux::channel<coflux_test::move_only[2]> ch;
    auto p = ch.try_reserve();
    auto q = ch.try_reserve();
    *p = std::move(*q);  // the slot of p is now q's
    q.reset();
    EXPECT_TRUE(ch.try_reserve().has_value()) << "given back once";
    p->send(coflux_test::move_only(4));
    EXPECT_EQ(*ch.try_receive()->value, 4);
}

TEST(permit_death, that_is_used_twice_is_a_checked_error) {
    one_slot ch;
    auto p = ch.try_reserve();
    p->send(1);
    EXPECT_DEATH(p->send(2), "permit that was used");
}

TEST(permit_death, that_outlives_its_channel_is_a_checked_error) {
    EXPECT_DEATH(
        {
            coflux_test::die_rather_than_hang();
            std::optional<coflux::permit<int>> p;
            one_slot ch;
            p = ch.try_reserve();
        },
        "before 1 of its permits");
}

}  // namespace
