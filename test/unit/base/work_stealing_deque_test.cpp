#include <coflux/base/work_stealing_deque.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace {

using coflux::detail::work_stealing_deque;

TEST(work_stealing_deque, has_nothing_to_give_when_empty) {
    work_stealing_deque deque(4);
    EXPECT_EQ(deque.pop(), nullptr);
    EXPECT_EQ(deque.steal(), nullptr);
    EXPECT_EQ(deque.size(), 0U);
}

TEST(work_stealing_deque, gives_its_owner_the_youngest) {
    work_stealing_deque deque(4);
    int items[3];
    for (int& item : items) deque.push(&item);
    EXPECT_EQ(deque.pop(), &items[2]);
    EXPECT_EQ(deque.pop(), &items[1]);
    EXPECT_EQ(deque.pop(), &items[0]);
    EXPECT_EQ(deque.pop(), nullptr);
}

TEST(work_stealing_deque, gives_thieves_the_oldest) {
    work_stealing_deque deque(4);
    int items[3];
    for (int& item : items) deque.push(&item);
    EXPECT_EQ(deque.steal(), &items[0]);
    EXPECT_EQ(deque.steal(), &items[1]);
    EXPECT_EQ(deque.steal(), &items[2]);
    EXPECT_EQ(deque.steal(), nullptr);
}

TEST(work_stealing_deque, serves_both_ends_in_turn) {
    work_stealing_deque deque(4);
    int items[4];
    for (int& item : items) deque.push(&item);
    EXPECT_EQ(deque.steal(), &items[0]);
    EXPECT_EQ(deque.pop(), &items[3]);
    EXPECT_EQ(deque.steal(), &items[1]);
    EXPECT_EQ(deque.pop(), &items[2]);
    EXPECT_EQ(deque.pop(), nullptr);
    EXPECT_EQ(deque.steal(), nullptr);
}

TEST(work_stealing_deque, pops_the_youngest_only_if_it_is_the_expected_one) {
    work_stealing_deque deque(4);
    int old = 0;
    int young = 0;
    deque.push(&old);
    deque.push(&young);
    EXPECT_FALSE(deque.pop_if(&old));
    EXPECT_EQ(deque.size(), 2U);
    EXPECT_TRUE(deque.pop_if(&young));
    EXPECT_TRUE(deque.pop_if(&old));
    EXPECT_EQ(deque.size(), 0U);
}

TEST(work_stealing_deque, does_not_pop_an_element_again_whose_pointer_is_still_in_its_cell) {
    work_stealing_deque deque(4);
    int item = 0;
    deque.push(&item);
    ASSERT_EQ(deque.pop(), &item);
    EXPECT_FALSE(deque.pop_if(&item));
    deque.push(&item);
    ASSERT_EQ(deque.steal(), &item);
    EXPECT_FALSE(deque.pop_if(&item));
    EXPECT_EQ(deque.pop(), nullptr);
}

void call_no_other_thread() noexcept {}

/// Each element is private until a thief asks.
class split_work_stealing_deque : public testing::Test {
protected:
    void push(int count) {
        for (int i = 0; i < count; ++i) deque_.push(&items_[pushed_++]);
    }

    work_stealing_deque deque_{4, &call_no_other_thread};
    int items_[32]{};
    int pushed_ = 0;
};

TEST_F(split_work_stealing_deque, shares_nothing_unasked) {
    push(3);
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    EXPECT_EQ(deque_.pop(), &items_[2]);
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    EXPECT_EQ(deque_.steal(), &items_[0]);
}

TEST_F(split_work_stealing_deque, shares_the_older_half_with_the_next_push) {
    push(3);
    EXPECT_TRUE(deque_.ask_to_share());
    EXPECT_FALSE(deque_.ask_to_share()) << "it is asked already";
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    push(1);
    EXPECT_EQ(deque_.steal_shared(), &items_[0]);
    EXPECT_EQ(deque_.steal_shared(), &items_[1]);
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    push(1);
    EXPECT_EQ(deque_.steal_shared(), nullptr) << "it has answered";
}

