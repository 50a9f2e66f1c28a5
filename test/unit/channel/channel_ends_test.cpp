#include <coflux/channel/channel_ends.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_executor.hpp>

#include "by_hand.hpp"
#include "support/no_hang.hpp"

namespace {

using namespace std::chrono_literals;
using coflux_test::by_hand;
using numbers = coflux::channel<int[2]>;
using sender = coflux::channel_sender<numbers>;
using receiver = coflux::channel_receiver<numbers>;

static_assert(std::is_nothrow_copy_constructible_v<sender> && std::is_nothrow_move_constructible_v<sender>);
static_assert(std::is_nothrow_copy_constructible_v<receiver> && std::is_nothrow_move_constructible_v<receiver>);

TEST(channel_sender, closes_the_channel_when_the_last_one_dies) {
    numbers ch;
    std::optional<sender> one(ch.sender());
    std::optional<sender> other(*one);
    EXPECT_TRUE(one->try_send(1));
    one.reset();
    EXPECT_FALSE(ch.closed()) << "a copy lives";
    EXPECT_TRUE(other->try_send(2));
    other.reset();
    EXPECT_TRUE(ch.closed());
    EXPECT_EQ(ch.try_receive(), 1) << "what was sent is still received";
    EXPECT_EQ(ch.try_receive(), 2);
    EXPECT_TRUE(ch.drained());
}

TEST(channel_sender, that_is_moved_or_closed_counts_once) {
    numbers ch;
    sender one = ch.sender();
    sender other = std::move(one);
    EXPECT_TRUE(one.closed());  // NOLINT(bugprone-use-after-move): what it is now is said
    one.close();
    EXPECT_FALSE(ch.closed());
    other.close();
    EXPECT_TRUE(ch.closed());
    other.close();
    EXPECT_TRUE(other.closed());
}

TEST(channel_sender, that_is_assigned_to_gives_its_channel_up) {
    numbers first;
    numbers second;
    sender tx = first.sender();
    sender other = second.sender();
    tx = std::move(other);
    EXPECT_TRUE(first.closed());
    EXPECT_FALSE(second.closed());
    sender& same = tx;
    tx = same;
    EXPECT_FALSE(second.closed());
}

TEST(channel_sender, is_made_at_every_kind_of_channel) {
    coflux::channel<int[]> rendezvous;
    coflux::dynamic_channel<int> dynamic(2);
    numbers fixed;
    coflux::basic_channel<int>& any = fixed;
    (void)rendezvous.sender();
    (void)dynamic.sender();
    (void)coflux::channel_sender<coflux::basic_channel<int>>(any);
    EXPECT_TRUE(rendezvous.closed());
    EXPECT_TRUE(dynamic.closed());
    EXPECT_TRUE(fixed.closed());
}

TEST(channel_sender, leaves_a_permit_its_slot) {
    numbers ch;
    sender tx = ch.sender();
    auto slot = tx.try_reserve();
    ASSERT_TRUE(slot.has_value());
    tx.close();
    EXPECT_FALSE(ch.drained()) << "the permit's value is to come";
    slot->send(1);
    EXPECT_EQ(ch.try_receive(), 1);
    EXPECT_TRUE(ch.drained());
}

TEST(channel_receiver, closes_the_channel_and_drops_what_is_in_it_when_the_last_one_dies) {
    coflux::channel<std::shared_ptr<int>[2]> ch;
    const auto value = std::make_shared<int>(1);
    std::optional<coflux::channel_receiver<decltype(ch)>> one(ch.receiver());
    std::optional<coflux::channel_receiver<decltype(ch)>> other(*one);
    EXPECT_TRUE(ch.try_send(value));
    one.reset();
    EXPECT_FALSE(ch.closed());
    EXPECT_EQ(value.use_count(), 2);
    other.reset();
    EXPECT_TRUE(ch.closed());
    EXPECT_EQ(value.use_count(), 1);
}

TEST(channel_receiver, is_closed_when_nothing_can_be_sent_and_drained_when_nothing_is_left) {
    numbers ch;
    sender tx = ch.sender();
    auto rx = ch.receiver();
    EXPECT_TRUE(tx.try_send(1));
    EXPECT_FALSE(rx.closed());
    tx.close();
    EXPECT_TRUE(tx.closed());
    EXPECT_TRUE(rx.closed());
    EXPECT_FALSE(rx.drained());
    EXPECT_EQ(rx.try_receive(), 1);
    EXPECT_TRUE(rx.drained());
}

by_hand::task<bool> sends(coflux::environment&, sender tx, int v) {
    co_return co_await tx.send(v);
}
by_hand::task<int> sums(coflux::environment&, receiver rx) {
    int sum = 0;
    while (auto v = co_await rx.receive()) sum += *v;
    co_return sum;
}

TEST(channel_receiver, that_is_the_last_one_refuses_senders_that_wait) {
    by_hand h;
    numbers ch;
    receiver rx = ch.receiver();
    sender tx = ch.sender();
    EXPECT_TRUE(tx.try_send(1) && tx.try_send(2));
    auto s = sends(h.env, tx, 3);
    h.drive();
    EXPECT_FALSE(s.done());
    rx.close();
    h.drive();
    EXPECT_FALSE(s.get());
}

TEST(channel_receiver, that_waits_sees_the_end_when_the_last_sender_dies) {
    by_hand h;
    numbers ch;
    sender tx = ch.sender();
    auto sum = sums(h.env, ch.receiver());
    h.drive();
    EXPECT_TRUE(tx.try_send(1) && tx.try_send(2));
    h.drive();
    EXPECT_FALSE(sum.done());
    tx.close();
    h.drive();
    EXPECT_EQ(sum.get(), 3);
}

/// A message that names where it is answered: by a message of its own kind.
struct question {
    int number;
    coflux::channel_sender<coflux::channel<question[2]>> answer;
};

TEST(channel_sender, may_be_part_of_what_its_channel_carries) {
    coflux::channel<question[2]> asked;
    coflux::channel<question[2]> answered;
    auto tx = asked.sender();
    EXPECT_TRUE(tx.try_send(question{1, answered.sender()}));
    if (auto q = asked.try_receive()) {
        EXPECT_TRUE(q->answer.try_send(question{2, tx}));
    }
    EXPECT_TRUE(answered.closed()) << "the question, and the sender in it, is gone";
    EXPECT_EQ(answered.try_receive()->number, 2);
}

using coflux::testing::sim_executor;

/// The fault in a stage of three.
enum class fault { nothing, error, stop, early_return };

coflux::call<void> suffers(coflux::environment&, fault f) {
    co_await coflux::sleep_for(1ms);
    if (f == fault::error) throw std::runtime_error("a stage fails");
    if (f == fault::stop) co_await coflux::this_coroutine::stop();
}
coflux::fork<void, sim_executor> begins(coflux::environment& here, sender to, fault f) {
    sender out = std::move(to);
    for (int i = 0; i != 10; ++i) {
        const bool sent = co_await out.send(i);
        if (!sent || (i == 5 && f == fault::early_return)) co_return;
        if (i == 5) co_await suffers(here, f);
    }
}
coflux::fork<void, sim_executor> passes(coflux::environment& here, receiver from, sender to, fault f) {
    receiver in = std::move(from);
    sender out = std::move(to);
    while (auto v = co_await in.receive()) {
        if (*v == 5 && f == fault::early_return) co_return;
        if (*v == 5) co_await suffers(here, f);
        const bool sent = co_await out.send(*v);
        if (!sent) co_return;
    }
}
coflux::fork<void, sim_executor> ends(coflux::environment& here, receiver from, fault f) {
    receiver in = std::move(from);
    while (auto v = co_await in.receive()) {
        if (*v == 5 && f == fault::early_return) co_return;
        if (*v == 5) co_await suffers(here, f);
    }
}
coflux::task<int, sim_executor> pipeline(coflux::environment&, std::size_t at, fault f) {
    auto&& here = co_await coflux::context();
    numbers first;
    numbers second;
    const auto of = [&](std::size_t stage) { return stage == at ? f : fault::nothing; };
    auto a = begins(here, first.sender(), of(0));
    auto b = passes(here, first.receiver(), second.sender(), of(1));
    auto c = ends(here, second.receiver(), of(2));
    int failed = 0;
    const auto done = co_await coflux::when_all_outcomes(std::move(a), std::move(b), std::move(c));
    failed += get<0>(done).has_value() ? 0 : 1;
    failed += get<1>(done).has_value() ? 0 : 1;
    failed += get<2>(done).has_value() ? 0 : 1;
    co_return failed;
}

TEST(channel_ends, let_each_stage_of_a_pipeline_end_when_any_of_them_fails_stops_or_returns_early) {
    for (const fault f : {fault::nothing, fault::error, fault::stop, fault::early_return}) {
        for (std::size_t stage = 0; stage != 3; ++stage) {
            const auto found = coflux::testing::explore({.runs = 50}, [&](coflux::testing::simulation&) {
                sim_executor on;
                auto env = coflux::make_environment(on);
                const int failed = pipeline(env, stage, f).get();
                const bool fails = f == fault::error || f == fault::stop;
                if (failed != (fails ? 1 : 0)) throw std::logic_error("another number of stages failed");
            });
            EXPECT_TRUE(found.ok()) << "stage " << stage << ", fault " << static_cast<int>(f) << ": " << found.report();
        }
    }
}

TEST(channel_ends_death, of_a_channel_before_its_ends_is_an_error) {
    EXPECT_DEATH(
        {
            std::optional<numbers> ch(std::in_place);
            const sender tx = ch->sender();
            ch.reset();
        },
        "a channel dies before 1 of its senders and 0 of its receivers");
}

TEST(channel_ends_death, by_use_of_what_was_moved_from_is_an_error) {
    numbers ch;
    sender tx = ch.sender();
    receiver rx = ch.receiver();
    const sender other = std::move(tx);
    const receiver another = std::move(rx);
    // NOLINTBEGIN(bugprone-use-after-move): that is what is checked
    EXPECT_DEATH((void)tx.try_send(1), "a channel's sender that was closed or moved from");
    EXPECT_DEATH((void)rx.try_receive(), "a channel's receiver that was closed or moved from");
    // NOLINTEND(bugprone-use-after-move)
}

}  // namespace
