// A fork that is awaited before it has begun runs on the stack of the coroutine that awaits it, until it suspends:
// whichever way it goes on from there, the awaiter must see what it would have seen of any other.
// docs/design/fork_join.md has the protocol.
#include <coflux/core/detail/promise/promise_base.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>

#include <gtest/gtest.h>

#include "support/gate.hpp"

namespace {

using coflux_test::gate;
using pool = coflux::thread_pool_executor;
using namespace std::chrono_literals;

/// Objects of `counted` that live, and how often one died.
struct tally {
    int alive = 0;
    int died = 0;
};

/// Has a destructor, which runs once an object.
class counted {
public:
    explicit counted(tally& in) noexcept : in_(&in) { ++in.alive; }
    counted(counted&& other) noexcept : in_(other.in_) { ++in_->alive; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    ~counted() {
        EXPECT_FALSE(dead_) << "destroyed twice";
        dead_ = true;
        --in_->alive;
        ++in_->died;
    }

private:
    tally* in_;
    bool dead_ = false;
};

enum class leaving { never, yields, waits, sleeps };
enum class ending { value, error, stop };
enum class links { calls, forks, both };

constexpr const char* name_of(leaving l) {
    constexpr const char* names[] = {"never leaves", "yields", "waits", "sleeps"};
    return names[static_cast<int>(l)];
}
constexpr const char* name_of(ending e) {
    constexpr const char* names[] = {"value", "error", "stop"};
    return names[static_cast<int>(e)];
}
constexpr const char* name_of(links k) {
    constexpr const char* names[] = {"calls", "forks", "calls and forks"};
    return names[static_cast<int>(k)];
}

/// A chain of awaits: how long, of what, and what happens at its bottom.
struct plan {
    links kind;
    int levels;
    leaving leaves;  // at the bottom, and afterwards at each level on the way up
    ending ends;
    tally objects = {};
    gate g = {};
    int begun = 0;