TEST_F(split_work_stealing_deque, shares_the_older_half_with_the_next_pop) {
    push(4);
    ASSERT_TRUE(deque_.ask_to_share());
    EXPECT_TRUE(deque_.pop_if(&items_[3]));
    EXPECT_EQ(deque_.steal_shared(), &items_[0]);
    EXPECT_EQ(deque_.steal_shared(), &items_[1]);
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    EXPECT_EQ(deque_.pop(), &items_[2]);
    EXPECT_EQ(deque_.pop(), nullptr);
}

TEST_F(split_work_stealing_deque, keeps_a_lone_element_to_itself) {
    ASSERT_TRUE(deque_.ask_to_share());
    push(1);
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    EXPECT_EQ(deque_.pop(), &items_[0]);
    push(2);
    EXPECT_EQ(deque_.steal_shared(), &items_[1]) << "the second push finds the request";
    EXPECT_EQ(deque_.pop(), &items_[2]);
}

TEST_F(split_work_stealing_deque, gives_a_lone_element_to_a_thief_with_a_fence) {
    ASSERT_TRUE(deque_.ask_to_share());
    push(1);
    EXPECT_EQ(deque_.steal(), &items_[0]);
    EXPECT_EQ(deque_.pop(), nullptr);
}

TEST_F(split_work_stealing_deque, shares_lone_elements_for_a_while_when_they_lie_there) {
    deque_.share_lone();
    int shared = 0;
    for (int i = 0; i < 30; ++i) {
        (void)deque_.ask_to_share();
        push(1);
        if (deque_.steal_shared() == &items_[i]) {
            ++shared;
            EXPECT_EQ(deque_.pop(), nullptr);
        } else {
            EXPECT_EQ(deque_.pop(), &items_[i]);
        }
    }
    EXPECT_EQ(shared, 16);
}

TEST_F(split_work_stealing_deque, drops_a_request_after_many_lone_elements) {
    ASSERT_TRUE(deque_.ask_to_share());
    for (int i = 0; i < 16; ++i) {
        EXPECT_FALSE(deque_.ask_to_share()) << "it is asked already, before push " << i;
        deque_.push(&items_[0]);
        EXPECT_EQ(deque_.pop(), &items_[0]);
    }
    EXPECT_TRUE(deque_.ask_to_share());
}

TEST_F(split_work_stealing_deque, gives_its_owner_what_it_has_shared_and_no_thief_has_taken) {
    push(7);
    ASSERT_TRUE(deque_.ask_to_share());
    push(1);  // four are shared
    for (int i = 7; i >= 3; --i) EXPECT_EQ(deque_.pop(), &items_[i]);
    EXPECT_EQ(deque_.steal_shared(), &items_[0]);
    EXPECT_EQ(deque_.pop(), &items_[2]);
    EXPECT_EQ(deque_.steal_shared(), &items_[1]);
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    EXPECT_EQ(deque_.pop(), nullptr);
}

TEST_F(split_work_stealing_deque, shares_while_it_grows) {
    push(3);
    ASSERT_TRUE(deque_.ask_to_share());
    push(20);
    ASSERT_TRUE(deque_.ask_to_share());
    push(1);
    for (int i = 0; i < 12; ++i) EXPECT_EQ(deque_.steal_shared(), &items_[i]);
    EXPECT_EQ(deque_.steal_shared(), nullptr);
    for (int i = 23; i >= 12; --i) EXPECT_EQ(deque_.pop(), &items_[i]);
    EXPECT_EQ(deque_.size(), 0U);
}

TEST(work_stealing_deque, shares_all_where_pops_have_a_locked_instruction) {
    work_stealing_deque deque(4);
    int item = 0;
    EXPECT_FALSE(deque.ask_to_share());
    deque.push(&item);
    EXPECT_EQ(deque.steal_shared(), &item);
}

