// Ends of queues that were closed or moved from: what they still answer, and what they refuse.
#include <iterator>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

// Moves the end away and gives back what is left, which the tests then use on purpose.
template <typename End>
End moved_from(End& end) {
    End other = std::move(end);
    return other;
}

TEST(used_up_ends, are_closed_and_may_be_closed_again_and_copied) {
    auto [spsc_tx, spsc_rx] = coflux::make_spsc<int>(1);
    auto [mpsc_tx, mpsc_rx] = coflux::make_mpsc<int>(1);
    auto [any_tx, any_rx] = coflux::make_unbounded_mpsc<int>();
    auto [one_tx, one_rx] = coflux::make_oneshot<int>();
    auto [all_tx, all_rx] = coflux::make_broadcast<int>(1);
    auto [new_tx, new_rx] = coflux::make_watch<int>(0);
    spsc_tx.close();
    mpsc_tx.close();
    any_tx.close();
    all_tx.close();
    new_tx.close();
    spsc_tx.close();
    mpsc_tx.close();
    any_tx.close();
    all_tx.close();
    new_tx.close();
    EXPECT_TRUE(spsc_tx.closed());
    EXPECT_TRUE(mpsc_tx.closed());
    EXPECT_TRUE(any_tx.closed());
    EXPECT_TRUE(all_tx.closed());
    EXPECT_FALSE(all_tx.has_receivers());
    EXPECT_TRUE(new_tx.closed());
    EXPECT_FALSE(new_tx.has_receivers());
    const auto mpsc_copy = mpsc_tx;
    const auto any_copy = any_tx;
    const auto all_copy = all_tx;
    EXPECT_TRUE(mpsc_copy.closed());
    EXPECT_TRUE(any_copy.closed());
    EXPECT_TRUE(all_copy.closed());

    const auto spsc_taken = moved_from(spsc_rx);
    const auto mpsc_taken = moved_from(mpsc_rx);
    const auto one_taken = moved_from(one_rx);
    const auto all_taken = moved_from(all_rx);
    EXPECT_TRUE(spsc_rx.closed());
    EXPECT_TRUE(mpsc_rx.closed());
    EXPECT_TRUE(one_rx.closed());
    EXPECT_TRUE(all_rx.closed());
    EXPECT_FALSE(one_taken.closed());
    EXPECT_FALSE(one_tx.closed());
    const auto new_taken = moved_from(new_rx);
    const auto new_copy = new_rx;
    EXPECT_TRUE(new_rx.closed());
    EXPECT_TRUE(new_copy.closed());
    all_rx.close();
}

/// Assigns the ends of one channel to those of another.
template <typename Ends>
void release_what_they_held(Ends first, Ends second) {
    first.first = std::move(second.first);
    EXPECT_TRUE(second.first.closed()) << "the source is empty";
    EXPECT_FALSE(second.second.closed()) << "its channel is open";
    EXPECT_TRUE(first.second.closed()) << "the channel of what was assigned to has lost its sender";
    first.second = std::move(second.second);
    EXPECT_FALSE(first.first.closed()) << "both ends are of the second channel";
    EXPECT_FALSE(first.second.closed());
}

TEST(used_up_ends, release_what_they_held_when_they_are_assigned_to) {
    release_what_they_held(coflux::make_spsc<int>(1), coflux::make_spsc<int>(1));
    release_what_they_held(coflux::make_mpsc<int>(1), coflux::make_mpsc<int>(1));
    release_what_they_held(coflux::make_unbounded_mpsc<int>(), coflux::make_unbounded_mpsc<int>());
    release_what_they_held(coflux::make_oneshot<int>(), coflux::make_oneshot<int>());
    release_what_they_held(coflux::make_broadcast<int>(1), coflux::make_broadcast<int>(1));
    release_what_they_held(coflux::make_watch<int>(0), coflux::make_watch<int>(0));
}

TEST(used_up_ends, keep_what_they_have_when_they_are_assigned_to_themselves) {
    auto [spsc_tx, spsc_rx] = coflux::make_spsc<int>(1);
    auto [mpsc_tx, mpsc_rx] = coflux::make_mpsc<int>(1);
    auto [new_tx, new_rx] = coflux::make_watch<int>(7);
    const auto assign = [](auto& to, auto& from) { to = std::move(from); };
    assign(spsc_tx, spsc_tx);
    assign(spsc_rx, spsc_rx);
    assign(mpsc_rx, mpsc_rx);
    assign(new_tx, new_tx);
    EXPECT_TRUE(spsc_tx.try_send(1));
    EXPECT_EQ(spsc_rx.try_receive(), 1);
    EXPECT_TRUE(mpsc_tx.try_send(2));
    EXPECT_EQ(mpsc_rx.try_receive(), 2);
    auto look = new_tx.borrow();
    assign(look, look);
    EXPECT_EQ(*look, 7);
    EXPECT_TRUE(new_tx.send(8));
    EXPECT_EQ(*look, 7);
}

