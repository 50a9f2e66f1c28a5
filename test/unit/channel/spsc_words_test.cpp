#include <coflux/channel/detail/spsc_state.hpp>

#include <gtest/gtest.h>

namespace {

using coflux::detail::spsc_words;

TEST(spsc_words, refuse_what_is_published_after_the_seal_but_by_a_permit) {
    spsc_words w(4);
    ASSERT_TRUE(w.has_room());
    EXPECT_TRUE(w.publish(false));
    ASSERT_TRUE(w.reserve());
    w.close();
    EXPECT_FALSE(w.publish(false)) << "the check before it saw no seal";
    EXPECT_TRUE(w.has_value());
    w.released(1);
    EXPECT_FALSE(w.has_value());
    EXPECT_FALSE(w.finished()) << "a permit is out";
    EXPECT_TRUE(w.publish(true));
    w.unreserve();
    EXPECT_FALSE(w.finished()) << "what it sent is there";
    EXPECT_TRUE(w.has_value());
    w.released(1);
    EXPECT_FALSE(w.has_value());
    EXPECT_TRUE(w.finished());
    EXPECT_FALSE(w.reserve());
}

TEST(spsc_words, end_when_the_last_permit_of_a_dead_sender_is_gone) {
    spsc_words w(2);
    ASSERT_TRUE(w.reserve());
    ASSERT_TRUE(w.reserve());
    EXPECT_FALSE(w.has_room());
    w.end();
    EXPECT_FALSE(w.finished());
    EXPECT_TRUE(w.publish(true));
    w.unreserve();
    w.unreserve();
    EXPECT_TRUE(w.has_value());
    w.released(1);
    EXPECT_FALSE(w.has_value());
    EXPECT_TRUE(w.finished());
}

}  // namespace
