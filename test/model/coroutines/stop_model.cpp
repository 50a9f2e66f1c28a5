// A stop request against waiters: the marks, the count, the records, and which side gets the wait
// (docs/design/stop.md).
#include <coroutine>
#include <cstddef>
#include <memory_resource>
#include <utility>

#include <coflux/core/as_outcome.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/fork_view.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/memory/frame_pool.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/sync/mutex.hpp>

#include "core/detail/wait/wait_records.hpp"
#include "support/coroutines.hpp"

namespace {

using coflux::environment;
using coflux::fork_view;
using coflux::manual_reset_event;
using coflux::model::bag_executor;
using coflux::model::coroutine_scenario;
using coflux::model::plain;
using coflux::model::root_on_pool;
template <typename T>
using fork = coflux::fork<T, bag_executor>;
template <typename T>
using task = coflux::task<T, bag_executor>;

/// Threads 0 and 1 serve the pool, and thread 0 requests the stop of the root; further threads do what Derived::other()
/// says.
template <typename Derived, unsigned Threads>
struct of_stop : coroutine_scenario<Derived, Threads>, root_on_pool {
    manual_reset_event event;
    plain<int> by_other{0};
    int went_on = 0;  // written by one coroutine at a time; the model's own
    int unwound = 0;
    coflux::detail::atomic<int> others_done{0};

    /// A local of a coroutine, which is touched on whatever thread it is unwound.
    struct counts_unwinding {
        of_stop& of;
        plain<int> lives{1};
        ~counts_unwinding() {
            MODEL_CHECK(lives.get() == 1);
            lives.set(0);
            ++of.unwound;
        }
    };

