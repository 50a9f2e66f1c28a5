// The pool's queue for what comes from outside, src/executor/pool/injection_queue.hpp. Its lock orders everything but
// empty().
#include "../../src/executor/pool/injection_queue.hpp"

#include <memory>

#include "support/model.hpp"

namespace {

using coflux::detail::injection_queue;
using coflux::model::plain;

struct item {
    plain<int> made{0};
    int taken = 0;
};

template <unsigned Threads, int Items>
struct of_queue : coflux::model::scenario<Threads> {
    injection_queue queue{2};
    item items[Items];

    void push(int i) {
        items[i].made.set(i + 1);
        queue.push(std::coroutine_handle<>::from_address(&items[i]));
    }
    int take() {
        const std::coroutine_handle<> h = queue.take();
        if (!h) return -1;
        item& it = *static_cast<item*>(h.address());
        const int i = static_cast<int>(&it - items);
        MODEL_CHECK(it.made.get() == i + 1);
        it.made.set(0);
        MODEL_CHECK(++it.taken == 1);
        return i;
    }
    void after() override {
        while (take() >= 0) {}
        MODEL_CHECK(queue.empty());
        for (const item& it : items) MODEL_CHECK(it.taken == 1);
    }
};

struct two_takers : of_queue<3, 2> {
    void thread(unsigned index) override {
        if (index == 0) {
            push(0);
            push(1);
        } else {
            take();
        }
    }
};

struct two_pushers : of_queue<3, 3> {
    void thread(unsigned index) override {
        if (index == 0) {
            const int first = take();
            const int second = take();
            MODEL_CHECK(first != 1 || second != 0);  // first in, first out
        } else if (index == 1) {
            push(0);
            push(1);
        } else {
            push(2);
        }
    }
};

struct grows : of_queue<2, 4> {
    void thread(unsigned index) override {
        if (index == 0) {
            for (int i = 0; i < 4; ++i) push(i);
        } else {
            int last = -1;
            for (int i = 0; i < 3; ++i) {
                const int taken = take();
                MODEL_CHECK(taken < 0 || taken > last);
                if (taken >= 0) last = taken;
            }
        }
    }
};

/// While one makes room for 4, the other makes room for 8 and uses it.
struct two_grow : of_queue<2, 7> {
    void thread(unsigned index) override {
        if (index == 0) {
            for (int i = 0; i < 6; ++i) push(i);
        } else {
            push(6);
        }
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::searched;
    return coflux::model::run(count, arguments, "injection_queue", "the pool's queue for what comes from outside",
                              {
                                  searched<two_takers>("two_takers", "one pushes, two take", 4),
                                  searched<two_pushers>("two_pushers", "two push, one takes; the ring grows", 3),
                                  searched<two_grow>("two_grow", "two make room at once", 2),
                                  searched<grows>("grows", "the ring grows while another takes, in order", 4),
                              });
}
