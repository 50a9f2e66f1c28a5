// A stop from above that ends the operands of a combinator: the result tells of it, so the coroutine that awaits the
// result has cut nothing off. Whatever the operands are, wherever they are, and whichever ends first.
#include <coflux/combine/when_all_outcomes.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/operations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux_test::combinator;
using sim_fork = coflux::fork<void, sim_executor>;
using sim_task = coflux::task<void, sim_executor>;
using std::chrono::milliseconds;

/// The operand of a combinator. The coroutine that awaits the combinator makes it.
enum class operand : unsigned char { fork, viewed_fork, borrowing_fork, task, call, sleep };
constexpr const char* names[] = {"a fork", "a fork with a view", "a fork that borrows", "a task", "a call", "a sleep"};

sim_fork works(coflux::environment&, milliseconds d) {
    co_await coflux::sleep_for(d);
}
sim_fork works_on(coflux::environment&, borrowed<milliseconds> d) {
    co_await coflux::sleep_for(*d);
}
sim_task works_as_task(coflux::environment&, milliseconds d) {
    co_await coflux::sleep_for(d);
}
coflux::call<void> works_as_call(coflux::environment&, milliseconds d) {
    co_await coflux::sleep_for(d);
}

template <operand Of>
auto made(coflux::environment& here, milliseconds& d) {
    if constexpr (Of == operand::borrowing_fork) {
        return works_on(here, borrowed(d));
    } else if constexpr (Of == operand::task) {
        return works_as_task(here, d);
    } else if constexpr (Of == operand::call) {
        return works_as_call(here, d);
    } else if constexpr (Of == operand::sleep) {
        return coflux::sleep_for(d);
    } else {
        auto f = works(here, d);
        if constexpr (Of == operand::viewed_fork) (void)f.view();
        return f;
    }
}
template <operand Of>
constexpr bool is_handle = Of != operand::call && Of != operand::sleep;

template <operand Of>
auto range_of(coflux::environment& here, milliseconds* d) {
    std::vector<decltype(made<Of>(here, *d))> range;
    for (int i = 0; i != 3; ++i) range.push_back(made<Of>(here, d[i]));
    return range;
}

/// An operand that gives no outcome itself, in a coroutine that may be awaited as one.
template <operand Of>
sim_fork limits(coflux::environment&, combinator c, milliseconds* d) {
    auto&& here = co_await coflux::context();
    if (c == combinator::select) {
        (void)co_await coflux::select(made<Of>(here, d[0]), made<Of>(here, d[1]), made<Of>(here, d[2]));
    } else if (c == combinator::timeout) {
        (void)co_await coflux::timeout(made<Of>(here, d[1]), 1h);
    } else {
        (void)co_await coflux::deadline(made<Of>(here, d[1]), coflux::clock::now() + 1h);
    }
}

struct trial {
    combinator c{};
    bool in_range = false;
    bool in_object = false;  ///< the operands are made in an environment object of the coroutine
    milliseconds lasts[3]{};
};

/// Awaits the end of a combinator as a value, and gives one.
template <operand Of>
sim_fork is_told(coflux::environment&, const trial* t, bool* told) {
    auto&& here = co_await coflux::context();
    const combinator c = t->c;
    const bool in_range = t->in_range;
    milliseconds d[] = {t->lasts[0], t->lasts[1], t->lasts[2]};
    auto sub = coflux::make_environment(here);
    coflux::environment& in = t->in_object ? static_cast<coflux::environment&>(sub) : here;
    if constexpr (is_handle<Of>) {
        if (in_range && c == combinator::when_all) {
            (void)co_await coflux::as_outcome(coflux::when_all(range_of<Of>(in, d)));
        } else if (in_range && c == combinator::when_all_outcomes) {
            (void)co_await coflux::when_all_outcomes(range_of<Of>(in, d));
        } else if (c == combinator::when_n) {
            (void)co_await coflux::as_outcome(coflux::when_n(range_of<Of>(in, d), 2));
        } else if (c == combinator::for_each_concurrent) {
            static constexpr auto itself = [](auto&& h) { return std::forward<decltype(h)>(h); };
            (void)co_await coflux::as_outcome(coflux::for_each_concurrent(range_of<Of>(in, d), 3, itself));
        }
    }
    switch (c) {
    case combinator::when_all:
        if (!in_range) {
            (void)co_await coflux::as_outcome(
                coflux::when_all(made<Of>(in, d[0]), made<Of>(in, d[1]), made<Of>(in, d[2])));
        }
        break;
    case combinator::when_all_outcomes:
        if (!in_range)
            (void)co_await coflux::when_all_outcomes(made<Of>(in, d[0]), made<Of>(in, d[1]), made<Of>(in, d[2]));
        break;
    case combinator::when_any:
        (void)co_await coflux::as_outcome(coflux::when_any(made<Of>(in, d[0]), made<Of>(in, d[1]), made<Of>(in, d[2])));
        break;
    case combinator::race:
        (void)co_await coflux::as_outcome(coflux::race(made<Of>(in, d[0]), made<Of>(in, d[1]), made<Of>(in, d[2])));
        break;
    case combinator::first_success:
        (void)co_await coflux::as_outcome(
            coflux::first_success(made<Of>(in, d[0]), made<Of>(in, d[1]), made<Of>(in, d[2])));
        break;
    case combinator::as_outcome:
        if constexpr (Of != operand::sleep) (void)co_await coflux::as_outcome(made<Of>(in, d[1]));
        break;
    case combinator::timeout:
    case combinator::deadline:
    case combinator::select: (void)co_await coflux::as_outcome(limits<Of>(in, c, d)); break;
    case combinator::when_n:
    case combinator::for_each_concurrent: break;
    }
    co_await sub.join();
    *told = true;
}

