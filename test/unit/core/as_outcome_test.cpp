#include <coflux/core/as_outcome.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/failing_resource.hpp>

#include "stage.hpp"
#include "support/executors.hpp"
#include "support/foreign_event.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::foreign_event;
using coflux_test::gives;
using coflux_test::journal;
using coflux_test::manual_executor;
using coflux_test::move_only;
using coflux_test::stage;
using coflux_test::yields_before_the_end;
using noop = coflux::noop_executor;
using lines = std::vector<std::string>;

template <typename O>
std::string text_of(O&& o) {
    if (o.is_stopped()) return "stopped";
    try {
        return std::to_string(std::forward<O>(o).value());
    } catch (const std::runtime_error& e) {
        return e.what();
    }
}

template <typename E>
coflux::fork<int, E> fork_that(coflux::environment&, int yields, int way) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    if (way == 1) throw std::runtime_error("error");
    if (way == 2) co_await coflux::this_coroutine::stop();
    co_return 0;
}
template <typename E>
coflux::task<int, E> task_that(coflux::environment&, int yields, int way) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    if (way == 1) throw std::runtime_error("error");
    if (way == 2) co_await coflux::this_coroutine::stop();
    co_return 0;
}
coflux::call<int> call_that(coflux::environment&, int yields, int way) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    if (way == 1) throw std::runtime_error("error");
    if (way == 2) co_await coflux::this_coroutine::stop();
    co_return 0;
}

template <typename On>
class as_outcome_on : public ::testing::Test {
protected:
    using root_on = typename On::root;
    using child_on = typename On::child;

    typename On::stage_type stage_;
};
TYPED_TEST_SUITE(as_outcome_on, coflux_test::combinations, coflux_test::combination_names);

const char* const expected[] = {"0", "error", "stopped"};

TYPED_TEST(as_outcome_on, gives_each_end_of_a_fork) {
    const auto root = [](coflux::environment&, int yields,
                         int way) -> coflux::task<std::string, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = fork_that<typename TestFixture::child_on>(here, yields, way);
        auto o = co_await coflux::as_outcome(std::move(f));
        EXPECT_FALSE(f.valid());
        co_return text_of(std::move(o));
    };
    for (const int yields : yields_before_the_end) {
        for (int way = 0; way < 3; ++way)
            EXPECT_EQ(this->stage_.run(root(this->stage_.env, yields, way)), expected[way]) << yields << " yields";
    }
}

TYPED_TEST(as_outcome_on, gives_each_end_of_a_task) {
    const auto root = [](coflux::environment&, int yields,
                         int way) -> coflux::task<std::string, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto t = task_that<typename TestFixture::child_on>(here, yields, way);
        auto o = co_await coflux::as_outcome(std::move(t));
        co_return text_of(std::move(o));
    };
    for (const int yields : yields_before_the_end) {
        for (int way = 0; way < 3; ++way)
            EXPECT_EQ(this->stage_.run(root(this->stage_.env, yields, way)), expected[way]) << yields << " yields";
    }
}

TYPED_TEST(as_outcome_on, gives_each_end_of_a_call) {
    const auto root = [](coflux::environment&, int yields,
                         int way) -> coflux::task<std::string, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto o = co_await coflux::as_outcome(call_that(here, yields, way));
        co_return text_of(std::move(o));
    };
    for (const int yields : yields_before_the_end) {
        for (int way = 0; way < 3; ++way)
            EXPECT_EQ(this->stage_.run(root(this->stage_.env, yields, way)), expected[way]) << yields << " yields";
    }
}

TEST(as_outcome, gives_results_that_can_only_be_moved_refer_or_are_void) {
    stage<noop> s;
    const auto root = [](coflux::environment&, coflux::borrowed<int> x) -> coflux::task<void, noop> {
        auto&& here = co_await coflux::context();
        auto moved = co_await coflux::as_outcome(gives<noop>(here, 0, [] { return move_only(7); }));
        const move_only taken = std::move(moved).value();
        EXPECT_EQ(*taken.value, 7);
        auto refers = co_await coflux::as_outcome(gives<noop>(here, 0, [x]() -> int& { return *x; }));
        EXPECT_EQ(&std::move(refers).value(), &x.get());
        const auto nothing = co_await coflux::as_outcome(gives<noop>(here, 0, [x] { ++*x; }));
        EXPECT_TRUE(nothing.has_value());
    };
    int x = 0;
    s.run(root(s.env, coflux::borrowed(x)));
    EXPECT_EQ(x, 1);
}

