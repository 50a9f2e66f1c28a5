#include <coflux/core/detail/wait/wait_queue.hpp>

#include <coroutine>
#include <source_location>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using coflux::detail::promise_base;
using coflux::detail::wait_kind;
using coflux::detail::wait_operation;
using coflux::detail::wait_queue;

/// Never published: what stands in a queue, without a wait.
class place : public wait_operation {
public:
    explicit place(promise_base& p) : wait_operation(p, kind) {}

private:
    static constexpr wait_kind kind{nullptr, nullptr};
};

/// Gives a test the promise that an operation needs.
template <typename F>
void with_promise(F f) {
    struct request {
        F& f;
        auto await_in(promise_base& p, std::source_location) const {
            f(p);
            return std::suspend_never();
        }
    };
    auto env = coflux::make_environment(coflux::noop_executor{});
    auto root = [](coflux::environment&, coflux::borrowed<F> inner) -> coflux::task<void, coflux::noop_executor> {
        co_await request{inner.get()};
    };
    root(env, coflux::borrowed(f)).get();
}

TEST(wait_queue, gives_back_in_the_order_of_arrival) {
    with_promise([](promise_base& p) {
        wait_queue q;
        place a(p), b(p), c(p);
        EXPECT_TRUE(q.empty());
        q.push_back(a);
        q.push_back(b);
        q.push_back(c);
        EXPECT_EQ(q.front(), &a);
        EXPECT_EQ(q.pop_front(), &a);
        EXPECT_EQ(q.pop_front(), &b);
        q.push_back(a);
        EXPECT_EQ(q.pop_front(), &c);
        EXPECT_EQ(q.pop_front(), &a);
        EXPECT_EQ(q.pop_front(), nullptr);
    });
}

TEST(wait_queue, lets_go_of_any_place_and_says_whether_it_had_it) {
    for (int taken = 0; taken < 3; ++taken) {
        with_promise([taken](promise_base& p) {
            wait_queue q;
            place a(p), b(p), c(p);
            place* const all[] = {&a, &b, &c};
            EXPECT_FALSE(q.remove(a));
            for (place* const w : all) q.push_back(*w);
            EXPECT_TRUE(q.remove(*all[taken]));
            EXPECT_FALSE(q.remove(*all[taken])) << "it is out already";
            for (int i = 0; i < 3; ++i) {
                if (i != taken) {
                    EXPECT_EQ(q.pop_front(), all[i]);
                }
            }
            EXPECT_TRUE(q.empty());
            q.push_back(*all[taken]);
            EXPECT_EQ(q.pop_front(), all[taken]);
            EXPECT_FALSE(q.remove(*all[taken])) << "it was handed out";
        });
    }
}

TEST(wait_queue, gives_all_at_once_as_a_chain) {
    with_promise([](promise_base& p) {
        wait_queue q;
        place a(p), b(p);
        q.push_back(a);
        q.push_back(b);
        wait_operation* const chain = q.take_all();
        EXPECT_EQ(chain, &a);
        EXPECT_EQ(chain->next, &b);
        EXPECT_EQ(b.next, nullptr);
        EXPECT_TRUE(q.empty());
        EXPECT_FALSE(q.remove(b)) << "no stopper may claim what is being woken";
    });
}

}  // namespace
