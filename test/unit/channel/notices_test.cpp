#include <coflux/channel/detail/notices.hpp>

#include <coroutine>
#include <source_location>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "unit/core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux::detail::notices;
using coflux::detail::promise_base;
using coflux_test::manual_executor;
using coflux_test::stage;

void publish(notices& n) {
    n.lock();
    coflux::detail::wait_operation* const all = n.publish();
    n.unlock();
    coflux::detail::wake_all(all);
}
void end(notices& n) {
    n.lock();
    coflux::detail::wait_operation* const all = n.end();
    n.unlock();
    coflux::detail::wake_all(all);
}

/// A wait for more than what has been seen, with something that happens after it was found that there is nothing.
struct look_out {
    notices& of;
    void (*meanwhile)(notices&) = nullptr;

    class [[nodiscard]] awaiter : coflux::detail::notice_wait {
    public:
        awaiter(promise_base& p, look_out& from) noexcept
            : notice_wait(p, from.of, notices::after(from.of.published())),
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
    awaiter await_in(promise_base& p, std::source_location where) noexcept {
        p.set_await_location(where);
        return awaiter(p, *this);
    }
};

coflux::task<void, manual_executor> looks(coflux::environment&, borrowed<look_out> l) {
    co_await *l;
}

TEST(notices, wake_who_waits_for_the_next_or_for_the_end) {
    for (auto* const tell : {&publish, &end}) {
        stage<manual_executor> s;
        notices n;
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

TEST(notices, that_come_between_the_look_and_the_wait_are_found) {
    for (auto* const tell : {&publish, &end}) {
        stage<manual_executor> s;
        notices n;
        look_out l{n, tell};
        auto t = looks(s.env, borrowed(l));
        s.drive();
        EXPECT_TRUE(t.done());
        if (!t.done()) publish(n);  // lets a failure end
        s.drive();
        t.get();
    }
}

TEST(notices, count_what_was_published_and_keep_the_end) {
    notices n;
    publish(n);
    publish(n);
    EXPECT_EQ(n.published(), 2U);
    EXPECT_EQ(n.word(), notices::after(2));
    end(n);
    EXPECT_EQ(n.published(), 2U);
    EXPECT_EQ(n.word(), notices::after(2) | notices::ended);
}

}  // namespace
