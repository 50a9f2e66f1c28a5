// The surroundings of a root in a core test: executors, an environment whose frames are counted, and a driver.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/executors.hpp"

namespace coflux_test {

/// A root on `Root` whose forks are on `Child`.
template <typename Root, typename Child = Root>
class stage {
    static constexpr bool one = std::is_same_v<Root, Child>;

    // Dies after environment and executors, when every frame has gone back.
    struct frame_check {
        coflux::counting_resource frames;
        ~frame_check() { EXPECT_EQ(frames.live(), 0U) << "frames are left"; }
    };

    template <typename E>
    static E made() {
        if constexpr (std::is_constructible_v<E, std::size_t>) {
            return E(2);
        } else {
            return E();
        }
    }
    static auto environment_of(std::pmr::memory_resource* frames, Root& root, Child& child) {
        if constexpr (one) {
            return coflux::make_environment(frames, root);
        } else {
            return coflux::make_environment(frames, root, child);
        }
    }

    frame_check check_;

public:
    Root root = made<Root>();
    Child child = made<Child>();
    decltype(environment_of(nullptr, root, child)) env = environment_of(&check_.frames, root, child);

    [[nodiscard]] coflux::counting_resource& frames() noexcept { return check_.frames; }

    /// Runs what the test must drive by hand until nothing is queued.
    void drive() {
        for (bool ran = true; ran;) ran = drive(root) || drive(child);
    }

    /// Runs `made` to its end and gives its value.
    template <typename T>
    T run(coflux::task<T, Root> made) {
        drive();
        return made.get();
    }

private:
    template <typename E>
    static bool drive(E& executor) {
        if constexpr (std::is_base_of_v<manual_executor, E>) {
            return executor.run_all() != 0;
        } else {
            return false;
        }
    }
};

template <typename Root, typename Child>
struct on {
    using root = Root;
    using child = Child;
    using stage_type = stage<Root, Child>;
};

/// The fixture of a test that runs on each combination.
template <typename On>
class matrix : public ::testing::Test {
protected:
    using root_on = typename On::root;
    using child_on = typename On::child;

    /// The result of a root whose forks yield so often before they end.
    template <typename F, typename... Args>
    auto run(F root, int yields, Args... args) {
        return stage_.run(root(stage_.env, yields, args...));
    }

    typename On::stage_type stage_;
};

/// The combinations that differ in how a child starts and in what goes on after its end.
using combinations =
    ::testing::Types<on<coflux::noop_executor, coflux::noop_executor>, on<manual_executor, manual_executor>,
                     on<coflux::thread_pool_executor, coflux::thread_pool_executor>,
                     on<manual_executor, coflux::noop_executor>, on<coflux::noop_executor, manual_executor>,
                     on<coflux::thread_pool_executor, coflux::noop_executor>,
                     on<coflux::noop_executor, coflux::thread_pool_executor>>;

struct combination_names {
    template <typename On>
    static std::string GetName(int) {
        return std::string(name<typename On::root>()) + "_root_" + name<typename On::child>() + "_child";
    }

private:
    template <typename E>
    static const char* name() {
        if constexpr (std::is_same_v<E, coflux::noop_executor>) return "noop";
        if constexpr (std::is_base_of_v<manual_executor, E>) return "manual";
        return "pool";
    }
};

/// A fork that yields `yields` times and then gives what `f()` gives. Each F is a coroutine to compile on each
/// executor: functions of one signature are one, a lambda in a typed test is one for each of its types.
template <typename E, typename F>
coflux::fork<std::invoke_result_t<F&>, E> gives(coflux::environment&, int yields, F f) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return f();
}

/// A child that has ended when it is awaited, where it starts inline, and one that has not.
inline constexpr int yields_before_the_end[] = {0, 3};

}  // namespace coflux_test
