// A message may hold an end of a channel of its own type: ends are complete before it is.
#include <coflux/coflux.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../core/stage.hpp"

namespace {

using hand = coflux_test::manual_executor;

struct message {
    std::string text;
    std::optional<coflux::mpsc_sender<message>> answers;
    std::optional<coflux::unbounded_mpsc_sender<message>> all;
    std::optional<coflux::spsc_sender<message>> one;
    std::optional<coflux::oneshot_sender<message>> once;
    std::optional<coflux::broadcast_sender<message>> broadcast;
    std::optional<coflux::watch_sender<message>> state;
};
struct receivers {
    std::optional<coflux::mpsc_receiver<receivers>> answers;
    std::optional<coflux::spsc_receiver<receivers>> one;
    std::optional<coflux::oneshot_receiver<receivers>> once;
    std::optional<coflux::mpsc_permit<receivers>> slot;
    std::optional<coflux::spsc_permit<receivers>> first;
    std::optional<coflux::broadcast_receiver<message>> broadcast;
    std::optional<coflux::watch_receiver<message>> state;
};
struct bounded {
    std::optional<coflux::permit<bounded>> slot;
    std::optional<coflux::channel_sender<coflux::channel<bounded[2]>>> out;
    std::optional<coflux::channel_receiver<coflux::channel<bounded[2]>>> in;
};

coflux::fork<void, hand> actor(coflux::environment&, coflux::mpsc_receiver<message> inbox) {
    while (auto asked = co_await inbox.receive()) {
        message answer{asked->text + "!", {}, {}, {}, {}, {}, {}};
        if (asked->once.has_value()) {
            (void)asked->once->send(std::move(answer));
        } else if (asked->answers.has_value()) {
            (void)co_await asked->answers->send(std::move(answer));
        }
    }
}

TEST(incomplete_message, holds_the_sender_that_its_answer_goes_to) {
    coflux_test::stage<hand> s;
    s.run([](coflux::environment&) -> coflux::task<void, hand> {
        auto&& here = co_await coflux::context();
        auto [tx, inbox] = coflux::make_mpsc<message>(2);
        auto serving = actor(here, std::move(inbox));
        auto [once, answer] = coflux::make_oneshot<message>();
        message first{"once", {}, {}, {}, std::move(once), {}, {}};
        (void)co_await tx.send(std::move(first));
        const auto got = co_await answer;
        EXPECT_EQ(got->text, "once!");
        auto [back, answers] = coflux::make_mpsc<message>(1);
        message second{"again", back, {}, {}, {}, {}, {}};
        (void)co_await tx.send(std::move(second));
        const auto also = co_await answers.receive();
        EXPECT_EQ(also->text, "again!");
        tx.close();
        co_await std::move(serving);
    }(s.env));
}

TEST(incomplete_message, holds_any_end) {
    auto [tx, rx] = coflux::make_mpsc<receivers>(1);
    {
        receivers with_its_own;
        with_its_own.answers.emplace(std::move(rx));
        EXPECT_FALSE(tx.closed());
    }
    EXPECT_TRUE(tx.closed());
    coflux::channel<bounded[2]> ch;
    bounded with_ends;
    with_ends.out.emplace(ch.sender());
    with_ends.in.emplace(ch.receiver());
    EXPECT_FALSE(ch.closed());
}

}  // namespace
