// A child that suspends in its nested run: its end on another thread against the awaiter, which has control back and is
// about to wait. docs/design/fork_join.md.
#include <coroutine>
#include <cstdint>
#include <cstdlib>
#include <source_location>
#include <utility>

#include <coflux/base/stack.hpp>
#include <coflux/core/as_outcome.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/detail/thread/worker.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>

#include "support/coroutines.hpp"
#include "support/traced.hpp"

namespace {

namespace detail = coflux::detail;
using coflux::call;
using coflux::environment;
using coflux::model::bag_executor;
using coflux::model::coroutine_scenario;
using coflux::model::plain;
using coflux::model::root_on_pool;
using coflux::model::traced;
template <typename T>
using fork = coflux::fork<T, bag_executor>;
template <typename T>
using task = coflux::task<T, bag_executor>;

/// Suspends, and goes on with any thread. Not a stop point if it `stays`.
struct goes_elsewhere {
    bool stays = false;

    struct awaiter {
        detail::promise_base& p;
        bool stays;

        [[nodiscard]] bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
            detail::promise_base& awaiting = p;
            if (awaiting.begin_suspend() == coflux::detail::suspension::stop && !stays) return awaiting.stop_here();
            awaiting.clear_current();
            awaiting.runs_on()->post(h);
            return std::noop_coroutine();
        }
        void await_resume() const noexcept { detail::this_thread.current = &p; }
    };
    awaiter await_in(detail::promise_base& p, std::source_location) const noexcept { return {p, stays}; }
};

/// The worker of a thread. Its two queues are large, so that there is one for all interleavings, made before the first;
/// its atomics begin anew in each.
class model_worker final : public detail::worker {
public:
    model_worker() noexcept : worker(nullptr, no_idle) {}

    /// Before any thread touches it, or nothing would order the other threads' uses after the beginning.
    void begins() noexcept {
        forks_.push(this);
        (void)forks_.steal();
        (void)has_sleepers();
    }
    [[nodiscard]] void* pop() noexcept { return forks_.pop(); }
    [[nodiscard]] void* steal() noexcept { return forks_.steal(); }

private:
    void notify_one() noexcept override {}
    bool budget_exhausted() noexcept override {
        tick_budget_ = 1000;
        return false;
    }
    void overflow(std::coroutine_handle<>) noexcept override { std::abort(); }

    static inline constinit detail::atomic<std::uint32_t> no_idle{0};
};
model_worker workers[2];

/// A root on workers, which have room for awaits on their stacks. The forks that one makes lie on its deque, and the
/// other steals.
template <typename Derived>
struct of_nested : coroutine_scenario<Derived, 2>, coflux::model::places, root_on_pool {
    plain<int> by_parent{0};
    plain<int> by_child{0};

    void before() override {
        for (model_worker& w : workers) w.begins();
    }
    void run(unsigned thread) {
        detail::this_thread.open_nested_limit = detail::stack_address() - 24 * 1024;
        detail::this_thread.queues = &workers[thread];
        detail::this_thread.executor = &pool;
        if (thread != 0) return help();
        run_root([this](environment& env) { return Derived::root(env, static_cast<Derived*>(this)); });
        MODEL_CHECK(by_child.get() == 7);
        MODEL_CHECK(by_parent.get() == Derived::parent_leaves);
    }
    static constexpr int parent_leaves = 2;

    bool run_one() noexcept override {
        detail::this_thread.nested_limit = detail::this_thread.open_nested_limit;
        const bool ran = pool.run_one() || run_fork();
        detail::this_thread.current = nullptr;
        return ran;
    }

    /// The acts of most children: they suspend in their nested runs, and end on any thread.
    template <typename Returned>
    static Returned leaves(environment&, Derived* s) {
        co_await goes_elsewhere{};
        MODEL_CHECK(s->by_parent.get() == 1);
        s->by_child.set(7);
        co_return traced(1);
    }
    /// The same, and they fail.
    template <typename Returned>
    static Returned fails(environment&, Derived* s) {
        co_await goes_elsewhere{};
        s->by_child.set(7);
        throw 1;
    }
    /// The same, and before they suspend they request a stop of their awaiter.
    template <typename Returned>
    static Returned stops(environment&, Derived* s, environment* of_root) {
        of_root->request_stop();
        co_await goes_elsewhere{.stays = true};
        s->by_child.set(7);
    }
    /// The awaiter's side.
    void goes_on(const traced& got) {
        MODEL_CHECK(got.value() == 1);
        MODEL_CHECK(by_child.get() == 7);
        MODEL_CHECK(by_parent.get() == 1);
        by_parent.set(2);
    }

private:
    static bool run_fork() noexcept {
        model_worker* const own = &workers[detail::this_thread.queues == &workers[1] ? 1 : 0];
        void* taken = own->pop();
        if (taken == nullptr) taken = workers[own == workers ? 1 : 0].steal();
        if (taken != nullptr) detail::run(std::coroutine_handle<>::from_address(taken));
        return taken != nullptr;
    }
};

