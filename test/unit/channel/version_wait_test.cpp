#include <coflux/channel/detail/version_wait.hpp>

#include <coroutine>
#include <source_location>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "unit/core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux::detail::promise_base;
using coflux::detail::slot_version;
using coflux_test::manual_executor;
using coflux_test::stage;

void publish(slot_version& n) {
    n.lock();
    coflux::detail::wait_operation* const all = n.publish();
    n.unlock();
    coflux::detail::wake_all(all);
}
void end(slot_version& n) {
    n.lock();
    coflux::detail::wait_operation* const all = n.end();
    n.unlock();
    coflux::detail::wake_all(all);
}

/// A wait for more than what has been seen, with something that happens after it was found that there is nothing.
struct look_out {
    slot_version& of;
    void (*meanwhile)(slot_version&) = nullptr;

    class [[nodiscard]] awaiter : coflux::detail::version_wait {
    public:
        awaiter(promise_base& p, look_out& from) noexcept
            : version_wait(p, from.of, slot_version::after(from.of.published())),
              from_(from) {}
        [[nodiscard]] bool await_ready() const noexcept { return is_there(); }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
            if (from_.meanwhile != nullptr) from_.meanwhile(from_.of);
            return wait();
        }
        void await_resume() noexcept { resumed(); }

    private:
        look_out& from_;
    };
    awaiter await_in(promise_base& p, std::source_location) noexcept { return awaiter(p, *this); }
};

coflux::task<void, manual_executor> looks(coflux::environment&, borrowed<look_out> l) {
    co_await *l;
}

TEST(slot_version, wakes_the_waiters_for_the_next_and_for_the_end) {
    for (auto* const tell : {&publish, &end}) {
        stage<manual_executor> s;
        slot_version n;
        look_out l{n};
        auto t = looks(s.env, borrowed(l));
        s.drive();
        EXPECT_FALSE(t.done());
        tell(n);
        s.drive();
        EXPECT_TRUE(t.done());
        t.get();
    }
}

TEST(slot_version, that_changes_between_the_look_and_the_wait_is_found) {
    for (auto* const tell : {&publish, &end}) {
        stage<manual_executor> s;
        slot_version n;
        look_out l{n, tell};
        auto t = looks(s.env, borrowed(l));
        s.drive();
        EXPECT_TRUE(t.done());
        if (!t.done()) publish(n);  // lets a failure end
        s.drive();
        t.get();
    }
}

TEST(slot_version, counts_what_was_published_and_keeps_the_end) {
    slot_version n;
    publish(n);
    publish(n);
    EXPECT_EQ(n.published(), 2U);
    EXPECT_EQ(n.word(), slot_version::after(2));
    end(n);
    EXPECT_EQ(n.published(), 2U);
    EXPECT_EQ(n.word(), slot_version::after(2) | slot_version::ended);
}

}  // namespace
