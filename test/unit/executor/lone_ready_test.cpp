// The ready coroutines of a victim that a thief may take.
#include "../../../src/executor/pool/lone_ready.hpp"

#include <array>

#include <gtest/gtest.h>

namespace {

using coflux::detail::leaves_ready;
using coflux::detail::ready_ring;

struct glances {
    ready_ring ready;
    std::array<int, 4> items{};
    int pauses = 0;

    void push(int i) { EXPECT_TRUE(ready.push(&items.at(static_cast<std::size_t>(i)))); }
    /// `meanwhile` is what the victim does while the thief pauses.
    template <typename F>
    bool leaves(F meanwhile) {
        return leaves_ready(ready, [&] {
            if (++pauses == 2) meanwhile();
            return pauses != 3;
        });
    }
    bool leaves() {
        return leaves([] {});
    }
};

TEST(lone_ready, may_be_taken_if_it_lies_there_over_a_pause) {
    glances g;
    g.push(0);
    EXPECT_TRUE(g.leaves());
    EXPECT_EQ(g.pauses, 3);
}

TEST(lone_ready, is_left_to_a_worker_that_takes_it) {
    glances g;
    g.push(0);
    EXPECT_FALSE(g.leaves([&] { (void)g.ready.take(); }));
}

// Two coroutines that wake each other look like one that lies there.
TEST(lone_ready, is_left_to_a_worker_that_takes_it_and_queues_the_next) {
    glances g;
    g.push(0);
    const auto takes_one_and_queues_one = [&] {
        (void)g.ready.take();
        g.push(0);
    };
    EXPECT_FALSE(g.leaves(takes_one_and_queues_one));
    EXPECT_EQ(g.pauses, 2) << "the thief looks elsewhere at once";
}

TEST(lone_ready, is_not_lone_any_more_if_another_has_come) {
    glances g;
    g.push(0);
    EXPECT_TRUE(g.leaves([&] { g.push(1); }));
}

TEST(lone_ready, is_asked_for_neither_of_an_empty_queue_nor_of_one_with_several) {
    glances g;
    EXPECT_FALSE(g.leaves());
    g.push(0);
    g.push(1);
    EXPECT_TRUE(g.leaves());
    EXPECT_EQ(g.pauses, 0);
}

}  // namespace
