// Views where root and child run on each kind of executor, and the child has ended before the await or ends after it.
#include <coflux/core/fork_view.hpp>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::gives;
using coflux_test::over_aligned;
using coflux_test::yields_before_the_end;

template <typename On>
class fork_view_matrix : public coflux_test::matrix<On> {};
TYPED_TEST_SUITE(fork_view_matrix, coflux_test::combinations, coflux_test::combination_names);

// The results of the forks. At namespace scope, so that each is compiled once an executor and not once a combination.
std::string ten_letters() {
    return std::string(10, 'a');
}
std::string hundred_letters() {
    return std::string(100, 'a');
}
over_aligned wide() {
    return over_aligned(7);
}
int five() {
    return 5;
}

template <typename E>
coflux::fork<int, E> reads(auto&&, coflux::fork_view<std::string> view) {
    const std::string& text = co_await view;
    co_return static_cast<int>(text.size());
}

TYPED_TEST(fork_view_matrix, shows_several_siblings_one_result) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = gives<typename TestFixture::child_on>(here, yields, ten_letters);
        auto a = reads<typename TestFixture::child_on>(here, f.view());
        auto b = reads<typename TestFixture::child_on>(here, f.view());
        const int seen = co_await std::move(a) + co_await std::move(b);
        const std::string own = co_await std::move(f);
        co_return seen + static_cast<int>(own.size());
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 30);
}

template <typename E>
coflux::fork<std::string, E> stops(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_await coflux::this_coroutine::stop();
    co_return "not reached";
}

TYPED_TEST(fork_view_matrix, stops_each_that_awaits_a_stopped_fork) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = stops<typename TestFixture::child_on>(here, yields);
        auto a = reads<typename TestFixture::child_on>(here, f.view());
        auto b = reads<typename TestFixture::child_on>(here, f.view());
        const auto of_a = co_await coflux::as_outcome(std::move(a));
        const auto of_b = co_await coflux::as_outcome(std::move(b));
        const auto of_f = co_await coflux::as_outcome(std::move(f));
        co_return of_a.is_stopped() + of_b.is_stopped() + of_f.is_stopped();
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 3);
}

TYPED_TEST(fork_view_matrix, keeps_the_result_for_a_view_when_the_handle_is_gone) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = gives<typename TestFixture::child_on>(here, yields, wide);
        const auto view = f.view();
        std::move(f).attach();
        const over_aligned& seen = co_await view;
        EXPECT_TRUE(seen.is_aligned());
        co_return seen.value;
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 7);
}

TYPED_TEST(fork_view_matrix, goes_back_with_the_last_view) {
    const auto root = [](coflux::environment&, int yields) -> coflux::task<int, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = gives<typename TestFixture::child_on>(here, yields, hundred_letters);
        { const auto dropped = f.view(); }
        auto view = f.view();
        auto copy = view;
        std::move(f).attach();
        view = std::move(copy);
        auto g = gives<typename TestFixture::child_on>(here, yields, five);
        { const auto dropped = g.view(); }
        co_return co_await std::move(g);
    };
    for (const int yields : yields_before_the_end) {
        EXPECT_EQ(this->run(root, yields), 5);
        EXPECT_EQ(this->stage_.frames().live(), 0U);
    }
}

}  // namespace
