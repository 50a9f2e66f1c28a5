// Each fault is found: a check that finds nothing anywhere would pass, too.
#include "linearizability/stage.hpp"

#include <cstdint>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "faulty_mutex.hpp"
#include "linearizability/objects/channel_scene.hpp"
#include "linearizability/objects/mutex_scene.hpp"
#include "linearizability/objects/semaphore_scene.hpp"
#include "support/iterations.hpp"

namespace {

using namespace coflux_test::linearizability;
using coflux_test::faulty_mutex;
using coflux_test::mutex_fault;

/// Far more than any of them needs.
constexpr std::uint64_t enough = 200'000;

template <typename Scene>
findings plays(std::uint64_t count) {
    order_of_play order;
    order.count = count;
    order.threads = 3;
    pulse p;
    return play<Scene>(order, p);
}
template <typename Scene>
void expect_found() {
    const findings f = plays<Scene>(enough);
    EXPECT_TRUE(f.failed);
    EXPECT_NE(f.picture.find("no order explains"), std::string::npos);
    ::testing::Test::RecordProperty("histories", static_cast<int>(f.histories));
    std::printf("found in history %llu of %s\n", static_cast<unsigned long long>(f.histories),
                ::testing::UnitTest::GetInstance()->current_test_info()->name());
}

// Faults in a mutex.

TEST(planted_faults, none_is_found_in_a_mutex_without) {
    EXPECT_FALSE(plays<mutex_scene<faulty_mutex<mutex_fault::none>>>(coflux_test::repetitions(20'000)).failed);
}
TEST(planted_faults, a_mutex_that_lets_two_in) {
    expect_found<mutex_scene<faulty_mutex<mutex_fault::lets_two_in>>>();
}
TEST(planted_faults, a_mutex_that_serves_the_last_comer_first) {
    expect_found<mutex_scene<faulty_mutex<mutex_fault::last_come_first>>>();
}
TEST(planted_faults, a_mutex_that_forgets_a_waiter) {
    expect_found<mutex_scene<faulty_mutex<mutex_fault::forgets_a_waiter>>>();
}
TEST(planted_faults, a_mutex_that_a_stopped_waiter_unlocks) {
    expect_found<mutex_scene<faulty_mutex<mutex_fault::stop_unlocks>>>();
}

// Faults in a channel.

/// A coflux::channel<int[2]> that may be derived from.
class two_slots : coflux::detail::channel_slots<int, 2>, public coflux::detail::slotted_channel<int> {
public:
    two_slots() noexcept : coflux::detail::slotted_channel<int>(slots, 2) {}
};

/// Its close() drops the last value.
class forgetful_channel : public two_slots {
public:
    void close() noexcept {
        if (!closed()) {
            const auto first = try_receive();
            const auto second = try_receive();
            if (second) (void)try_send(int{*first});
        }
        two_slots::close();
    }
};
/// Its try_receive() takes the younger of two values.
class impatient_channel : public two_slots {
public:
    std::optional<int> try_receive() noexcept {
        auto first = two_slots::try_receive();
        auto second = two_slots::try_receive();
        if (!second) return first;
        (void)try_send(int{*first});
        return second;
    }
};
/// Its try_send() sends twice if it can.
class generous_channel : public two_slots {
public:
    bool try_send(int&& v) noexcept {
        const bool sent = two_slots::try_send(int{v});
        (void)two_slots::try_send(int{v});
        return sent;
    }
};

TEST(planted_faults, a_channel_that_drops_its_last_value_on_close) {
    expect_found<channel_scene<forgetful_channel>>();
}
TEST(planted_faults, a_channel_that_gives_the_younger_value_first) {
    expect_found<channel_scene<impatient_channel>>();
}
TEST(planted_faults, a_channel_that_sends_a_value_twice) {
    expect_found<channel_scene<generous_channel>>();
}

// Faults in a specification: Coflux's own primitives do not meet it.

struct last_come_first : mutex_specification {
    bool request(state& at, std::span<const operation> all, op_id id, unsigned choice, services& done) const noexcept {
        if (all[id].kind != lock || at.locked == 0) return mutex_specification::request(at, all, id, choice, done);
        at.waiting.push_front(id);
        return true;
    }
};
struct handed_to_none : mutex_specification {
    bool request(state& at, std::span<const operation> all, op_id id, unsigned choice, services& done) const noexcept {
        if (all[id].kind != unlock) return mutex_specification::request(at, all, id, choice, done);
        at.locked = 0;
        done.add(id, 1);
        return true;
    }
};

TEST(planted_faults, a_specification_that_serves_the_last_comer_first) {
    expect_found<mutex_scene<coflux::mutex, last_come_first>>();
}
TEST(planted_faults, a_specification_in_which_an_unlock_wakes_no_waiter) {
    expect_found<mutex_scene<coflux::mutex, handed_to_none>>();
}

/// A semaphore with a permit more than it says.
class rich_semaphore : public coflux::semaphore {
public:
    explicit rich_semaphore(std::size_t available) noexcept : coflux::semaphore(available + 1) {}
};
/// Its try_acquire() releases one permit too few when it fails.
class leaky_semaphore : public coflux::semaphore {
public:
    using coflux::semaphore::semaphore;
    bool try_acquire(std::size_t n) noexcept {
        if (coflux::semaphore::try_acquire(n)) return true;
        (void)coflux::semaphore::try_acquire(1);
        return false;
    }
};

TEST(planted_faults, a_semaphore_with_one_permit_too_many) {
    expect_found<semaphore_scene<rich_semaphore>>();
}
TEST(planted_faults, a_semaphore_that_loses_a_permit_in_an_attempt) {
    expect_found<semaphore_scene<leaky_semaphore>>();
}

}  // namespace
