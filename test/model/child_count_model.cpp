// The count of a scope's children, core/detail/scope/child_count.hpp: the owner's count, the atomic one, and the end of
// the scope.
#include "../../src/core/detail/scope/child_count.cpp"

#include "support/model.hpp"

namespace {

using coflux::detail::child_added;
using coflux::detail::child_count;
using coflux::detail::children_left;
using coflux::model::plain;

/// Thread 0 is the owner. Which thread goes on when no child is left must see what all children, and the owner, did.
template <unsigned Threads>
struct of_scope : coflux::model::scenario<Threads> {
    child_count children;
    plain<int> by_child[Threads];  // what the child on that thread does; the owner's before it closes the scope
    plain<int> gone_on{0};         // how often a thread went on with the owner

    void end_child(unsigned index) {
        by_child[index].set(1);
        if (children.release() == children_left::none) go_on();
    }
    void close() {
        by_child[0].set(1);
        if (children.close() == children_left::none) go_on();
    }
    void go_on() {
        for (plain<int>& done : by_child) MODEL_CHECK(done.get() == 1);
        MODEL_CHECK(children.is_joined());
        gone_on.set(gone_on.get() + 1);
    }
    void after() override { MODEL_CHECK(gone_on.get() == 1); }
};

/// Counted by the owner, released elsewhere.
struct by_owner : of_scope<3> {
    void before() override {
        for (int i = 0; i < 2; ++i) children.add_by_owner();
    }
    void thread(unsigned index) override { index == 0 ? close() : end_child(index); }
};

/// A child of each kind. A third is released by the owner, which was suspended in the await of it.
struct both_counts : of_scope<3> {
    void before() override {
        children.add_by_owner();
        MODEL_CHECK(children.add_atomically() == child_added::counted);
    }
    void thread(unsigned index) override {
        if (index != 0) return end_child(index);
        children.add_by_owner();
        children.release_by_owner();
        close();
    }
};

/// A child that another thread made adds one to the scope, which may be closed by then, and ends before it.
struct child_adds : of_scope<3> {
    coflux::detail::atomic<int> made{0};

    void before() override { MODEL_CHECK(children.add_atomically() == child_added::counted); }
    void thread(unsigned index) override {
        if (index == 0) return close();
        if (index == 1) {
            MODEL_CHECK(children.add_atomically() == child_added::counted);
            made.store(1, coflux::detail::memory_order_release);
            return end_child(1);
        }
        while (made.load(coflux::detail::memory_order_acquire) == 0) coflux::detail::cpu_pause();
        end_child(2);
    }
};

/// The owner looks whether it has children. If not, it ends its scope without closing it.
template <typename Derived>
struct looks : of_scope<3> {
    void before() override {
        for (int i = 0; i < 2; ++i) Derived::add(children);
    }
    void thread(unsigned index) override {
        if (index != 0) return end_child(index);
        if (Derived::may_have_any(children)) return close();
        MODEL_CHECK(by_child[1].get() == 1 && by_child[2].get() == 1);
        children.end();
        MODEL_CHECK(children.add_atomically() == child_added::too_late);
        gone_on.set(1);
    }
};
struct looks_closely : looks<looks_closely> {
    static void add(child_count& c) { c.add_by_owner(); }
    static bool may_have_any(const child_count& c) { return c.has_any(); }
};
struct looks_quickly : looks<looks_quickly> {
    static void add(child_count& c) { MODEL_CHECK(c.add_atomically() == child_added::counted); }
    static bool may_have_any(const child_count& c) { return c.may_have_any(); }
};

/// The thread that goes on opens the scope again, and closes it after a second generation.
struct reopens : of_scope<2> {
    coflux::detail::atomic<int> again{0};
    plain<int> second{0};

    void before() override { children.add_by_owner(); }
    void reopen() {
        MODEL_CHECK(by_child[0].get() == 1 && by_child[1].get() == 1);
        children.reopen();
        MODEL_CHECK(children.is_open() && !children.has_any());
        MODEL_CHECK(children.add_atomically() == child_added::counted);
        again.store(1, coflux::detail::memory_order_release);
        if (children.close() == children_left::none) end();
    }
    void end() {
        MODEL_CHECK(second.get() == 1);
        children.end();
        MODEL_CHECK(children.add_atomically() == child_added::too_late);
        gone_on.set(gone_on.get() + 1);
    }
    void thread(unsigned index) override {
        by_child[index].set(1);
        const children_left left = index == 0 ? children.close() : children.release();
        if (left == children_left::none) return reopen();
        while (again.load(coflux::detail::memory_order_acquire) == 0) coflux::detail::cpu_pause();
        second.set(1);
        if (children.release() == children_left::none) end();
    }
};

/// One that nothing keeps in the scope counts itself, or comes too late, and then changes nothing.
struct comes_late : of_scope<3> {
    void before() override { children.add_by_owner(); }
    void thread(unsigned index) override {
        if (index == 0) return close();
        if (index == 1) return end_child(1);
        by_child[2].set(1);
        if (children.try_add_atomically() && children.release() == children_left::none) go_on();
    }
    void go_on() {
        MODEL_CHECK(by_child[0].get() == 1 && by_child[1].get() == 1);
        MODEL_CHECK(children.is_joined());
        gone_on.set(gone_on.get() + 1);
    }
    void close() {
        by_child[0].set(1);
        if (children.close() == children_left::none) go_on();
    }
    void end_child(unsigned index) {
        by_child[index].set(1);
        if (children.release() == children_left::none) go_on();
    }
    void after() override {
        MODEL_CHECK(gone_on.get() == 1);
        MODEL_CHECK(children.is_joined());
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::searched;
    return coflux::model::run(count, arguments, "child_count", "the children of a scope, and its end",
                              {
                                  searched<by_owner>("by_owner", "two children, released elsewhere, and the end"),
                                  searched<both_counts>("both_counts", "a child of each kind, and the end"),
                                  searched<child_adds>("child_adds", "a child that adds one", 3),
                                  searched<looks_closely>("looks_closely", "the owner looks for a child"),
                                  searched<looks_quickly>("looks_quickly", "the same, in the quick way"),
                                  searched<comes_late>("comes_late", "one that nothing keeps there"),
                                  searched<reopens>("reopens", "joined, open again, joined, ended", 3),
                              });
}