/// nested → 0, and 0 → pointer or done.
struct call_leaves : of_nested<call_leaves> {
    static task<void> root(environment&, call_leaves* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        s->goes_on(co_await leaves<call<traced>>(here, s));
    }
};

/// The same at two levels: the upper one suspends because the lower one did.
struct two_calls_leave : of_nested<two_calls_leave> {
    static call<traced> between(environment&, two_calls_leave* s) {
        auto&& here = co_await coflux::context();
        co_return co_await leaves<call<traced>>(here, s);
    }
    static task<void> root(environment&, two_calls_leave* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        s->goes_on(co_await between(here, s));
    }
};

/// A fork that is popped, unless it is stolen, and suspends in its nested run; and its release.
struct fork_leaves : of_nested<fork_leaves> {
    static task<void> root(environment&, fork_leaves* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        auto f = leaves<fork<traced>>(here, s);
        s->goes_on(co_await std::move(f));
    }
};

/// The same, nested in a call that runs nested.
struct fork_in_call_leaves : of_nested<fork_in_call_leaves> {
    static call<traced> between(environment&, fork_in_call_leaves* s) {
        auto&& here = co_await coflux::context();
        auto f = leaves<fork<traced>>(here, s);
        co_return co_await std::move(f);
    }
    static task<void> root(environment&, fork_in_call_leaves* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        s->goes_on(co_await between(here, s));
    }
};

/// A call that leaves because it has a child to wait for: the last child ends it.
struct call_joins : of_nested<call_joins> {
    static fork<void> child(environment&, call_joins* s) {
        s->by_child.set(7);
        co_return;
    }
    static call<traced> between(environment&, call_joins* s) {
        auto&& here = co_await coflux::context();
        child(here, s).attach();
        co_return traced(1);
    }
    static task<void> root(environment&, call_joins* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        s->goes_on(co_await between(here, s));
    }
};

/// A fork and a call whose results go by the thread, if they end in place: neither does.
struct numbers_leave : of_nested<numbers_leave> {
    static fork<int> below(environment&, numbers_leave* s) {
        co_await goes_elsewhere{};
        MODEL_CHECK(s->by_parent.get() == 1);
        s->by_child.set(7);
        co_return 1;
    }
    static call<int> between(environment&, numbers_leave* s) {
        auto&& here = co_await coflux::context();
        auto f = below(here, s);
        co_return co_await std::move(f);
    }
    static task<void> root(environment&, numbers_leave* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        s->goes_on(traced(co_await between(here, s)));
    }
};

/// The fork ends in place unless it is stolen, and so does the call unless its other child is still to be waited for.
struct number_joins : of_nested<number_joins> {
    static fork<int> seven(environment&, number_joins* s) {
        s->by_child.set(7);
        co_return 1;
    }
    static fork<void> other(environment&) { co_return; }
    static call<int> between(environment&, number_joins* s) {
        auto&& here = co_await coflux::context();
        other(here).attach();
        co_return co_await seven(here, s);
    }
    static task<void> root(environment&, number_joins* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        s->goes_on(traced(co_await between(here, s)));
    }
};

/// The other child was made by another than its parent: it is released while the parent looks whether it has children.
struct number_has_another : of_nested<number_has_another> {
    static fork<void> other(environment&) { co_return; }
    static call<void> makes(environment& of_between) {
        (void)co_await coflux::context();
        other(of_between).attach();
    }
    static call<int> between(environment&, number_has_another* s) {
        auto&& here = co_await coflux::context();
        co_await makes(here);
        s->by_child.set(7);
        co_return 1;
    }
    static task<void> root(environment&, number_has_another* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        s->goes_on(traced(co_await between(here, s)));
    }
};

/// A fork that has a view: its handle goes by its list too, and leaves the frame to the view.
struct fork_has_view : of_nested<fork_has_view> {
    static fork<int> seven(environment&, fork_has_view* s) {
        s->by_child.set(7);
        co_return 1;
    }
    static task<void> root(environment&, fork_has_view* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        auto f = seven(here, s);
        const auto view = f.view();
        s->goes_on(traced(co_await std::move(f)));
        MODEL_CHECK(co_await view == 1);
    }
};

/// A fork that another coroutine made for its parent, which awaits it: it is not counted by its owner.
struct fork_of_another : of_nested<fork_of_another> {
    static fork<int> seven(environment&, fork_of_another* s) {
        s->by_child.set(7);
        co_return 1;
    }
    static call<fork<int>> makes(environment& of_root, fork_of_another* s) {
        (void)co_await coflux::context();
        co_return seven(of_root, s);
    }
    static task<void> root(environment&, fork_of_another* s) {
        auto&& here = co_await coflux::context();
        s->by_parent.set(1);
        auto f = co_await makes(here, s);
        s->goes_on(traced(co_await std::move(f)));
    }
};