TEST(as_outcome, keeps_the_stop_of_a_child_from_its_awaiter_only_once) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto inner = [](coflux::environment&, journal* l) -> coflux::fork<void, manual_executor> {
            auto&& within = co_await coflux::context();
            const auto first = co_await coflux::as_outcome(fork_that<manual_executor>(within, 1, 2));
            EXPECT_TRUE(first.is_stopped());
            l->write("goes on");
            (void)co_await fork_that<manual_executor>(within, 1, 2);
            l->write("not reached");
        }(here, log);
        const auto second = co_await coflux::as_outcome(std::move(inner));
        EXPECT_TRUE(second.is_stopped());
    };
    s.run(root(s.env, &j));
    EXPECT_EQ(j.lines(), lines{"goes on"});
}

TEST(as_outcome, is_a_stop_point_of_a_coroutine_whose_stop_was_requested) {
    stage<manual_executor> s;
    journal j;
    const auto root = [](coflux::environment&, journal* log) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        auto child = fork_that<manual_executor>(here, 3, 0);
        here.request_stop();
        (void)co_await coflux::as_outcome(std::move(child));
        log->write("not reached");
    };
    auto t = root(s.env, &j);
    s.drive();
    EXPECT_THROW(t.get(), coflux::task_stopped);
    EXPECT_EQ(j.lines(), lines{});
}

TEST(as_outcome, gives_the_error_of_an_operation_that_cannot_be_made) {
    stage<manual_executor> s;
    const auto root = [](coflux::environment&) -> coflux::task<int, manual_executor> {
        const auto none = [] { return std::vector<coflux::fork<int, manual_executor>>(); };
        int errors = 0;
        errors += (co_await coflux::as_outcome(coflux::when_any(none()))).has_error() ? 1 : 0;
        errors += (co_await coflux::as_outcome(coflux::race(none()))).has_error() ? 1 : 0;
        errors += (co_await coflux::as_outcome(coflux::first_success(none()))).has_error() ? 1 : 0;
        errors += (co_await coflux::as_outcome(coflux::when_n(none(), 1))).has_error() ? 1 : 0;
        const std::vector<int> numbers{1, 2};
        const auto nothing = [](int) {};
        errors += (co_await coflux::as_outcome(coflux::for_each_concurrent(numbers, 0, nothing))).has_error() ? 1 : 0;
        co_return errors;
    };
    auto t = root(s.env);
    s.drive();
    EXPECT_EQ(t.get(), 5);
}

coflux::call<void> waits_for(coflux::environment&, coflux::manual_reset_event* never) {
    co_await never->wait();
}
TEST(as_outcome, goes_on_with_the_stop_of_a_call_that_comes_while_it_waits_and_stops_with_an_operation) {
    stage<manual_executor> s;
    journal j;
    coflux::manual_reset_event never;
    const auto root = [](coflux::environment&, journal* log,
                         coflux::manual_reset_event* event) -> coflux::task<void, manual_executor> {
        auto&& here = co_await coflux::context();
        const auto end = co_await coflux::as_outcome(waits_for(here, event));
        log->write(end.is_stopped() ? "stopped" : "ended");
    };
    const auto other = [](coflux::environment&, journal* log,
                          coflux::manual_reset_event* event) -> coflux::task<void, manual_executor> {
        (void)co_await coflux::as_outcome(event->wait());
        log->write("not reached");
    };
    auto first = root(s.env, &j, &never);
    auto second = other(s.env, &j, &never);
    s.drive();
    first.request_stop();
    second.request_stop();
    s.drive();
    EXPECT_NO_THROW(first.get());
    EXPECT_THROW(second.get(), coflux::task_stopped);
    EXPECT_EQ(j.lines(), lines{"stopped"});
}

struct ready_with_reference {
    int* x;
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int& await_resume() const noexcept { return *x; }
};
struct fails_to_resume {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int await_resume() const { throw std::runtime_error("foreign"); }
};

TEST(as_outcome, takes_what_coflux_does_not_know) {
    stage<manual_executor> s;
    foreign_event event;
    const auto root = [](coflux::environment&, coflux::borrowed<foreign_event> e,
                         coflux::borrowed<int> x) -> coflux::task<void, manual_executor> {
        auto refers = co_await coflux::as_outcome(ready_with_reference{&x.get()});
        EXPECT_EQ(&std::move(refers).value(), &x.get());
        auto failed = co_await coflux::as_outcome(fails_to_resume{});
        EXPECT_TRUE(failed.has_error());
        EXPECT_EQ(text_of(std::move(failed)), "foreign");
        const auto waited = co_await coflux::as_outcome(*e);
        EXPECT_TRUE(waited.has_value());
    };
    int x = 0;
    auto t = root(s.env, coflux::borrowed(event), coflux::borrowed(x));
    s.drive();
    EXPECT_FALSE(t.done());
    event.set();
    s.drive();
    EXPECT_TRUE(t.done());
    t.get();
}

