// Forks, their views and callbacks where root and child run on each kind of executor, and the child has ended before the
// await or ends after it.
#include <coflux/core/fork.hpp>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::gives;
using coflux_test::journal;
using coflux_test::move_only;
using coflux_test::over_aligned;
using coflux_test::yields_before_the_end;
using lines = std::vector<std::string>;

template <typename On>
class fork_matrix : public ::testing::Test {
protected:
    using root_on = typename On::root;
    using child_on = typename On::child;

    /// What a root gives whose forks yield so often before they end.
    template <typename F, typename... Args>
    auto run(F root, int yields, Args... args) {
        return stage_.run(root(stage_.env, yields, args...));
    }

    typename On::stage_type stage_;
};
TYPED_TEST_SUITE(fork_matrix, coflux_test::combinations, coflux_test::combination_names);

TYPED_TEST(fork_matrix, gives_every_kind_of_result) {
    const auto root = [](coflux::environment&, int yields,
                         coflux::borrowed<int> x) -> coflux::task<void, typename TestFixture::root_on> {
        using child = typename TestFixture::child_on;
        auto&& here = co_await coflux::context();
        auto object = gives<child>(here, yields, [] { return std::string(100, 'a'); });
        auto moved = gives<child>(here, yields, [] { return move_only(7); });
        auto wide = gives<child>(here, yields, [] { return over_aligned(8); });
        auto referent = gives<child>(here, yields, [x]() -> int& { return *x; });
        auto nothing = gives<child>(here, yields, [x] { ++*x; });
        EXPECT_EQ(co_await std::move(object), std::string(100, 'a'));
        const move_only given = co_await std::move(moved);
        EXPECT_EQ(*given.value, 7);
        const over_aligned aligned = co_await std::move(wide);
        EXPECT_TRUE(aligned.is_aligned());
        EXPECT_EQ(aligned.value, 8);
        int& seen = co_await std::move(referent);
        EXPECT_EQ(&seen, &x.get());
        co_await std::move(nothing);
    };
    int x = 0;
    for (const int yields : yields_before_the_end) this->run(root, yields, coflux::borrowed(x));
    EXPECT_EQ(x, 2);
}

template <typename E>
coflux::fork<bool, E> has_over_aligned(auto&&, over_aligned parameter, int yields) {
    const over_aligned local(parameter.value);
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    const over_aligned* const volatile seen = &local;  // the compiler takes the alignment of a local for granted
    co_return parameter.is_aligned() && seen->is_aligned() && seen->value == 9 && parameter.value == 9;
}

TYPED_TEST(fork_matrix, keeps_over_aligned_parameters_and_locals_aligned) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<bool, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = has_over_aligned<typename TestFixture::child_on>(here, over_aligned(9), yields);
        co_return co_await std::move(f);
    };
    for (const int yields : yields_before_the_end) EXPECT_TRUE(this->run(root, yields));
}

TYPED_TEST(fork_matrix, throws_the_error_at_the_await_of_the_handle_and_of_each_view) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = gives<typename TestFixture::child_on>(here, yields, []() -> int { throw std::runtime_error("f"); });
        const auto view = f.view();
        int caught = 0;
        for (int i = 0; i < 3; ++i) {
            try {
                co_await view;
            } catch (const std::runtime_error&) {
                ++caught;
            }
        }
        try {
            co_await std::move(f);
        } catch (const std::runtime_error&) {
            ++caught;
        }
        co_return caught;
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 4);
}

TYPED_TEST(fork_matrix, runs_to_its_end_when_its_handle_is_dropped) {
    const auto root = [](coflux::environment&, int yields,
                         journal* j) -> coflux::task<void, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        {
            auto dropped = gives<typename TestFixture::child_on>(here, yields, [j] { j->write("dropped"); });
        }
        gives<typename TestFixture::child_on>(here, yields, [j] { j->write("attached"); }).attach();
    };
    for (const int yields : yields_before_the_end) {
        journal j;
        this->run(root, yields, &j);
        lines seen = j.lines();
        std::sort(seen.begin(), seen.end());
        EXPECT_EQ(seen, (lines{"attached", "dropped"}));
    }
}

template <typename E>
coflux::fork<int, E> adds(auto&&, coflux::fork<int, E> other, int x) {
    co_return x + co_await std::move(other);
}

TYPED_TEST(fork_matrix, may_be_awaited_by_a_sibling) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto first = gives<typename TestFixture::child_on>(here, yields, [] { return 40; });
        auto second = adds<typename TestFixture::child_on>(here, std::move(first), 2);
        co_return co_await std::move(second);
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 42);
}

