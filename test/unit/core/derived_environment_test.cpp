// The objects that a derived environment names are used for the last time before its scope is joined.
#include <coflux/core/environment_object.hpp>

#include <coroutine>
#include <memory>
#include <thread>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"

namespace {

using coflux_test::manual_executor;

/// Named by the derived environment alone.
class inner_executor : public manual_executor {};
/// The second looker's.
class late_executor : public manual_executor {};

/// Whenever it is given a coroutine, another thread runs what `others` has before execute() returns, as it may at any
/// time.
class overtaken_executor {
public:
    explicit overtaken_executor(manual_executor& others) noexcept : others_(others) {}

    void execute(std::coroutine_handle<> h) noexcept {
        own_.execute(h);
        std::thread([this] { others_.run_all(); }).join();
    }
    void run_all() { own_.run_all(); }

private:
    manual_executor own_;
    manual_executor& others_;
};
static_assert(coflux::executor<overtaken_executor>);

coflux::fork<int, inner_executor> child_of_the_derived(coflux::environment&) {
    co_return 7;
}

template <typename E>
coflux::fork<int, E> looks(coflux::environment&, coflux::fork_view<int> at) {
    co_return co_await at;
}

coflux::task<int, manual_executor> destroys_it_once_joined(coflux::environment&, coflux::borrowed<inner_executor> inner,
                                                           coflux::borrowed<bool> destroyed) {
    auto&& here = co_await coflux::context();
    using derived = decltype(coflux::make_environment(here, inner.get()));
    // On the heap: what reads it afterwards reads freed memory.
    auto sub = std::unique_ptr<derived>(new derived(&here, inner.get()));
    auto child = child_of_the_derived(*sub);
    auto first = looks<overtaken_executor>(here, child.view());
    auto second = looks<late_executor>(here, child.view());
    co_await sub->join();
    sub.reset();
    destroyed.get() = true;
    co_return co_await std::move(first) + co_await std::move(second) + co_await std::move(child);
}

TEST(derived_environment, is_not_joined_before_a_child_has_woken_all_that_wait_for_it_elsewhere) {
    manual_executor outer;
    overtaken_executor overtaken(outer);
    inner_executor inner;
    late_executor late;
    auto env = coflux::make_environment(outer, overtaken, late);
    bool destroyed = false;
    auto t = destroys_it_once_joined(env, coflux::borrowed(inner), coflux::borrowed(destroyed));
    outer.run_all();      // the root makes child and lookers, and waits in join()
    overtaken.run_all();  // the first looker waits
    late.run_all();       // and the second, which is woken after it
    ASSERT_EQ(inner.pending(), 1U);
    ASSERT_FALSE(destroyed);
    inner.run_all();  // the child ends and wakes the first looker, during which the root may go on if it can
    while (!t.done()) {
        outer.run_all();
        overtaken.run_all();
        late.run_all();
    }
    EXPECT_TRUE(destroyed);
    EXPECT_EQ(t.get(), 21);
}

}  // namespace