/// Throws at the point that the test names.
enum class throws_in { co_await_operator, ready, suspend, resume };
struct throwing_awaiter {
    throws_in where;
    bool await_ready() const {
        if (where == throws_in::ready) throw std::runtime_error("ready");
        return false;
    }
    bool await_suspend(std::coroutine_handle<>) const {
        if (where == throws_in::suspend) throw std::runtime_error("suspend");
        return false;
    }
    int await_resume() const {
        if (where == throws_in::resume) throw std::runtime_error("resume");
        return 1;
    }
};
struct throwing_awaitable {
    throws_in where;
    throwing_awaiter operator co_await() const {
        if (where == throws_in::co_await_operator) throw std::runtime_error("operator");
        return {where};
    }
};

TYPED_TEST(as_outcome_on, gives_what_a_foreign_await_throws_wherever_it_throws) {
    const auto root = [](coflux::environment&, int,
                         throws_in where) -> coflux::task<std::string, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto o = co_await coflux::as_outcome(throwing_awaitable{where});
        // The coroutine still is the current one: what it makes is its own, and is awaited as ever.
        auto child = fork_that<typename TestFixture::child_on>(here, 1, 0);
        EXPECT_EQ(co_await std::move(child), 0);
        co_return text_of(std::move(o));
    };
    const char* const texts[] = {"operator", "ready", "suspend", "resume"};
    for (int where = 0; where < 4; ++where)
        EXPECT_EQ(this->stage_.run(root(this->stage_.env, 0, static_cast<throws_in>(where))), texts[where]);
}

using fails_twice_on = coflux::noop_executor;

/// Two errors come together, and lie in outcomes while others are thrown.
coflux::fork<int, fails_twice_on> fails_twice(coflux::environment&, const char* first, const char* second) {
    auto&& here = co_await coflux::context();
    const auto fails = [](coflux::environment&, const char* text) -> coflux::fork<int, fails_twice_on> {
        throw std::runtime_error(text);
        co_return 0;
    };
    auto one = fails(here, first);
    auto two = fails(here, second);
    const int sum = co_await std::move(one);
    co_return sum + co_await std::move(two);
}
std::vector<std::string> texts_of(const coflux::outcome<int>& o) {
    std::vector<std::string> all;
    const auto add = [&all](const std::exception_ptr& e) {
        try {
            std::rethrow_exception(e);
        } catch (const std::exception& caught) {
            all.emplace_back(caught.what());
        }
    };
    add(o.error());
    for (const std::exception_ptr& e : o.other_errors()) add(e);
    return all;
}
TEST(as_outcome, keeps_what_came_with_an_error_while_others_are_thrown) {
    using texts = std::vector<std::string>;
    auto env = coflux::make_environment();
    [](coflux::environment&) -> coflux::task<void, fails_twice_on> {
        auto&& here = co_await coflux::context();
        auto p = co_await coflux::as_outcome(fails_twice(here, "a", "b"));
        auto q = co_await coflux::as_outcome(fails_twice(here, "c", "d"));
        EXPECT_EQ(texts_of(p), (texts{"a", "b"}));
        EXPECT_EQ(texts_of(q), (texts{"c", "d"}));
        for (auto* const o : {&p, &q}) {
            try {
                (void)o->value();
                ADD_FAILURE();
            } catch (const std::runtime_error&) {
                EXPECT_EQ(coflux::other_errors().size(), 1U);
            }
        }
        // An error that is thrown on takes it along.
        const auto throws_on = [](coflux::environment&, coflux::outcome<int> o) -> coflux::fork<int, fails_twice_on> {
            co_return std::move(o).value();
        };
        auto r = co_await coflux::as_outcome(throws_on(here, std::move(p)));
        EXPECT_EQ(texts_of(r), (texts{"a", "b"}));
        EXPECT_TRUE(coflux::outcome<int>(coflux::stopped).other_errors().empty());
    }(env)
                                    .get();
}

TEST(as_outcome, gives_bad_alloc_where_there_is_no_memory_to_wait_with) {
    coflux::testing::failing_resource frames;
    {
        manual_executor by_hand;
        auto env = coflux::make_environment(&frames, by_hand);
        const auto root =
            [](coflux::environment&,
               coflux::borrowed<coflux::testing::failing_resource> memory) -> coflux::task<int, manual_executor> {
            auto&& here = co_await coflux::context();
            auto child = fork_that<manual_executor>(here, 3, 0);
            child.on_value([](const auto&) {});  // it waits in a list from now on
            memory->fail_at(1);
            auto o = co_await coflux::as_outcome(std::move(child));
            EXPECT_TRUE(o.has_error());
            EXPECT_EQ(memory->failures(), 1U);
            EXPECT_TRUE(child.valid());
            const auto again = co_await coflux::as_outcome(std::move(child));
            co_return again.has_value();
        };
        auto t = root(env, coflux::borrowed(frames));
        by_hand.run_all();
        EXPECT_EQ(t.get(), 1);
    }
    EXPECT_EQ(frames.live(), 0U);
}

}  // namespace