/// One exception at a time: a handler may be left for another thread, which must not handle one of its own meanwhile.
struct call_fails : of_nested<call_fails> {
    static task<void> root(environment&, call_fails* s) {
        auto&& here = co_await coflux::context();
        bool failed = false;
        try {
            (void)co_await fails<call<traced>>(here, s);
        } catch (int) {
            failed = true;
        }
        MODEL_CHECK(failed && s->by_child.get() == 7);
        s->by_parent.set(2);
    }
};

struct fork_fails : of_nested<fork_fails> {
    static task<void> root(environment&, fork_fails* s) {
        auto&& here = co_await coflux::context();
        bool failed = false;
        auto f = fails<fork<traced>>(here, s);
        try {
            (void)co_await std::move(f);
        } catch (int) {
            failed = true;
        }
        MODEL_CHECK(failed && s->by_child.get() == 7);
        s->by_parent.set(2);
    }
};

/// A call that fails and has not left before.
struct call_fails_at_once : of_nested<call_fails_at_once> {
    static call<traced> fails_here(environment&, call_fails_at_once* s) {
        s->by_child.set(7);
        throw 1;
        co_return traced(1);
    }
    static task<void> root(environment&, call_fails_at_once* s) {
        auto&& here = co_await coflux::context();
        bool failed = false;
        try {
            (void)co_await fails_here(here, s);
        } catch (int) {
            failed = true;
        }
        MODEL_CHECK(failed);
        s->by_parent.set(2);
    }
};

/// The awaiter is stopped when the call has suspended in its nested run: it waits for it all the same, because nothing
/// else would.
struct stop_comes_late : of_nested<stop_comes_late> {
    static task<void> root(environment&, stop_comes_late* s) {
        auto&& here = co_await coflux::context();
        co_await stops<call<void>>(here, s, &here);
        MODEL_CHECK(s->by_child.get() == 7);
        s->by_parent.set(2);
    }
};

/// The awaiter of a fork stops there: its scope waits for the fork, and then the handle dies.
struct stop_of_awaiter : of_nested<stop_of_awaiter> {
    struct unwound {
        stop_of_awaiter* s;
        ~unwound() {
            MODEL_CHECK(s->by_child.get() == 7);
            s->by_parent.set(3);
        }
    };
    static constexpr int parent_leaves = 3;

    static task<void> root(environment&, stop_of_awaiter* s) {
        auto&& here = co_await coflux::context();
        const unwound at_end{s};
        auto f = stops<fork<void>>(here, s, &here);
        co_await std::move(f);
        s->by_parent.set(2);
    }
};

/// A call that runs nested, and computes, was given the environment of its awaiter's parent: a stop of the awaiter
/// alone reaches it, also one that comes while it begins.
struct stop_reaches_call : of_nested<stop_reaches_call> {
    static call<void> looks(environment&) {
        auto&& here = co_await coflux::context();
        while (!here.stop_requested()) detail::cpu_pause();
    }
    static fork<void> awaits(environment& env) { co_await looks(env); }
    static task<void> root(environment&, stop_reaches_call* s) {
        auto&& here = co_await coflux::context();
        auto f = awaits(here);
        coflux::model::wait_a_while(32);  // often until it is stolen, and begins the call
        f.request_stop();
        (void)co_await coflux::as_outcome(std::move(f));
        s->by_child.set(7);
        s->by_parent.set(2);
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(
        count, arguments, "nested", "a child that suspends in its nested run, and ends on another thread",
        {sampled<call_leaves>("call_leaves", "nested to 0, and 0 to pointer or done"),
         sampled<two_calls_leave>("two_calls_leave", "the same at two levels"),
         sampled<fork_leaves>("fork_leaves", "a fork that is popped or stolen, and its release"),
         sampled<fork_in_call_leaves>("fork_in_call_leaves", "a fork nested in a call that runs nested"),
         sampled<call_joins>("call_joins", "a call that suspends to wait for its child"),
         sampled<numbers_leave>("numbers_leave", "results that go by the thread, of one that suspends"),
         sampled<number_joins>("number_joins",
                               "results that go by the thread, of one that ends nested or waits for a child"),
         sampled<number_has_another>("number_has_another", "the same, of a child that another made"),
         sampled<fork_has_view>("fork_has_view", "a fork that is awaited by its handle, and has a view"),
         sampled<fork_of_another>("fork_of_another", "a fork that another made for its parent"),
         sampled<call_fails>("call_fails", "an error of a call that has suspended"),
         sampled<fork_fails>("fork_fails", "an error of a fork that has suspended"),
         sampled<call_fails_at_once>("call_fails_at_once", "an error that makes a call leave"),
         sampled<stop_comes_late>("stop_comes_late", "a stop of the awaiter of a call that has suspended"),
         sampled<stop_of_awaiter>("stop_of_awaiter", "a stop of the awaiter of a fork that has suspended"),
         sampled<stop_reaches_call>("stop_reaches_call", "a stop of the awaiter of a call that begins nested")});
}
