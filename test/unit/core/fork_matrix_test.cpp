// Forks where root and child run on each kind of executor, and the child has ended before the await or ends after it;
// fork_view_matrix_test.cpp and callbacks_matrix_test.cpp have their views and callbacks.
#include <coflux/core/fork.hpp>

#include <algorithm>
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
class fork_matrix : public coflux_test::matrix<On> {};
TYPED_TEST_SUITE(fork_matrix, coflux_test::combinations, coflux_test::combination_names);

// The results of the forks. At namespace scope, so that each is compiled once an executor and not once a combination.
std::string hundred_letters() {
    return std::string(100, 'a');
}
move_only moves() {
    return move_only(7);
}
over_aligned wide() {
    return over_aligned(8);
}
int forty() {
    return 40;
}
int fails() {
    throw std::runtime_error("f");
}
struct refers {
    coflux::borrowed<int> to;
    int& operator()() const { return *to; }
};
struct increments {
    coflux::borrowed<int> counter;
    void operator()() const { ++*counter; }
};
struct writes {
    journal* to;
    const char* line;
    void operator()() const { to->write(line); }
};

void expect_every_kind(const std::string& object, const move_only& moved, const over_aligned& aligned, const int& seen,
                       const int& x) {
    EXPECT_EQ(object, std::string(100, 'a'));
    EXPECT_EQ(*moved.value, 7);
    EXPECT_TRUE(aligned.is_aligned());
    EXPECT_EQ(aligned.value, 8);
    EXPECT_EQ(&seen, &x);
}

TYPED_TEST(fork_matrix, gives_every_kind_of_result) {
    const auto root = [](coflux::environment&, int yields,
                         coflux::borrowed<int> x) -> coflux::task<void, typename TestFixture::root_on> {
        using child = typename TestFixture::child_on;
        auto&& here = co_await coflux::context();
        auto object = gives<child>(here, yields, hundred_letters);
        auto moved = gives<child>(here, yields, moves);
        auto aligned = gives<child>(here, yields, wide);
        auto referent = gives<child>(here, yields, refers{x});
        auto nothing = gives<child>(here, yields, increments{x});
        const std::string letters = co_await std::move(object);
        const move_only given = co_await std::move(moved);
        const over_aligned own = co_await std::move(aligned);
        int& seen = co_await std::move(referent);
        co_await std::move(nothing);
        expect_every_kind(letters, given, own, seen, x.get());
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
        auto f = gives<typename TestFixture::child_on>(here, yields, fails);
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
        { auto dropped = gives<typename TestFixture::child_on>(here, yields, writes{j, "dropped"}); }
        gives<typename TestFixture::child_on>(here, yields, writes{j, "attached"}).attach();
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
        auto first = gives<typename TestFixture::child_on>(here, yields, forty);
        auto second = adds<typename TestFixture::child_on>(here, std::move(first), 2);
        co_return co_await std::move(second);
    };
    for (const int yields : yields_before_the_end) EXPECT_EQ(this->run(root, yields), 42);
}

}  // namespace
