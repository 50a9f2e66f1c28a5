// when_all of ranges of any length, whose children end nested, after a wait or on another thread, with results that
// fit into a word: each result is that of its child, and each frame goes exactly once.
#include <coflux/combine/when_all.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/iterations.hpp"
#include "support/random_numbers.hpp"

namespace {

using coflux::borrowed;
using coflux::environment;
using coflux_test::random_numbers;
using pool = coflux::thread_pool_executor;

/// One word, whose bits are those of no address.
struct word_result {
    std::uint32_t index;
    std::uint32_t all_bits = ~0U;
};

constexpr std::size_t largest = coflux_test::at_full_speed ? 20'000 : 2'000;

enum class ends { with_values, some_with_errors, some_stopped };

struct unlucky : std::runtime_error {
    explicit unlucky(std::size_t i) : runtime_error("unlucky"), index(i) {}
    std::size_t index;
};

/// Every `period`-th child waits first, and every `bad`-th ends otherwise.
struct plan {
    std::size_t period;
    std::size_t bad;
    ends how;

    [[nodiscard]] bool waits(std::size_t i) const noexcept { return period != 0 && i % period == 0; }
    [[nodiscard]] bool is_bad(std::size_t i) const noexcept { return how != ends::with_values && i % bad == bad - 1; }
};

std::vector<int>& targets() {
    static std::vector<int> all(largest);
    return all;
}

template <typename T>
coflux::fork<T, pool> child(environment&, std::size_t i, plan p) {
    if (p.waits(i)) co_await coflux::yield();
    if (p.is_bad(i)) {
        if (p.how == ends::some_with_errors) throw unlucky(i);
        co_await coflux::this_coroutine::stop();
    }
    if constexpr (std::is_reference_v<T>) {
        co_return targets()[i];
    } else if constexpr (std::is_same_v<T, word_result>) {
        co_return word_result{static_cast<std::uint32_t>(i)};
    } else if constexpr (!std::is_void_v<T>) {
        co_return static_cast<T>(2 * i + 1);  // no address is odd
    }
}

template <typename T, typename Results>
void expect_results(const Results& results) {
    for (std::size_t i = 0; i != results.size(); ++i) {
        if constexpr (std::is_reference_v<T>) {
            ASSERT_EQ(&results[i].get(), &targets()[i]);
        } else if constexpr (std::is_same_v<T, word_result>) {
            ASSERT_EQ(results[i].index, i);
            ASSERT_EQ(results[i].all_bits, ~0U);
        } else {
            ASSERT_EQ(results[i], static_cast<T>(2 * i + 1));
        }
    }
}

template <typename T, typename Range>
coflux::call<void> joins(environment&, Range forks, plan p, std::size_t& first_error) {
    const std::size_t n = forks.size();
    try {
        if constexpr (std::is_void_v<T>) {
            co_await coflux::when_all(std::move(forks));
        } else {
            const auto results = co_await coflux::when_all(std::move(forks));
            EXPECT_EQ(results.size(), n);
            expect_results<T>(results);
        }
        EXPECT_TRUE(p.how == ends::with_values || n < p.bad);
    } catch (const unlucky& e) {
        EXPECT_EQ(p.how, ends::some_with_errors);
        first_error = e.index;
    }
}

template <typename T>
coflux::task<void, pool> makes(environment&, std::size_t n, plan p, int kind) {
    auto&& here = co_await coflux::context();
    using handle = coflux::fork<T, pool>;
    std::size_t first_error = p.bad - 1;
    std::vector<handle> forks;
    auto other = coflux::make_environment(here);
    environment& in = kind == 3 ? static_cast<environment&>(other) : here;  // a stop does not reach it by itself
    for (std::size_t i = 0; i != n; ++i) forks.push_back(child<T>(in, i, p));
    if (kind == 1) {
        std::deque<handle> queue;
        for (handle& f : forks) queue.push_back(std::move(f));
        auto o = co_await coflux::as_outcome(joins<T>(here, std::move(queue), p, first_error));
        EXPECT_EQ(o.is_stopped(), p.how == ends::some_stopped && n >= p.bad);
    } else if (kind == 2) {
        auto o = co_await coflux::as_outcome(joins<T>(here, std::span(forks), p, first_error));
        EXPECT_EQ(o.is_stopped(), p.how == ends::some_stopped && n >= p.bad);
        if (!o.is_stopped() && p.how == ends::with_values) {
            for (const handle& f : forks) EXPECT_FALSE(f.valid());
        }
        forks.clear();
    } else {
        auto o = co_await coflux::as_outcome(joins<T>(here, std::move(forks), p, first_error));
        EXPECT_EQ(o.is_stopped(), p.how == ends::some_stopped && n >= p.bad);
    }
    EXPECT_EQ(first_error, p.bad - 1) << "the first in the order of creation";
    co_await other.join();
}

template <typename T>
void run_all() {
    coflux::counting_resource frames;
    random_numbers draw(7);
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
        pool workers(threads);
        auto env = coflux::make_environment(&frames, workers);
        for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{300}, largest}) {
            for (const ends how : {ends::with_values, ends::some_with_errors, ends::some_stopped}) {
                for (int kind = 0; kind != 4; ++kind) {
                    const plan p{draw.below(3) == 0 ? 0 : 1 + draw.below(70), 1 + draw.below(n + 1), how};
                    makes<T>(env, n, p, kind).get();
                }
            }
        }
    }
    EXPECT_EQ(frames.live(), 0U);
}

TEST(when_all_range, of_words_gives_each_childs_own_wherever_it_ends) {
    run_all<std::uint64_t>();
}
TEST(when_all_range, of_small_objects_gives_each_childs_own_wherever_it_ends) {
    run_all<word_result>();
}
TEST(when_all_range, of_references_gives_each_childs_own_wherever_it_ends) {
    run_all<int&>();
}
TEST(when_all_range, of_nothing_waits_for_all_wherever_they_end) {
    run_all<void>();
}

}  // namespace