    void run(unsigned thread) {
        if (thread > 1) {
            static_cast<Derived&>(*this).other(thread);
            others_done.fetch_add(1, coflux::detail::memory_order_release);
            return;
        }
        if (thread == 1) return help();
        run_root([this](environment& env) { return Derived::root(env, static_cast<Derived*>(this)); },
                 [this](auto& root, environment& env) { static_cast<Derived&>(*this).stop(root, env); });
        while (others_done.load(coflux::detail::memory_order_acquire) != Threads - 2) coflux::detail::cpu_pause();
    }
    void stop(task<void>& root, environment&) {
        // At any time of its life, and not before it begins in most cases.
        coflux::model::wait_a_while(48);
        root.request_stop();
    }
    void other(unsigned) {
        by_other.set(1);
        event.set();
    }
    void holds() { MODEL_CHECK(unwound == 1); }
};

/// Nothing else ends the wait: it is found queued, or it sees the request.
struct stop_alone : of_stop<stop_alone, 2> {
    static task<void> root(environment&, stop_alone* s) {
        const counts_unwinding counts{*s};
        co_await s->event.wait();
        ++s->went_on;
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// A wake-up and a stop for one wait: one of them has it.
struct stop_or_wake : of_stop<stop_or_wake, 3> {
    static task<void> root(environment&, stop_or_wake* s) {
        const counts_unwinding counts{*s};
        co_await s->event.wait();
        MODEL_CHECK(s->by_other.get() == 1);
        ++s->went_on;
    }
};

/// A request that comes while a wait is woken shows at the next one.
struct stop_at_next_wait : of_stop<stop_at_next_wait, 3> {
    manual_reset_event never;
    static task<void> root(environment&, stop_at_next_wait* s) {
        const counts_unwinding counts{*s};
        co_await s->event.wait();
        co_await s->never.wait();
        ++s->went_on;
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// The record of a child that ends while the request walks down to it.
struct record_ends : of_stop<record_ends, 3> {
    manual_reset_event never;
    static fork<void> waits_for(environment&, manual_reset_event* e) { co_await e->wait(); }
    static task<void> root(environment&, record_ends* s) {
        const counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        waits_for(here, &s->event).attach();
        co_await s->never.wait();
        ++s->went_on;
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// Two children make their records, and their parent's, at the same time.
struct records_begin : of_stop<records_begin, 2> {
    static fork<void> waits(environment&, records_begin* s) {
        const counts_unwinding counts{*s};
        co_await s->event.wait();
        ++s->went_on;
    }
    static task<void> root(environment&, records_begin* s) {
        auto&& here = co_await coflux::context();
        waits(here, s).attach();
        waits(here, s).attach();
    }
    void holds() {
        MODEL_CHECK(unwound == 2);
        MODEL_CHECK(went_on == 0);
    }
};

/// One that looks at the request instead of waiting, while another request, elsewhere, changes the count: it finds its
/// own, and what was written before it.
struct looks_at_request : of_stop<looks_at_request, 3> {
    static task<void> root(environment&, looks_at_request* s) {
        const counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        while (!here.stop_requested()) coflux::detail::cpu_pause();
        MODEL_CHECK(s->by_other.get() == 1);
    }
    void stop(task<void>& root, environment&) {
        coflux::model::wait_a_while(256);  // often the last of both: no other count has it look again
        by_other.set(1);
        root.request_stop();
    }
    void other(unsigned) {
        const void* made = nullptr;
        std::size_t bytes = 0;
        {
            auto elsewhere = coflux::make_environment(pool);
            made = &elsewhere;
            bytes = sizeof elsewhere;
            coflux::model::wait_a_while(32);
            elsewhere.request_stop();
        }
        coflux::model::forget(made, bytes);
    }
};

/// A record begins while the request is passed on from above: its coroutine, which is woken and looks at no parent from
/// then on, has the mark, or gets it.
struct record_begins : of_stop<record_begins, 3> {
    static fork<void> waits_and_looks(environment&, record_begins* s) {
        const counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        co_await s->event.wait();
        while (!here.stop_requested()) coflux::detail::cpu_pause();
    }
    static task<void> root(environment&, record_begins* s) {
        auto&& here = co_await coflux::context();
        waits_and_looks(here, s).attach();
    }
    void stop(task<void>& root, environment&) {
        coflux::model::wait_a_while(128);  // often after the wake-up
        root.request_stop();
    }
    void other(unsigned thread) {
        coflux::model::wait_a_while(64);  // often after the wait has begun
        of_stop::other(thread);
    }
};

/// Two children compute, and look late, while the walk rests at the record of one of them, goes on to the other, and
/// ends: a look finds the request above, or the mark.
struct looks_past_records : of_stop<looks_past_records, 3> {
    int began = 0;  // the model's own, as are the others: they order nothing
    int woken = 0;
    static fork<void> waits_and_looks(environment&, looks_past_records* s) {
        const counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        ++s->began;
        co_await s->event.wait();
        ++s->woken;
        coflux::model::wait_a_while(256);  // often until the walk has been everywhere
        while (!here.stop_requested()) coflux::detail::cpu_pause();
    }
    static task<void> root(environment&, looks_past_records* s) {
        auto&& here = co_await coflux::context();
        waits_and_looks(here, s).attach();
        waits_and_looks(here, s).attach();
    }
    void stop(task<void>& root, environment&) {
        while (woken == 0) coflux::detail::cpu_pause();
        root.request_stop();
    }
    void other(unsigned thread) {
        while (began != 2) coflux::detail::cpu_pause();
        coflux::model::wait_a_while(32);  // often until both wait
        of_stop::other(thread);
    }
    void holds() { MODEL_CHECK(unwound == 2); }
};

/// The walk passes a record in which nothing waits, and a wait begins there.
struct waits_again : of_stop<waits_again, 3> {
    manual_reset_event never;
    int began = 0;  // the model's own
    int woken = 0;
    static fork<void> waits_twice(environment&, waits_again* s) {
        const counts_unwinding counts{*s};
        ++s->began;
        co_await s->event.wait();
        ++s->woken;
        coflux::model::wait_a_while(16);
        co_await s->never.wait();
        ++s->went_on;
    }
    static task<void> root(environment&, waits_again* s) {
        auto&& here = co_await coflux::context();
        waits_twice(here, s).attach();
    }
    void stop(task<void>& root, environment&) {
        while (woken == 0) coflux::detail::cpu_pause();
        coflux::model::wait_a_while(16);
        root.request_stop();
    }
    void other(unsigned thread) {
        while (began == 0) coflux::detail::cpu_pause();
        coflux::model::wait_a_while(16);  // often until it waits
        of_stop::other(thread);
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// Two requests, thread 0's and thread 2's: which of them walks, and how far that has come, makes no difference to what
/// comes after the other one.
template <typename Derived>
struct two_requests : of_stop<Derived, 3> {
    coflux::detail::atomic<const task<void>*> asked{nullptr};
    int began = 0;  // the model's own, as is `both_wait`
    bool both_wait = false;
    static fork<void> waits_and_looks(environment&, Derived* s) {
        const typename of_stop<Derived, 3>::counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        ++s->began;
        co_await s->event.wait();
        MODEL_CHECK(here.stop_requested());
    }
    static task<void> root(environment&, Derived* s) {
        auto&& here = co_await coflux::context();
        waits_and_looks(here, s).attach();
        waits_and_looks(here, s).attach();
    }
    void stop(task<void>& root, environment& env) {
        asked.store(&root, coflux::detail::memory_order_release);
        while (!both_wait) coflux::detail::cpu_pause();
        coflux::model::wait_a_while(8);
        static_cast<Derived*>(this)->request_first(root, env);
        // The handle stays until the other thread has used it.
        while (this->others_done.load(coflux::detail::memory_order_acquire) == 0) coflux::detail::cpu_pause();
    }
    void other(unsigned) {
        const task<void>* known = nullptr;
        while ((known = asked.load(coflux::detail::memory_order_acquire)) == nullptr) coflux::detail::cpu_pause();
        while (began != 2) coflux::detail::cpu_pause();
        coflux::model::wait_a_while(32);
        both_wait = true;  // mostly
        coflux::model::wait_a_while(8);
        static_cast<Derived*>(this)->request_second(*known);
    }
    void holds() { MODEL_CHECK(this->unwound == 2); }
};

struct asked_twice : two_requests<asked_twice> {
    void request_first(const task<void>& root, environment&) { root.request_stop(); }
    void request_second(const task<void>& root) {
        root.request_stop();
        event.set();
    }
};
/// The one that comes from above meets the other.
struct asked_above : two_requests<asked_above> {
    void request_first(const task<void>&, environment& env) {
        env.request_stop();
        event.set();
    }
    void request_second(const task<void>& root) { root.request_stop(); }
};
/// The other comes below it.
struct asked_below : two_requests<asked_below> {
    void request_first(const task<void>&, environment& env) { env.request_stop(); }
    void request_second(const task<void>& root) {
        root.request_stop();
        event.set();
    }
};

/// A wait in a call is in the record of the coroutine above.
struct stop_in_call : of_stop<stop_in_call, 3> {
    static coflux::call<void> waits(environment&, manual_reset_event& e) { co_await e.wait(); }
    static task<void> root(environment&, stop_in_call* s) {
        const counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        co_await waits(here, s->event);
        MODEL_CHECK(s->by_other.get() == 1);
        ++s->went_on;
    }
};

/// A coroutine that another thread requests the stop of by its environment, which must live until the request returns.
template <typename Derived>
struct asked_from_outside : of_stop<Derived, 3> {
    coflux::detail::atomic<environment*> inside{nullptr};
    coflux::detail::atomic<bool> returned{false};

    /// A local of that coroutine, and the first that it has.
    struct stays_until_asked {
        asked_from_outside& of;
        ~stays_until_asked() {
            while (!of.returned.load(coflux::detail::memory_order_acquire)) coflux::detail::cpu_pause();
        }
    };

    void ask() {
        environment* asked = nullptr;
        while ((asked = inside.load(coflux::detail::memory_order_acquire)) == nullptr) coflux::detail::cpu_pause();
        asked->request_stop();
        returned.store(true, coflux::detail::memory_order_release);
    }
};

/// A call alone is stopped: what has the record is not.
struct stop_of_call : asked_from_outside<stop_of_call> {
    static coflux::call<void> waits(environment&, stop_of_call* s) {
        const stays_until_asked stays{*s};
        const counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        s->inside.store(&here, coflux::detail::memory_order_release);
        co_await s->event.wait();
        ++s->went_on;
    }
    static task<void> root(environment&, stop_of_call* s) {
        auto&& here = co_await coflux::context();
        // Half of the time a walk finds the record, and no wait in it yet.
        if (rl::rand(2) != 0) (void)coflux::detail::wait_records::find_or_make(here);
        const auto ended = co_await coflux::as_outcome(waits(here, s));
        MODEL_CHECK(ended.is_stopped());
    }
    void stop(task<void>&, environment&) {}
    void other(unsigned) { ask(); }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// Another resource than the frame pool.
struct resource final : std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        return coflux::frame_pool::shared().allocate(bytes, alignment);
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        coflux::frame_pool::shared().deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// A call that was given what its awaiter was not made in. It is a part of its awaiter: it has memory from there, what
/// waits in it is in that record, and a stop of the awaiter alone reaches it.
struct call_given_above : of_stop<call_given_above, 3> {
    resource memory;
    manual_reset_event never;

    static coflux::call<void> waits(environment&, call_given_above* s, manual_reset_event* e) {
        auto&& here = co_await coflux::context();
        MODEL_CHECK(here.memory_resource() == &s->memory);
        co_await e->wait();
        ++s->went_on;
    }
    /// Neither asks for its context: it has a scope for what waits in its call.
    static fork<void> is_woken(environment&, call_given_above* s, environment* given) {
        co_await waits(*given, s, &s->event);
    }
    static fork<void> is_stopped(environment&, call_given_above* s, environment* given) {
        const counts_unwinding counts{*s};
        co_await waits(*given, s, &s->never);
    }
    static task<void> root(environment&, call_given_above* s) {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here, &s->memory);
        auto woken = is_woken(sub, s, &here);
        auto stopped = is_stopped(sub, s, &here);
        coflux::model::wait_a_while(48);
        stopped.request_stop();
        const auto ended = co_await coflux::as_outcome(std::move(stopped));
        MODEL_CHECK(ended.is_stopped());
        co_await std::move(woken);
        co_await sub.join();
    }
    void stop(task<void>&, environment&) {}
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 1);
    }
};

/// A call that names no environment: it is a part of its awaiter, as one that was given another one is.
struct bare_call : of_stop<bare_call, 3> {
    resource memory;
    manual_reset_event never;

    static coflux::call<void> waits(bare_call* s, manual_reset_event* e) {
        auto&& here = co_await coflux::context();
        MODEL_CHECK(here.memory_resource() == &s->memory);
        co_await e->wait();
        ++s->went_on;
    }
    /// Neither asks for its context: it has a scope for what waits in its call.
    static fork<void> is_woken(environment&, bare_call* s) { co_await waits(s, &s->event); }
    static fork<void> is_stopped(environment&, bare_call* s) {
        const counts_unwinding counts{*s};
        co_await waits(s, &s->never);
    }
    static task<void> root(environment&, bare_call* s) {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here, &s->memory);
        auto woken = is_woken(sub, s);
        auto stopped = is_stopped(sub, s);
        coflux::model::wait_a_while(48);
        stopped.request_stop();
        const auto ended = co_await coflux::as_outcome(std::move(stopped));
        MODEL_CHECK(ended.is_stopped());
        co_await std::move(woken);
        co_await sub.join();
    }
    void stop(task<void>&, environment&) {}
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 1);
    }
};

/// A call that computes begins while a stop of its awaiter comes: it sees that.
struct call_computes : of_stop<call_computes, 2> {
    static coflux::call<void> looks(environment&) {
        auto&& here = co_await coflux::context();
        while (!here.stop_requested()) coflux::detail::cpu_pause();
    }
    static fork<void> awaits(environment&, environment* given) { co_await looks(*given); }
    static task<void> root(environment&, call_computes*) {
        auto&& here = co_await coflux::context();
        auto f = awaits(here, &here);
        coflux::model::wait_a_while(16);
        f.request_stop();
        (void)co_await coflux::as_outcome(std::move(f));
    }
    void stop(task<void>&, environment&) {}
    void holds() {}
};

/// A call that was given an object above its awaiter: it does not stay there, where a stop of the awaiter alone would
/// pass it by.
struct call_of_object_above : of_stop<call_of_object_above, 2> {
    static coflux::call<void> waits(environment&, manual_reset_event& e) { co_await e.wait(); }
    static fork<void> awaits(environment& env, call_of_object_above* s) {
        const counts_unwinding counts{*s};
        co_await waits(env, s->event);
        ++s->went_on;
    }
    static task<void> root(environment&, call_of_object_above* s) {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        auto f = awaits(sub, s);
        coflux::model::wait_a_while(48);
        f.request_stop();
        (void)co_await coflux::as_outcome(std::move(f));
        co_await sub.join();
    }
    void stop(task<void>&, environment&) {}
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// One that was given an object beside its awaiter stays there: it sees a stop of the object, also one that came before
/// the await.
struct call_of_object_beside : of_stop<call_of_object_beside, 2> {
    static fork<void> awaits(environment&, environment* given) { co_await call_computes::looks(*given); }
    static task<void> root(environment&, call_of_object_beside*) {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        const bool early = rl::rand(2) == 0;
        if (early) sub.request_stop();
        auto f = awaits(here, &sub);
        if (!early) sub.request_stop();
        (void)co_await coflux::as_outcome(std::move(f));
        co_await sub.join();
    }
    void stop(task<void>&, environment&) {}
    void holds() {}
};

/// Two requests, one of the root and one of a child, and a child below both that ends: each walk, of which a step is
/// one record, rests somewhere while the other goes by.
struct stop_twice : asked_from_outside<stop_twice> {
    manual_reset_event never;
    static fork<void> waits(environment&, stop_twice* s, manual_reset_event* e) {
        const counts_unwinding counts{*s};
        co_await e->wait();
    }
    static fork<void> has_children(environment&, stop_twice* s) {
        const stays_until_asked stays{*s};
        auto&& here = co_await coflux::context();
        waits(here, s, &s->event).attach();
        waits(here, s, &s->never).attach();
        s->inside.store(&here, coflux::detail::memory_order_release);
        co_await s->never.wait();
        ++s->went_on;
    }
    static task<void> root(environment&, stop_twice* s) {
        auto&& here = co_await coflux::context();
        const auto ended = co_await coflux::as_outcome(has_children(here, s));
        MODEL_CHECK(ended.is_stopped());
    }
    void stop(task<void>& root, environment&) {
        ask();
        root.request_stop();
    }
    void holds() {
        MODEL_CHECK(unwound == 2);
        MODEL_CHECK(went_on == 0);
    }
};

/// A child alone is stopped, by its parent, and the parent takes that as an outcome; another request comes from above.
struct stop_of_child : of_stop<stop_of_child, 2> {
    static fork<void> waits(environment&, stop_of_child* s) {
        const counts_unwinding counts{*s};
        co_await s->event.wait();
        ++s->went_on;
    }
    static task<void> root(environment&, stop_of_child* s) {
        auto&& here = co_await coflux::context();
        auto f = waits(here, s);
        f.request_stop();
        auto ended = co_await coflux::as_outcome(std::move(f));
        MODEL_CHECK(ended.is_stopped());
    }
    void holds() {
        MODEL_CHECK(unwound == 1);
        MODEL_CHECK(went_on == 0);
    }
};

/// A child that nothing awaits is woken, and stopped from above, at the same time: its scope gives its value if the
/// child has done its work, and else is stopped.
struct cuts_off : of_stop<cuts_off, 3> {
    static fork<void> waits(environment&, cuts_off* s) {
        const counts_unwinding counts{*s};
        co_await s->event.wait();
        ++s->went_on;
    }
    static fork<int> leaves(environment&, cuts_off* s) {
        auto&& here = co_await coflux::context();
        waits(here, s).attach();
        co_return 1;
    }
    static task<void> root(environment&, cuts_off* s) {
        auto&& here = co_await coflux::context();
        const auto end = co_await coflux::as_outcome(leaves(here, s));
        MODEL_CHECK(end.has_value() == (s->went_on == 1));
    }
};

/// A reader of a view is stopped while the coroutine that it looks at ends.
struct stop_of_view : of_stop<stop_of_view, 2> {
    static fork<int> looked_at(environment&, stop_of_view* s) {
        s->by_other.set(1);
        co_return 1;
    }
    static fork<void> reads(environment&, stop_of_view* s, fork_view<int> v) {
        const counts_unwinding counts{*s};
        const int& got = co_await v;
        MODEL_CHECK(got == 1 && s->by_other.get() == 1);
        ++s->went_on;
    }
    static task<void> root(environment&, stop_of_view* s) {
        auto&& here = co_await coflux::context();
        auto f = looked_at(here, s);
        reads(here, s, f.view()).attach();
    }
};

/// A lock that is waited for, given and stopped at the same time; no waiter is left without it.
struct stop_at_mutex : of_stop<stop_at_mutex, 2> {
    coflux::mutex lock;
    plain<int> guarded{0};
    static fork<void> locks(environment&, stop_at_mutex* s) {
        const counts_unwinding counts{*s};
        auto guard = co_await s->lock.lock();
        s->guarded.set(s->guarded.get() + 1);
        ++s->went_on;
    }
    static task<void> root(environment&, stop_at_mutex* s) {
        auto&& here = co_await coflux::context();
        locks(here, s).attach();
        locks(here, s).attach();
    }
    void holds() {
        MODEL_CHECK(unwound == 2);
        MODEL_CHECK(guarded.get() == went_on);
        MODEL_CHECK(lock.try_lock().owns_lock());
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(count, arguments, "stop",
                              "a stop request against coroutines that wait, and their records",
                              {sampled<stop_alone>("stop_alone", "begin, must_stop, queue, claim"),
                               sampled<stop_or_wake>("stop_or_wake", "claimed or woken, end"),
                               sampled<stop_at_next_wait>("stop_at_next_wait", "a request that finds no waiter"),
                               sampled<record_ends>("record_ends", "a record ends below a walk"),
                               sampled<records_begin>("records_begin", "two publish the record above"),
                               sampled<looks_at_request>("looks_at_request", "mark and count of two requests"),
                               sampled<record_begins>("record_begins", "a record takes over the mark of the one above"),
                               sampled<looks_past_records>("looks_past_records", "looks while a walk stands, or ends"),
                               sampled<waits_again>("waits_again", "a wait behind a walk"),
                               sampled<asked_twice>("asked_twice", "two requests of one, and a look after one"),
                               sampled<asked_above>("asked_above", "a walk that meets another, and a look"),
                               sampled<asked_below>("asked_below", "a request below a walk, and a look"),
                               sampled<stop_in_call>("stop_in_call", "the record of a call's recorder"),
                               sampled<stop_of_call>("stop_of_call", "a call is stopped alone"),
                               sampled<call_given_above>("call_given_above", "a call becomes a part of its awaiter"),
                               sampled<bare_call>("bare_call", "a call that names no environment"),
                               sampled<call_computes>("call_computes", "the count of a call that begins"),
                               sampled<call_of_object_above>("call_of_object_above", "a call of an object leaves it"),
                               sampled<call_of_object_beside>("call_of_object_beside", "a call that stays there"),
                               sampled<stop_twice>("stop_twice", "two walks in steps, and a record that ends"),
                               sampled<stop_of_child>("stop_of_child", "two requests, an outcome"),
                               sampled<cuts_off>("cuts_off", "the mark of a scope before its child is released"),
                               sampled<stop_of_view>("stop_of_view", "a node: queued to claimed or ended"),
                               sampled<stop_at_mutex>("stop_at_mutex", "a primitive's lock below the record's")});
}