TEST(used_up_ends, let_go_of_their_channel_when_another_end_is_assigned_to_them) {
    auto [spsc_tx, spsc_rx] = coflux::make_spsc<int>(1);
    auto [mpsc_tx, mpsc_rx] = coflux::make_mpsc<int>(1);
    auto [one_tx, one_rx] = coflux::make_oneshot<int>();
    auto [all_tx, all_rx] = coflux::make_broadcast<int>(1);
    auto [new_tx, new_rx] = coflux::make_watch<int>(0);
    spsc_tx = coflux::make_spsc<int>(1).first;
    mpsc_tx = coflux::make_mpsc<int>(1).first;
    one_tx = coflux::make_oneshot<int>().first;
    all_tx = coflux::make_broadcast<int>(1).first;
    new_tx = coflux::make_watch<int>(0).first;
    EXPECT_TRUE(spsc_rx.closed());
    EXPECT_TRUE(mpsc_rx.closed());
    EXPECT_TRUE(one_rx.closed());
    EXPECT_TRUE(all_rx.closed());
    EXPECT_TRUE(new_rx.closed());

    auto [spsc_in, spsc_out] = coflux::make_spsc<int>(1);
    auto [mpsc_in, mpsc_out] = coflux::make_mpsc<int>(1);
    auto [one_in, one_out] = coflux::make_oneshot<int>();
    auto [all_in, all_out] = coflux::make_broadcast<int>(1);
    auto [new_in, new_out] = coflux::make_watch<int>(0);
    spsc_out = coflux::make_spsc<int>(1).second;
    mpsc_out = coflux::make_mpsc<int>(1).second;
    one_out = coflux::make_oneshot<int>().second;
    all_out = coflux::make_broadcast<int>(1).second;
    new_out = coflux::make_watch<int>(0).second;
    EXPECT_TRUE(spsc_in.closed());
    EXPECT_TRUE(mpsc_in.closed());
    EXPECT_TRUE(one_in.closed());
    EXPECT_FALSE(all_in.has_receivers());
    EXPECT_FALSE(new_in.has_receivers());
}

TEST(used_up_ends_death, refuse_to_send_and_to_receive) {
    auto [spsc_tx, spsc_rx] = coflux::make_spsc<int>(1);
    auto [mpsc_tx, mpsc_rx] = coflux::make_mpsc<int>(1);
    auto [one_tx, one_rx] = coflux::make_oneshot<int>();
    auto [all_tx, all_rx] = coflux::make_broadcast<int>(1);
    auto [new_tx, new_rx] = coflux::make_watch<int>(0);
    const auto mpsc_taken = moved_from(mpsc_rx);
    const auto spsc_taken = moved_from(spsc_rx);
    const auto one_taken = moved_from(one_rx);
    const auto all_taken = moved_from(all_rx);
    const auto new_taken = moved_from(new_rx);
    spsc_tx.close();
    mpsc_tx.close();
    all_tx.close();
    new_tx.close();
    EXPECT_DEATH((void)spsc_tx.try_send(1), "an spsc sender that was closed or moved from");
    EXPECT_DEATH((void)spsc_rx.try_receive(), "an spsc receiver that was moved from");
    EXPECT_DEATH((void)mpsc_tx.try_send(1), "an mpsc sender that was closed or moved from");
    EXPECT_DEATH((void)mpsc_rx.try_receive(), "an mpsc receiver that was moved from");
    EXPECT_DEATH((void)one_rx.try_receive(), "a oneshot receiver that was moved from");
    EXPECT_DEATH((void)all_tx.send(1), "a broadcast sender that was closed or moved from");
    EXPECT_DEATH((void)all_rx.try_receive(), "a broadcast receiver that was closed or moved from");
    EXPECT_DEATH((void)new_tx.send(1), "a watch sender that was closed or moved from");
    EXPECT_DEATH((void)new_rx.has_changed(), "a watch receiver that was moved from");
}

TEST(used_up_ends_death, refuse_channels_without_a_slot_and_batches_of_nothing) {
    EXPECT_DEATH((void)coflux::make_spsc<int>(0), "an spsc channel without a slot");
    EXPECT_DEATH((void)coflux::make_mpsc<int>(0), "an mpsc channel without a slot");
    EXPECT_DEATH((void)coflux::make_broadcast<int>(0), "a broadcast channel without a slot");
    auto [spsc_tx, spsc_rx] = coflux::make_spsc<int>(1);
    auto [mpsc_tx, mpsc_rx] = coflux::make_mpsc<int>(1);
    std::vector<int> none;
    EXPECT_DEATH((void)spsc_rx.receive_some(std::back_inserter(none), 0), "receive_some\\(\\) of nothing");
    EXPECT_DEATH((void)mpsc_rx.receive_some(std::back_inserter(none), 0), "receive_some\\(\\) of nothing");
}

}  // namespace