TEST(work_stealing_deque, is_of_use_again_after_each_way_of_becoming_empty) {
    work_stealing_deque deque(2);
    int item = 0;
    for (int round = 0; round < 30; ++round) {
        deque.push(&item);
        ASSERT_EQ(deque.size(), 1U);
        switch (round % 3) {
        case 0: ASSERT_EQ(deque.pop(), &item); break;
        case 1: ASSERT_TRUE(deque.pop_if(&item)); break;
        default: ASSERT_EQ(deque.steal(), &item); break;
        }
        ASSERT_EQ(deque.pop(), nullptr);
        ASSERT_EQ(deque.steal(), nullptr);
    }
}

TEST(work_stealing_deque, grows_and_keeps_all_in_order) {
    work_stealing_deque deque(2);
    std::vector<int> items(1000);
    // Two are stolen first, so that the elements do not begin at cell 0 when the buffer is copied.
    deque.push(&items[0]);
    deque.push(&items[1]);
    ASSERT_EQ(deque.steal(), &items[0]);
    ASSERT_EQ(deque.steal(), &items[1]);
    for (std::size_t i = 2; i < items.size(); ++i) deque.push(&items[i]);
    EXPECT_EQ(deque.size(), items.size() - 2);
    for (std::size_t i = 2; i < 500; ++i) ASSERT_EQ(deque.steal(), &items[i]);
    for (std::size_t i = items.size(); i-- > 500;) ASSERT_EQ(deque.pop(), &items[i]);
    EXPECT_EQ(deque.size(), 0U);
}

TEST(work_stealing_deque, reuses_cells_that_thieves_emptied) {
    work_stealing_deque deque(4);
    std::vector<int> items(100);
    deque.push(&items[0]);
    deque.push(&items[1]);
    for (std::size_t i = 2; i < items.size(); ++i) {
        deque.push(&items[i]);
        ASSERT_EQ(deque.steal(), &items[i - 2]);
    }
    EXPECT_EQ(deque.pop(), &items[99]);
    EXPECT_EQ(deque.pop(), &items[98]);
    EXPECT_EQ(deque.pop(), nullptr);
}

TEST(work_stealing_deque, takes_a_power_of_two_as_capacity_and_nothing_else) {
    work_stealing_deque one(1);
    int items[2];
    one.push(&items[0]);
    one.push(&items[1]);
    EXPECT_EQ(one.pop(), &items[1]);
    EXPECT_EQ(one.pop(), &items[0]);
    EXPECT_DEATH(work_stealing_deque(3), "capacity 3 is not a power of two");
    EXPECT_DEATH(work_stealing_deque(0), "capacity 0 is not a power of two");
}

TEST(work_stealing_deque, gives_its_owner_the_oldest) {
    work_stealing_deque deque(4);
    EXPECT_EQ(deque.pop_oldest(), nullptr);
    int items[3];
    for (int& item : items) deque.push(&item);
    EXPECT_EQ(deque.pop_oldest(), &items[0]);
    EXPECT_EQ(deque.pop(), &items[2]);
    EXPECT_EQ(deque.pop_oldest(), &items[1]);
    EXPECT_EQ(deque.pop_oldest(), nullptr);
}

int fences = 0;

TEST(work_stealing_deque, calls_the_heavy_fence_for_each_theft_and_for_nothing_else) {
    work_stealing_deque deque(4, []() noexcept { ++fences; });
    int items[3];
    EXPECT_EQ(deque.steal(), nullptr);
    for (int& item : items) deque.push(&item);
    EXPECT_EQ(deque.pop(), &items[2]);
    EXPECT_EQ(fences, 0) << "of an empty deque, or for a pop";
    EXPECT_EQ(deque.steal(), &items[0]);
    EXPECT_EQ(fences, 1);
    EXPECT_EQ(deque.pop(), &items[1]);
    EXPECT_EQ(deque.steal(), nullptr);
    EXPECT_EQ(fences, 1);
}

}  // namespace
