// How a child's end meets its awaiter, its handle's end, views and callbacks, and the end of its scope:
// docs/design/fork_join.md.
#include <coroutine>
#include <exception>
#include <utility>

#include <coflux/core/detail/join/callbacks.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/fork_view.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>

#include "core/detail/scope/scope_failures.hpp"

#include "support/coroutines.hpp"
#include "support/traced.hpp"

namespace {

using coflux::environment;
using coflux::fork_view;
using coflux::model::bag_executor;
using coflux::model::coroutine_scenario;
using coflux::model::plain;
using coflux::model::root_on_pool;
using coflux::model::traced;
template <typename T>
using fork = coflux::fork<T, bag_executor>;
template <typename T>
using task = coflux::task<T, bag_executor>;

/// Coroutines on one pool, and what each leaves behind for those that come after it.
template <typename Derived, unsigned Threads>
struct of_join : coroutine_scenario<Derived, Threads>, coflux::model::places, root_on_pool {
    plain<int> by_parent{0};
    plain<int> by_child{0};
    plain<int> by_other{0};

    void run(unsigned thread) {
        if (thread != 0) return help();
        run_root([this](environment& env) { return Derived::root(env, static_cast<Derived*>(this)); });
        static_cast<Derived&>(*this).ended();
    }
    void ended() { MODEL_CHECK(by_parent.get() == 2); }

    static fork<traced> child(environment&, Derived* s) {
        s->by_child.set(7);
        co_return traced(1);
    }
    static fork<traced> other(environment&, Derived* s) {
        s->by_other.set(8);
        co_return traced(2);
    }
};

/// 0 → pointer, by the awaiter's CAS, or 0 → done, by the end.
struct await : of_join<await, 2> {
    static task<void> root(environment&, await* s) {
        auto&& here = co_await coflux::context();
        auto f = child(here, s);
        s->by_parent.set(1);  // the end of the child may go on with us, elsewhere
        const traced got = co_await std::move(f);
        MODEL_CHECK(got.value() == 1);
        MODEL_CHECK(s->by_child.get() == 7);
        MODEL_CHECK(s->by_parent.get() == 1);
        s->by_parent.set(2);
    }
};

/// 0 → detached, by the handle, or 0 → done; the release against the end of the scope.
struct drop : of_join<drop, 2> {
    static task<void> root(environment&, drop* s) {
        auto&& here = co_await coflux::context();
        child(here, s).attach();
        s->by_parent.set(2);
    }
    void ended() {
        MODEL_CHECK(by_child.get() == 7);
        MODEL_CHECK(by_parent.get() == 2);
    }
};

/// Two releases against each other and the end of the scope.
struct drop_two : of_join<drop_two, 3> {
    static task<void> root(environment&, drop_two* s) {
        auto&& here = co_await coflux::context();
        child(here, s).attach();
        other(here, s).attach();
        s->by_parent.set(2);
    }
    void ended() {
        MODEL_CHECK(by_child.get() == 7);
        MODEL_CHECK(by_other.get() == 8);
        MODEL_CHECK(by_parent.get() == 2);
    }
};

/// One is awaited, one is left to the scope: the owner's count and the atomic count of one scope.
struct await_and_drop : of_join<await_and_drop, 3> {
    static task<void> root(environment&, await_and_drop* s) {
        auto&& here = co_await coflux::context();
        auto f = child(here, s);
        other(here, s).attach();
        const traced got = co_await std::move(f);
        MODEL_CHECK(got.value() == 1 && s->by_child.get() == 7);
        s->by_parent.set(2);
    }
    void ended() {
        MODEL_CHECK(by_other.get() == 8);
        MODEL_CHECK(by_parent.get() == 2);
    }
};

/// 0 → list → done, or done → list: a view is made, the handle dies, the view is awaited.
struct view : of_join<view, 2> {
    static task<void> root(environment&, view* s) {
        auto&& here = co_await coflux::context();
        auto f = child(here, s);
        s->by_parent.set(1);
        auto v = f.view();
        std::move(f).attach();
        const traced& got = co_await v;
        MODEL_CHECK(got.value() == 1 && s->by_child.get() == 7);
        MODEL_CHECK(s->by_parent.get() == 1);
        s->by_parent.set(2);
    }
};

/// Two waiters in one list, and the last reference.
struct two_views : of_join<two_views, 3> {
    static fork<void> reader(environment&, two_views* s, fork_view<traced> v) {
        const traced& got = co_await v;
        MODEL_CHECK(got.value() == 1 && s->by_child.get() == 7);
    }
    static task<void> root(environment&, two_views* s) {
        auto&& here = co_await coflux::context();
        auto f = child(here, s);
        auto v = f.view();
        reader(here, s, v).attach();
        const traced& got = co_await v;
        MODEL_CHECK(got.value() == 1 && s->by_child.get() == 7);
        s->by_parent.set(2);
    }
};

/// A reader by a view, and an await of the handle, which moves the result out where it is the last to look.
struct view_and_await : of_join<view_and_await, 3> {
    static fork<void> reader(environment&, view_and_await* s, fork_view<traced> v) {
        const traced& got = co_await v;
        MODEL_CHECK(got.value() == 1 && s->by_child.get() == 7);
    }
    static task<void> root(environment&, view_and_await* s) {
        auto&& here = co_await coflux::context();
        auto f = child(here, s);
        reader(here, s, f.view()).attach();
        const traced got = co_await std::move(f);
        MODEL_CHECK(got.value() == 1 && s->by_child.get() == 7);
        s->by_parent.set(2);
    }
};

/// Two callbacks and an await in one list: each callback is called once, and has returned when the await goes on, also
/// where that comes while they are called.
struct callback : of_join<callback, 2> {
    plain<int> by_second{0};  // which runs beside the first where it comes when the child has ended

