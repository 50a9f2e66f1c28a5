#include <coflux/channel/detail/permits.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <source_location>
#include <thread>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/executors.hpp"
#include "support/iterations.hpp"
#include "unit/core/stage.hpp"

namespace {

using coflux::borrowed;
using coflux::detail::permits;
using coflux::detail::promise_base;
using coflux_test::manual_executor;
using coflux_test::stage;

/// A wait for a permit, with something that happens after it was found that there is none.
struct wish {
    permits& from;
    void (*meanwhile)(wish&) = nullptr;
    promise_base* self = nullptr;

    class [[nodiscard]] awaiter : coflux::detail::permit_wait {
    public:
        awaiter(promise_base& p, wish& of) noexcept : permit_wait(p, of.from), of_(of) { of.self = &p; }
        [[nodiscard]] bool await_ready() noexcept { return is_there(); }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
            if (of_.meanwhile != nullptr) of_.meanwhile(of_);
            return wait();
        }
        bool await_resume() noexcept { return resumed(); }

    private:
        wish& of_;
    };
    awaiter await_in(promise_base& p, std::source_location) noexcept { return awaiter(p, *this); }
};

coflux::task<bool, manual_executor> gets(coflux::environment&, borrowed<wish> w) {
    co_return co_await *w;
}

TEST(permits, that_come_back_between_the_look_and_the_wait_are_found) {
    stage<manual_executor> s;
    permits p(1);
    ASSERT_EQ(p.try_acquire(), permits::answer::granted);
    wish w{p, [](wish& of) { EXPECT_FALSE(of.from.release(1)); }};
    auto t = gets(s.env, borrowed(w));
    s.drive();
    ASSERT_TRUE(t.done());
    EXPECT_TRUE(t.get());
    EXPECT_EQ(p.try_acquire(), permits::answer::none);
}

TEST(permits, that_are_closed_between_the_look_and_the_wait_are_refused) {
    stage<manual_executor> s;
    permits p(1);
    ASSERT_EQ(p.try_acquire(), permits::answer::granted);
    wish w{p, [](wish& of) { EXPECT_FALSE(of.from.close()); }};
    auto t = gets(s.env, borrowed(w));
    s.drive();
    ASSERT_TRUE(t.done());
    EXPECT_FALSE(t.get());
    EXPECT_TRUE(p.release(1)) << "closed, and all are back";
}

TEST(permits, go_on_after_a_stop_has_taken_the_only_wait) {
    for (const bool before : {false, true}) {
        stage<manual_executor> s;
        permits p(1);
        ASSERT_EQ(p.try_acquire(), permits::answer::granted);
        wish w{p, before ? [](wish& of) { of.self->request_stop(); } : static_cast<void (*)(wish&)>(nullptr)};
        auto t = gets(s.env, borrowed(w));
        s.drive();
        t.request_stop();
        s.drive();
        EXPECT_THROW((void)t.get(), coflux::task_stopped);
        EXPECT_FALSE(p.release(1));
        EXPECT_EQ(p.try_acquire(), permits::answer::granted);
    }
}

TEST(permits, are_closed_for_good_once_and_by_the_last_that_comes_back) {
    permits p(2);
    ASSERT_EQ(p.try_acquire(), permits::answer::granted);
    ASSERT_EQ(p.try_acquire(), permits::answer::granted);
    EXPECT_FALSE(p.close());
    EXPECT_FALSE(p.close());
    EXPECT_EQ(p.try_acquire(), permits::answer::closed);
    EXPECT_FALSE(p.release(1));
    EXPECT_TRUE(p.release(1));
    permits unused(2);
    EXPECT_TRUE(unused.close());
}

TEST(permits, given_to_a_waiting_sender_while_they_are_closed_show_in_the_count) {
    std::atomic<permits*> shared{nullptr};
    std::atomic<bool> last{false};
    std::atomic<bool> ends{false};
    std::jthread closer([&] {
        for (;;) {
            permits* p = nullptr;
            for (std::size_t looks = 1; (p = shared.load(std::memory_order_acquire)) == nullptr; ++looks) {
                if (ends.load(std::memory_order_acquire)) return;
                if (looks % 64 == 0) std::this_thread::yield();  // the other may wait for this processor
            }
            last.store(p->close(), std::memory_order_relaxed);
            shared.store(nullptr, std::memory_order_release);
        }
    });
    for (std::size_t i = 0; i != coflux_test::race_rounds / 50; ++i) {
        stage<manual_executor> s;
        permits p(1);
        ASSERT_EQ(p.try_acquire(), permits::answer::granted);
        wish w{p};
        auto t = gets(s.env, borrowed(w));
        s.drive();
        shared.store(&p, std::memory_order_release);
        // Lets each come first now and then.
        for (std::size_t n = i % 300; n != 0; --n) (void)ends.load(std::memory_order_acquire);
        const bool back = p.release(1);
        while (shared.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
        s.drive();
        const bool granted = t.get();
        const bool closed = last.load(std::memory_order_relaxed);
        EXPECT_EQ((granted ? 0 : 1), (back ? 1 : 0) + (closed ? 1 : 0)) << "the last one back says so, and no other";
        if (granted) {
            EXPECT_TRUE(p.release(1));
        }
    }
    ends.store(true, std::memory_order_release);
}

}  // namespace