template <operand Of>
sim_task stops(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    bool told = false;
    sim_fork f = is_told<Of>(here, &*t, &told);
    co_await 10ms;
    f.request_stop();
    const auto o = co_await coflux::as_outcome(std::move(f));
    EXPECT_TRUE(told && o.has_value()) << name_of(t->c) << " of " << names[static_cast<std::size_t>(Of)]
                                       << (t->in_range ? ", in a range" : "")
                                       << (t->in_object ? ", of an environment object" : "") << ", of which one lasts "
                                       << t->lasts[0].count() << ", " << t->lasts[1].count() << ", "
                                       << t->lasts[2].count() << " ms";
}

/// In several orders of what is ready at the same time: the operands then end in several orders, too.
template <typename Root, typename... Args>
void simulate(Root root, Args... args) {
    for (std::uint64_t seed = 0; seed != 8; ++seed) {
        coflux::testing::random_chooser in_any_order(seed);
        coflux::testing::simulation sim(in_any_order);
        sim_executor executor;
        auto env = coflux::make_environment(executor);
        root(env, args...).get();
    }
}

template <typename Of>
class cut_off_operands : public testing::Test {};
template <operand Of>
using of = std::integral_constant<operand, Of>;
using all_operands = testing::Types<of<operand::fork>, of<operand::viewed_fork>, of<operand::borrowing_fork>,
                                    of<operand::task>, of<operand::call>, of<operand::sleep>>;
TYPED_TEST_SUITE(cut_off_operands, all_operands);

TYPED_TEST(cut_off_operands, are_told_of_by_every_combinator) {
    for (std::size_t c = 0; c != coflux_test::combinators; ++c) {
        for (const bool in_range : {false, true}) {
            for (const bool in_object : {false, true}) {
                for (std::size_t ends = 0; ends != 4; ++ends) {  // this one before the stop, if there is one
                    trial t{static_cast<combinator>(c), in_range, in_object, {1h, 1h, 1h}};
                    if (ends != 3) t.lasts[ends] = 5ms;
                    simulate(stops<TypeParam::value>, borrowed(t));
                }
            }
        }
    }
}

// --- before the await, and beside an error ---------------------------------------------------------------------------

coflux::call<void> goes_on_for(coflux::environment&, milliseconds d) {
    co_await coflux::shielded(coflux::sleep_for(d));
}
/// It is asked to stop before it awaits what then begins, and ends stopped.
sim_fork begins_late(coflux::environment&, bool* told) {
    auto&& here = co_await coflux::context();
    co_await goes_on_for(here, 20ms);
    const auto [x, y] = co_await coflux::when_all_outcomes(works_as_call(here, 1h), works_as_call(here, 1h));
    *told = x.is_stopped() && y.is_stopped();
}
/// The error wins over the stop of the other operands, and tells that not all were finished.
sim_fork fails_late(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await goes_on_for(here, 20ms);
    throw std::runtime_error("late");
}
template <std::size_t Fails>
sim_fork catches(coflux::environment&, bool* told) {
    auto&& here = co_await coflux::context();
    const auto made_at = [&here](std::size_t i) { return i == Fails ? fails_late(here) : works(here, 1h); };
    try {
        auto a = made_at(0);
        auto b = made_at(1);
        auto c = made_at(2);
        co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    } catch (const std::runtime_error&) {
        *told = true;
    }
}

sim_task stops_late(coflux::environment&, sim_fork (*root)(coflux::environment&, bool*)) {
    auto&& here = co_await coflux::context();
    bool told = false;
    sim_fork f = root(here, &told);
    co_await 10ms;
    f.request_stop();
    const auto o = co_await coflux::as_outcome(std::move(f));
    EXPECT_TRUE(told && o.has_value());
}

TEST(cut_off, is_no_operand_that_begins_when_its_awaiter_has_been_asked_to_stop) {
    simulate(stops_late, &begins_late);
}

TEST(cut_off, is_no_operand_beside_one_whose_error_is_thrown) {
    simulate(stops_late, &catches<0>);
    simulate(stops_late, &catches<1>);
    simulate(stops_late, &catches<2>);
}

}  // namespace
