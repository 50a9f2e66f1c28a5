// The deque of base/work_stealing_deque.hpp: docs/design/thread_pool.md has its state table.
#include <coflux/base/work_stealing_deque.hpp>

#include <memory>

#include "support/model.hpp"

namespace {

using coflux::detail::work_stealing_deque;
using coflux::model::plain;

/// What the deque holds: each is written by its maker before the push, read by its taker, and taken once.
struct item {
    plain<int> made{0};
    int taken = 0;
};

template <typename Derived, rl::thread_id_t Threads, int Items>
struct of_deque : coflux::model::scenario<Derived, Threads> {
    std::unique_ptr<work_stealing_deque> deque;
    std::unique_ptr<item[]> items;

    void before() {
        deque = std::make_unique<work_stealing_deque>(Derived::capacity);
        items = std::make_unique<item[]>(Items);
    }
    void push(int i) {
        items[i].made.set(i + 1);
        deque->push(&items[i]);
    }
    int take(void* taken) {
        if (taken == nullptr) return -1;
        item& it = *static_cast<item*>(taken);
        const int i = static_cast<int>(&it - items.get());
        MODEL_CHECK(it.made.get() == i + 1);
        it.made.set(0);  // a second taker races with this one
        MODEL_CHECK(++it.taken == 1);
        return i;
    }
    int pop() { return take(deque->pop()); }
    int steal() { return take(deque->steal()); }
    void after() {
        while (pop() >= 0) {}
        for (int i = 0; i < Items; ++i) MODEL_CHECK(items[i].taken == 1);
        items.reset();
        deque.reset();
    }
};

/// top == b: owner and thief race for the only element.
struct lone_element : of_deque<lone_element, 2, 1> {
    static constexpr std::size_t capacity = 2;
    void thread(unsigned i) {
        if (i == 0) {
            push(0);
            pop();
        } else {
            steal();
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    return coflux::model::run(count, arguments, "work_stealing_deque", "the work-stealing deque",
                              {coflux::model::searched<lone_element>("lone_element", "top == b by CAS, empty")});
}