    [[nodiscard]] bool link_is_call(int left) const noexcept {
        return kind == links::calls || (kind == links::both && left % 2 != 0);
    }
};

using plan_of = coflux::borrowed<plan>;

coflux::call<counted> link_by_call(coflux::environment&, plan_of p, int left, counted);
coflux::fork<counted> link_by_fork(coflux::environment&, plan_of p, int left, counted);

/// In a coroutine's own body: suspends as the plan says.
#define LEAVE_AS_PLANNED(p)                                       \
    if ((p)->leaves == leaving::yields) co_await coflux::yield(); \
    if ((p)->leaves == leaving::waits) co_await (p)->g.wait();    \
    if ((p)->leaves == leaving::sleeps) co_await coflux::sleep_for(1us)

#define LINK_BODY(p, left)                                                                  \
    const counted local((p)->objects);                                                      \
    auto&& here = co_await coflux::context();                                               \
    ++(p)->begun;                                                                           \
    if ((left) == 1) {                                                                      \
        LEAVE_AS_PLANNED(p);                                                                \
        if ((p)->ends == ending::error) throw std::runtime_error("at the bottom");          \
        if ((p)->ends == ending::stop) co_await coflux::this_coroutine::stop();             \
        co_return counted((p)->objects);                                                    \
    }                                                                                       \
    if ((p)->link_is_call((left) - 1)) {                                                    \
        counted from = co_await link_by_call(here, (p), (left) - 1, counted((p)->objects)); \
        LEAVE_AS_PLANNED(p);                                                                \
        co_return std::move(from);                                                          \
    }                                                                                       \
    counted from = co_await link_by_fork(here, (p), (left) - 1, counted((p)->objects));     \
    LEAVE_AS_PLANNED(p);                                                                    \
    co_return std::move(from)

coflux::call<counted> link_by_call(coflux::environment&, plan_of p, int left, counted) {
    LINK_BODY(p, left);
}
coflux::fork<counted> link_by_fork(coflux::environment&, plan_of p, int left, counted) {
    LINK_BODY(p, left);
}

/// Lets the waiters in the gate through, one after the other, until the chain is done.
coflux::fork<void> opens(coflux::environment&, plan_of p, coflux::borrowed<bool> over) {
    while (!*over) {
        (void)p->g.let_one();
        co_await coflux::yield();
    }
}

/// Awaits the chain from a call of its own, so that its top link, too, is awaited plainly.
coflux::call<counted> from_above(coflux::environment& env, plan_of p) {
    if (p->link_is_call(p->levels)) co_return co_await link_by_call(env, p, p->levels, counted(p->objects));
    auto&& here = co_await coflux::context();
    co_return co_await link_by_fork(here, p, p->levels, counted(p->objects));
}

coflux::task<void, pool> runs_chain(coflux::environment&, plan_of p) {
    auto&& here = co_await coflux::context();
    bool over = false;
    auto opener = opens(here, p, coflux::borrowed(over));
    if (p->ends == ending::value) {
        const counted got = co_await from_above(here, p);
        EXPECT_EQ(p->objects.alive, 1);
    } else if (p->ends == ending::error) {
        EXPECT_THROW((void)co_await from_above(here, p), std::runtime_error);
    }
    const auto o = co_await coflux::as_outcome(from_above(here, p));
    EXPECT_EQ(o.has_value(), p->ends == ending::value);
    EXPECT_EQ(o.has_error(), p->ends == ending::error);
    EXPECT_EQ(o.is_stopped(), p->ends == ending::stop);
    over = true;
    co_await std::move(opener);
}

using memory = std::function<void(std::function<void(std::pmr::memory_resource*)>)>;

void expect_chains_on(const memory& lend) {
    for (const links kind : {links::calls, links::forks, links::both}) {
        for (const int levels : {1, 2, 5}) {
            for (const leaving leaves : {leaving::never, leaving::yields, leaving::waits, leaving::sleeps}) {
                for (const ending ends : {ending::value, ending::error, ending::stop}) {
                    SCOPED_TRACE(std::string(name_of(kind)) + ", " + std::to_string(levels) + " levels, " +
                                 name_of(leaves) + ", " + name_of(ends));
                    plan p{kind, levels, leaves, ends};
                    lend([&](std::pmr::memory_resource* frames) {
                        pool one(1);
                        if (frames == nullptr) {
                            auto env = coflux::make_environment(one);
                            runs_chain(env, plan_of(p)).get();
                        } else {
                            auto env = coflux::make_environment(frames, one);
                            runs_chain(env, plan_of(p)).get();
                        }
                    });
                    EXPECT_EQ(p.begun, ends == ending::stop ? levels : 2 * levels);
                    EXPECT_EQ(p.objects.alive, 0);
                    EXPECT_GE(p.objects.died, 2 * levels);
                }
            }
        }
    }
}

TEST(nested, a_chain_of_awaits_ends_as_its_bottom_does_wherever_it_suspends) {
    expect_chains_on([](const auto& use) { use(nullptr); });
}
TEST(nested, a_chain_of_awaits_gives_every_frame_back_to_its_resource) {
    expect_chains_on([](const auto& use) {
        coflux::counting_resource frames;
        use(&frames);
        EXPECT_EQ(frames.live(), 0U);
    });
}
TEST(nested, a_chain_of_awaits_works_on_a_resource_that_frees_nothing) {
    expect_chains_on([](const auto& use) {
        std::pmr::monotonic_buffer_resource frames;
        use(&frames);
    });
}

// --- handles that are awaited in another way -------------------------------------------------------------------------

coflux::fork<int> gives(coflux::environment&, int value, bool leaves) {
    if (leaves) co_await coflux::yield();
    co_return value;
}
coflux::call<int> gives_by_call(coflux::environment&, int value, bool leaves) {
    if (leaves) co_await coflux::yield();
    co_return value;
}
coflux::fork<int> awaits_given(coflux::environment&, coflux::fork<int> given) {
    co_return co_await std::move(given);
}

coflux::task<void, pool> awaits_in_other_ways(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const bool leaves : {false, true}) {
        EXPECT_EQ(co_await awaits_given(here, gives(here, 1, leaves)), 1);

        auto viewed = gives(here, 2, leaves);
        const auto view = viewed.view();
        EXPECT_EQ(co_await std::move(viewed), 2);
        EXPECT_EQ(co_await view, 2);

        int called = 0;
        auto calls_back = gives(here, 3, leaves);
        calls_back.on_value([&](int v) { called = v; });
        EXPECT_EQ(co_await std::move(calls_back), 3);
        EXPECT_EQ(called, 3);

        auto [a, b, c] =
            co_await coflux::when_all(gives_by_call(here, 4, leaves), gives(here, 5, leaves), gives(here, 6, !leaves));
        EXPECT_EQ(a + b + c, 15);

        EXPECT_EQ(co_await coflux::timeout(gives_by_call(here, 7, leaves), 1h), 7);
        EXPECT_EQ(co_await coflux::timeout(gives(here, 8, leaves), 1h), 8);

        // Not the youngest: it is awaited where it lies, or where it went.
        auto older = gives(here, 9, leaves);
        auto younger = gives(here, 10, leaves);
        EXPECT_EQ(co_await std::move(older), 9);
        EXPECT_EQ(co_await std::move(younger), 10);
    }
}

TEST(nested, a_handle_that_is_moved_viewed_or_combined_gives_the_same) {
    coflux::counting_resource frames;
    for (const std::size_t threads : {1U, 2U}) {
        pool workers(threads);
        auto env = coflux::make_environment(&frames, workers);
        awaits_in_other_ways(env).get();
    }
    EXPECT_EQ(frames.live(), 0U);
}

coflux::fork<void> stops_its_own_handle(coflux::environment&, coflux::borrowed<coflux::fork<void>*> own,
                                        coflux::borrowed<bool> survived) {
    (*own)->request_stop();
    co_await coflux::yield();
    *survived = true;
}

TEST(nested, a_fork_is_stopped_through_its_handle_while_it_is_awaited) {
    pool one(1);
    auto env = coflux::make_environment(one);
    bool survived = false;
    const auto root = [](coflux::environment&, coflux::borrowed<bool> out) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto o = co_await coflux::as_outcome(
            [](coflux::environment&, coflux::borrowed<bool> survives) -> coflux::call<void> {
                auto&& inside = co_await coflux::context();
                coflux::fork<void>* own = nullptr;
                auto f = stops_its_own_handle(inside, coflux::borrowed(own), survives);
                own = &f;
                co_await std::move(f);
            }(here, out));
        EXPECT_TRUE(o.is_stopped());
    };
    root(env, coflux::borrowed(survived)).get();
    EXPECT_FALSE(survived);
}