    static task<void> root(environment&, callback* s) {
        auto&& here = co_await coflux::context();
        auto f = child(here, s);
        f.on_value([s](const traced& got) {
            MODEL_CHECK(got.value() == 1 && s->by_child.get() == 7);
            s->by_other.set(s->by_other.get() + 1);
        });
        f.on_value([s, own = traced(3)](const traced&) {
            MODEL_CHECK(own.value() == 3);
            s->by_second.set(s->by_second.get() + 1);
        });
        const traced got = co_await std::move(f);
        MODEL_CHECK(got.value() == 1);
        MODEL_CHECK(s->by_other.get() == 1 && s->by_second.get() == 1);
        s->by_parent.set(2);
    }
    void ended() { MODEL_CHECK(by_parent.get() == 2); }
};

/// A child that another coroutine makes in the root's environment: counted atomically.
struct counted_atomically : of_join<counted_atomically, 3> {
    static fork<void> maker(environment&, counted_atomically* s, environment* of_root) {
        child(*of_root, s).attach();
        co_return;
    }
    static task<void> root(environment&, counted_atomically* s) {
        auto&& here = co_await coflux::context();
        maker(here, s, &here).attach();
        s->by_parent.set(2);
    }
    void ended() {
        MODEL_CHECK(by_child.get() == 7);
        MODEL_CHECK(by_parent.get() == 2);
    }
};

/// The join of an environment object, its joiner, and its list of children.
struct derived_environment : of_join<derived_environment, 3> {
    static task<void> root(environment&, derived_environment* s) {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        child(sub, s).attach();
        other(sub, s).attach();
        s->by_parent.set(1);
        co_await sub.join();
        MODEL_CHECK(s->by_child.get() == 7 && s->by_other.get() == 8);
        MODEL_CHECK(s->by_parent.get() == 1);
        s->by_parent.set(2);
    }
};

/// Two children leave a failure each in the list of the scope. Nothing is thrown, and the failures count as observed.
struct two_failures : of_join<two_failures, 3> {
    static fork<void> fails(environment&, environment* scope) {
        auto* const f = new coflux::detail::failure(std::make_exception_ptr(1));
        f->observe();
        coflux::detail::scope_failures::record(*scope, *f);
        f->release();
        co_return;
    }
    static task<void> root(environment&, two_failures* s) {
        auto&& here = co_await coflux::context();
        fails(here, &here).attach();
        fails(here, &here).attach();
        s->by_parent.set(2);
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(
        count, arguments, "join", "a child's end against its awaiter, its handle, its views and its scope",
        {sampled<await>("await", "0 to pointer or done"),
         sampled<drop>("drop", "0 to detached or done; the last release"),
         sampled<drop_two>("drop_two", "two releases and the end of the scope"),
         sampled<await_and_drop>("await_and_drop", "the owner's and the atomic count of one scope"),
         sampled<view>("view", "0 to list, list to done, done to list"),
         sampled<two_views>("two_views", "a list of two, the last reference"),
         sampled<view_and_await>("view_and_await", "a list, and the last look, which moves the result"),
         sampled<callback>("callback", "two callbacks and an awaiter"),
         sampled<counted_atomically>("counted_atomically", "a child that another coroutine makes"),
         sampled<derived_environment>("derived_environment", "the join of an environment object"),
         sampled<two_failures>("two_failures", "the list of failures")});
}