// --- views -----------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<int, E> reads(auto&&, coflux::fork_view<std::string> view) {
    const std::string& text = co_await view;
    co_return static_cast<int>(text.size());
}

TYPED_TEST(fork_matrix, shows_several_siblings_one_result) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = gives<typename TestFixture::child_on>(here, yields, [] { return std::string(10, 'a'); });
        auto a = reads<typename TestFixture::child_on>(here, f.view());
        auto b = reads<typename TestFixture::child_on>(here, f.view());
        const int seen = co_await std::move(a) + co_await std::move(b);
        const std::string own = co_await std::move(f);
        co_return seen + static_cast<int>(own.size());
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 30);
}

TYPED_TEST(fork_matrix, stops_each_that_awaits_a_stopped_fork) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = [](coflux::environment&, int y) -> coflux::fork<std::string, typename TestFixture::child_on> {
            for (int i = 0; i < y; ++i) co_await coflux::yield();
            co_await coflux::this_coroutine::stop();
            co_return "not reached";
        }(here, yields);
        auto a = reads<typename TestFixture::child_on>(here, f.view());
        auto b = reads<typename TestFixture::child_on>(here, f.view());
        const auto of_a = co_await coflux::as_outcome(std::move(a));
        const auto of_b = co_await coflux::as_outcome(std::move(b));
        const auto of_f = co_await coflux::as_outcome(std::move(f));
        co_return of_a.is_stopped() + of_b.is_stopped() + of_f.is_stopped();
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 3);
}

TYPED_TEST(fork_matrix, keeps_the_result_for_a_view_when_the_handle_is_gone) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = gives<typename TestFixture::child_on>(here, yields, [] { return over_aligned(7); });
        const auto view = f.view();
        std::move(f).attach();
        const over_aligned& seen = co_await view;
        EXPECT_TRUE(seen.is_aligned());
        co_return seen.value;
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 7);
}

TYPED_TEST(fork_matrix, goes_back_with_the_last_view) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = gives<typename TestFixture::child_on>(here, yields, [] { return std::string(100, 'a'); });
        { const auto dropped = f.view(); }
        auto view = f.view();
        auto copy = view;
        std::move(f).attach();
        view = std::move(copy);
        auto g = gives<typename TestFixture::child_on>(here, yields, [] { return 5; });
        { const auto dropped = g.view(); }
        co_return co_await std::move(g);
    };
    for (const int yields : yields_before_the_end) {
        EXPECT_EQ(this->run(root, yields), 5);
        EXPECT_EQ(this->stage_.frames().live(), 0U);
    }
}

// --- callbacks -------------------------------------------------------------------------------------------------------

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

enum class way { value, error, stopped };
constexpr way ways[] = {way::value, way::error, way::stopped};
constexpr const char* name_of(way w) {
    return w == way::value ? "value" : w == way::error ? "error" : "stopped";
}

template <typename E>
coflux::fork<int, E> ends_so(auto&&, int yields, journal* j, way end) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    j->write("ends");
    if (end == way::error) throw std::runtime_error("error");
    if (end == way::stopped) co_await coflux::this_coroutine::stop();
    co_return 5;
}

template <typename T>
void tell_all(T& handle, journal* j) {
    handle.on_value([j](int) { j->write("value"); })
        .on_error([j](const std::exception_ptr& error) { j->write(text_of(error)); })
        .on_stopped([j] { j->write("stopped"); });
}

TYPED_TEST(fork_matrix, calls_the_callback_of_its_end_and_no_other_before_its_awaiter_goes_on) {
    const auto root = [](coflux::environment&, int yields, journal* j,
                         way end) -> coflux::task<void, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = ends_so<typename TestFixture::child_on>(here, yields, j, end);
        tell_all(f, j);
        (void)co_await coflux::as_outcome(std::move(f));
        j->write("awaited");
    };
    for (const int yields : yields_before_the_end) {
        for (const way end : ways) {
            journal j;
            this->run(root, yields, &j, end);
            EXPECT_EQ(j.lines(), (lines{"ends", name_of(end), "awaited"})) << yields << " yields";
        }
    }
}

TYPED_TEST(fork_matrix, calls_the_callback_of_its_end_when_its_handle_is_dropped) {
    const auto root = [](coflux::environment&, int yields, journal* j,
                         way end) -> coflux::task<void, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = ends_so<typename TestFixture::child_on>(here, yields, j, end);
        tell_all(f, j);
        std::move(f).attach();
    };
    for (const int yields : yields_before_the_end) {
        for (const way end : ways) {
            journal j;
            this->run(root, yields, &j, end);
            EXPECT_EQ(j.lines(), (lines{"ends", name_of(end)})) << yields << " yields";
        }
    }
}

}  // namespace