// --- a stop that comes between the child's suspension and its awaiter's ----------------------------------------------

/// Foreign: requests a stop of `of` as soon as its coroutine is suspended, and is resumed by hand.
struct stops_when_suspended {
    coflux::environment& of;
    std::coroutine_handle<>& suspended;

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept {
        suspended = h;
        of.request_stop();
    }
    void await_resume() const noexcept {}
};

struct stop_in_between {
    tally objects = {};
    std::coroutine_handle<> suspended = {};
    bool over = false;
};
using between = coflux::borrowed<stop_in_between>;

coflux::call<void> is_suspended(coflux::environment&, coflux::environment& caller, between b) {
    const counted local(b->objects);
    co_await stops_when_suspended{caller, b->suspended};
    EXPECT_EQ(b->objects.alive, 2);  // its own and the caller's: no coroutine has gone on
}
coflux::fork<void> awaits_the_suspended(coflux::environment&, between b) {
    auto&& here = co_await coflux::context();
    const counted local(b->objects);
    co_await is_suspended(here, here, b);
    co_await coflux::yield();
    ADD_FAILURE() << "its stop was requested, and this is a stop point";
}
coflux::fork<void> resumes_the_suspended(coflux::environment&, between b) {
    while (b->suspended == nullptr) co_await coflux::yield();
    for (int i = 0; i < 10; ++i) co_await coflux::yield();
    EXPECT_EQ(b->objects.died, 0);
    b->suspended.resume();
}

TEST(nested, a_call_that_has_suspended_is_waited_for_although_its_caller_is_stopped) {
    pool one(1);
    auto env = coflux::make_environment(one);
    stop_in_between b;
    [](coflux::environment&, between in) -> coflux::task<void, pool> {
        auto&& here = co_await coflux::context();
        auto later = resumes_the_suspended(here, in);
        (void)co_await coflux::as_outcome(awaits_the_suspended(here, in));
        co_await std::move(later);
    }(env, between(b))
                                                .get();
    EXPECT_EQ(b.objects.alive, 0);
}

// --- what comes after

coflux::call<void> fails_above(coflux::environment&) {
    (void)co_await coflux::context();
    throw std::runtime_error("above");
}

coflux::task<void, pool> forks_after_a_failure(coflux::environment&) {
    auto&& here = co_await coflux::context();
    EXPECT_THROW(co_await fails_above(here), std::runtime_error);
    // Its children are its own again from now on, and counted without an atomic operation.
    EXPECT_EQ(coflux::detail::this_thread.current, &here);
}

TEST(nested, a_coroutine_is_the_current_one_again_after_what_left_the_top_of_its_stack) {
    pool one(1);
    auto env = coflux::make_environment(one);
    forks_after_a_failure(env).get();
}

}  // namespace
