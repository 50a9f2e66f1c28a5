#include <coflux/base/work_stealing_deque.hpp>

#include <gtest/gtest.h>

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <support/iterations.hpp>

namespace {

using coflux::detail::work_stealing_deque;

long membarrier(int command) noexcept {
    return ::syscall(SYS_membarrier, command, 0, 0);
}
void pass_everywhere() noexcept {
    (void)membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

/// Pops that have a locked instruction; free ones, where each theft calls; free ones of an owner that thieves ask.
enum class pops : std::uint8_t { locked, free, free_beside_requests };

class work_stealing_deque_race : public testing::TestWithParam<pops> {
protected:
    void SetUp() override {
        if (are_free() && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) != 0)
            GTEST_SKIP() << "the system refuses membarrier()";
    }
    static bool are_free() { return GetParam() != pops::locked; }
    static bool asks() { return GetParam() == pops::free_beside_requests; }
    static coflux::detail::heavy_fence heavy() { return are_free() ? &pass_everywhere : nullptr; }
    /// A fence of the thieves takes as long as a hundred pops.
    static std::size_t rounds_of(std::size_t n) {
        return coflux_test::repetitions(GetParam() == pops::free ? n / 10 : n);
    }
};
std::string name_of(const testing::TestParamInfo<pops>& info) {
    constexpr const char* names[] = {"locked", "free", "free_beside_requests"};
    return names[static_cast<std::size_t>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(pops, work_stealing_deque_race,
                         testing::Values(pops::locked, pops::free, pops::free_beside_requests), name_of);

/// An element of the deque that knows how often it was taken.
struct item {
    std::atomic<std::uint32_t> taken{0};
    void take() { taken.fetch_add(1, std::memory_order_relaxed); }
};

/// Steals from the deque on a thread of its own until finish(). One that asks calls the fence one time in 4096.
class thief {
public:
    thief(work_stealing_deque& deque, bool asks)
        : thread_([this, &deque, asks] {
              std::size_t idle = 0;
              while (!done_.load(std::memory_order_acquire)) {
                  void* got = asks ? deque.steal_shared() : deque.steal();
                  if (asks && got == nullptr) {
                      (void)deque.ask_to_share();
                      if (idle % 4096 == 4095) got = deque.steal();
                  }
                  if (got != nullptr) {
                      static_cast<item*>(got)->take();
                      ++stolen_;
                      idle = 0;
                  } else if (++idle % 4096 == 0) {
                      std::this_thread::yield();  // rarely: a thief that is away does not race
                  }
              }
          }) {}
    /// Number of elements it got.
    std::size_t finish() {
        done_.store(true, std::memory_order_release);
        thread_.join();
        return stolen_;
    }

private:
    std::atomic<bool> done_{false};
    std::size_t stolen_ = 0;
    std::thread thread_;
};

/// Lets the thief come nearer, by another distance each time.
void linger(std::size_t round) {
    for (std::size_t i = round % 32; i != 0; --i) asm volatile("");
}

void expect_each_taken_once(const std::vector<item>& items) {
    const auto wrong = std::count_if(items.begin(), items.end(), [](const item& i) { return i.taken.load() != 1; });
    EXPECT_EQ(wrong, 0) << "of " << items.size() << " elements were lost or taken twice";
}

/// The owner pushes all of `items` in bursts and takes some back in between, in a mix that `seed` determines.
void race_against_thieves(coflux::detail::heavy_fence heavy, bool asks, std::size_t thieves, std::size_t count,
                          std::uint32_t seed) {
    std::vector<item> items(count);
    work_stealing_deque deque(2, heavy);  // grows while it is stolen from
    std::vector<std::unique_ptr<thief>> all;
    for (std::size_t i = 0; i < thieves; ++i) all.push_back(std::make_unique<thief>(deque, asks));
    std::mt19937 random(seed);
    std::size_t taken = 0;
    for (std::size_t next = 0; next < count;) {
        const std::uint32_t bits = random();
        const std::size_t first = next;
        for (std::size_t burst = 1 + bits % 7; burst != 0 && next < count; --burst) deque.push(&items[next++]);
        switch (bits >> 16 & 3) {
        case 0: break;
        case 1:  // what an await of forks does: the youngest first, each by name
            for (std::size_t i = next; i-- > first;) {
                if (!deque.pop_if(&items[i])) break;
                items[i].take();
                ++taken;
            }
            break;
        default:
            for (std::size_t pops = bits >> 20 & 7; pops != 0; --pops) {
                if (void* const got = deque.pop()) {
                    static_cast<item*>(got)->take();
                    ++taken;
                }
            }
            break;
        }
    }
    while (void* const got = deque.pop()) {
        static_cast<item*>(got)->take();
        ++taken;
    }
    std::size_t stolen = 0;
    for (const auto& t : all) stolen += t->finish();
    EXPECT_EQ(taken + stolen, count);
    expect_each_taken_once(items);
}

TEST_P(work_stealing_deque_race, gives_every_element_once_with_one_thief) {
    race_against_thieves(heavy(), asks(), 1, rounds_of(4'000'000), 1);
}

TEST_P(work_stealing_deque_race, gives_every_element_once_with_two_thieves) {
    race_against_thieves(heavy(), asks(), 2, rounds_of(4'000'000), 2);
}

TEST_P(work_stealing_deque_race, gives_a_lone_element_to_one_of_owner_and_thief) {
    std::vector<item> items(rounds_of(4'000'000));
    work_stealing_deque deque(2, heavy());
    thief other(deque, asks());
    std::size_t taken = 0;
    for (std::size_t i = 0; i < items.size(); ++i) {
        deque.push(&items[i]);
        linger(i);
        if (i % 2 == 0 ? deque.pop_if(&items[i]) : deque.pop() != nullptr) {
            items[i].take();
            ++taken;
        }
    }
    // A thief may still hold the element that the last pop lost.
    const std::size_t stolen = other.finish();
    EXPECT_EQ(taken + stolen, items.size());
    expect_each_taken_once(items);
    EXPECT_EQ(deque.size(), 0U);
}

TEST_P(work_stealing_deque_race, gives_the_last_of_two_elements_to_one_of_owner_and_thief) {
    std::vector<item> items(rounds_of(2'000'000) * 2);
    work_stealing_deque deque(4, heavy());
    thief other(deque, asks());
    std::size_t taken = 0;
    for (std::size_t i = 0; i < items.size(); i += 2) {
        deque.push(&items[i]);
        deque.push(&items[i + 1]);
        linger(i / 2);
        while (void* const got = deque.pop()) {
            static_cast<item*>(got)->take();
            ++taken;
        }
    }
    EXPECT_EQ(taken + other.finish(), items.size());
    expect_each_taken_once(items);
}

TEST_P(work_stealing_deque_race, gives_the_last_of_two_elements_to_one_of_owner_and_two_thieves) {
    // Two thieves come down to the owner's element between its exchange of bottom and its second look at top more often
    // than one. Few elements, each used often; one that is taken twice makes the next be lost, so each is counted for
    // itself.
    constexpr std::size_t in_use = 1024;
    std::vector<item> items(in_use);
    work_stealing_deque deque(4, heavy());
    const std::size_t rounds = rounds_of(20'000'000);
    std::size_t taken = 0, made = 0;
    {
        thief one(deque, asks()), other(deque, asks());
        for (std::size_t i = 0; i < rounds; ++i) {
            deque.push(&items[made++ % in_use]);
            deque.push(&items[made++ % in_use]);
            linger(i);
            while (void* const got = deque.pop()) {
                static_cast<item*>(got)->take();
                ++taken;
            }
        }
        taken += one.finish() + other.finish();
    }
    EXPECT_EQ(taken, made);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < in_use; ++i) {
        wrong += items[i].taken.load() == made / in_use + (i < made % in_use ? 1 : 0) ? 0 : 1;
    }
    EXPECT_EQ(wrong, 0U) << "elements were lost or taken twice";
}

TEST_P(work_stealing_deque_race, shows_thieves_what_was_written_before_the_push) {
    struct message {
        std::size_t value = 0;  // not atomic: only the deque orders its write before its read
    };
    std::vector<message> messages(rounds_of(1'000'000));
    work_stealing_deque deque(2, heavy());
    std::atomic<std::size_t> received{0};
    std::atomic<std::size_t> wrong{0};
    std::thread reader([&] {
        while (received.load(std::memory_order_relaxed) < messages.size()) {
            auto* const got = static_cast<message*>(deque.steal());
            if (got == nullptr) {
                std::this_thread::yield();
                continue;
            }
            if (got->value != static_cast<std::size_t>(got - messages.data()) + 1) wrong.fetch_add(1);
            received.fetch_add(1, std::memory_order_relaxed);
        }
    });
    for (std::size_t i = 0; i < messages.size(); ++i) {
        messages[i].value = i + 1;
        deque.push(&messages[i]);
    }
    reader.join();
    EXPECT_EQ(wrong.load(), 0U);
}

}  // namespace
