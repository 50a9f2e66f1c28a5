// The deque of base/work_stealing_deque.hpp: docs/design/thread_pool.md has its state table.
#include <coflux/base/work_stealing_deque.hpp>

#include <memory>

#include "support/model.hpp"

namespace {

using coflux::detail::work_stealing_deque;
using coflux::model::plain;

/// An element of the deque: written by its maker before the push, read by its taker, and taken once.
struct item {
    plain<int> made{0};
    int taken = 0;
};

/// A thief calls it in place of the system: as strong, on its own side alone. The light side is as strong in a model.
void model_fence() noexcept {
    coflux::detail::light_thread_fence();
}

/// Thread 0 is the owner. With `Heavy`, its pops are free.
template <unsigned Threads, int Items, std::size_t Capacity, coflux::detail::heavy_fence Heavy>
struct of_deque : coflux::model::scenario<Threads> {
    std::unique_ptr<work_stealing_deque> deque;
    std::unique_ptr<item[]> items;

    void before() override {
        deque = std::make_unique<work_stealing_deque>(Capacity, Heavy);
        items = std::make_unique<item[]>(Items);
    }
    void thread(unsigned index) override {
        if (index == 0) {
            owner();
        } else {
            thief(index);
        }
    }
    virtual void owner() = 0;
    virtual void thief(unsigned) { steal(); }
    /// The rest is taken in the end: nothing is lost, and nothing was taken twice.
    void after() override {
        while (pop()) {}
        for (int i = 0; i < Items; ++i) MODEL_CHECK(items[i].taken == 1);
        MODEL_CHECK(deque->size() == 0);
        items.reset();
        deque.reset();
    }

    void push(int i) {
        items[i].made.set(i + 1);
        deque->push(&items[i]);
    }
    bool take(void* taken) {
        if (taken == nullptr) return false;
        item& it = *static_cast<item*>(taken);
        MODEL_CHECK(it.made.get() == static_cast<int>(&it - items.get()) + 1);
        it.made.set(0);  // a second taker races with this one
        MODEL_CHECK(++it.taken == 1);
        return true;
    }
    bool pop() { return take(deque->pop()); }
    bool pop_if(int i) { return deque->pop_if(&items[i]) && take(&items[i]); }
    bool pop_oldest() { return take(deque->pop_oldest()); }
    bool steal() { return take(deque->steal()); }
    bool steal_shared() { return take(deque->steal_shared()); }
    void ask() { (void)deque->ask_to_share(); }
    void share_lone() { deque->share_lone(); }
};

template <coflux::detail::heavy_fence Heavy>
struct lone_element : of_deque<2, 1, 2, Heavy> {
    void owner() override {
        this->push(0);
        this->pop();
    }
};

/// The element that the owner has just made lone again, and what it makes next in the same place.
template <coflux::detail::heavy_fence Heavy>
struct lone_twice : of_deque<2, 2, 2, Heavy> {
    void owner() override {
        this->push(0);
        this->pop();
        this->push(1);
        this->pop();
    }
    void thief(unsigned) override {
        this->steal();
        this->steal();
    }
};

/// The owner comes down to where two thieves are: top < b, then top == b after the exchange.
template <coflux::detail::heavy_fence Heavy>
struct last_of_two : of_deque<3, 2, 2, Heavy> {
    void owner() override {
        this->push(0);
        this->push(1);
        this->pop();
        this->pop();
    }
};

/// An index is written again after a pop, while a thief that saw the old one comes up to it.
template <coflux::detail::heavy_fence Heavy>
struct index_again : of_deque<2, 4, 4, Heavy> {
    void owner() override {
        this->push(0);
        this->push(1);
        this->pop();
        this->push(2);
        this->pop();
        this->push(3);
    }
    void thief(unsigned) override {
        this->steal();
        this->steal();
    }
};

template <coflux::detail::heavy_fence Heavy>
struct taken_back : of_deque<3, 2, 2, Heavy> {
    void owner() override {
        this->push(0);
        this->push(1);
        this->pop_if(0);  // not the youngest
        this->pop_if(1);
        this->pop_if(0);
    }
};

/// The third push finds the buffer full, or the first cell free again.
template <coflux::detail::heavy_fence Heavy>
struct full_or_free : of_deque<2, 4, 2, Heavy> {
    void owner() override {
        this->push(0);
        this->push(1);
        this->push(2);
        this->pop();
        this->push(3);
    }
    void thief(unsigned) override {
        this->steal();
        this->steal();
        this->steal();
    }
};

template <coflux::detail::heavy_fence Heavy>
struct full_with_two_thieves : of_deque<3, 3, 2, Heavy> {
    void owner() override {
        this->push(0);
        this->push(1);
        this->push(2);
        this->pop();
    }
};

/// The owner takes from the other end, as a thief does.
template <coflux::detail::heavy_fence Heavy>
struct oldest_first : of_deque<2, 2, 2, Heavy> {
    void owner() override {
        this->push(0);
        this->push(1);
        this->pop_oldest();
        this->pop();
    }
};

/// The common part of the scenarios of the split deque: a thief that takes without a call, twice.
template <unsigned Threads, int Items, std::size_t Capacity>
struct of_split : of_deque<Threads, Items, Capacity, &model_fence> {
    void thief(unsigned) override {
        this->steal_shared();
        this->steal_shared();
    }
};

/// Two lone elements, one after the other, for which a thief has asked.
struct lone_pushes : of_split<2, 2, 2> {
    void before() override {
        of_split<2, 2, 2>::before();
        ask();
    }
    void owner() override {
        push(0);
        pop();
        push(1);
        pop();
    }
};

/// The owner keeps them, beside a thief with a fence.
struct lone_kept : lone_pushes {
    void thief(unsigned) override {
        steal_shared();
        steal();
    }
};

/// The first is shared with its push.
struct lone_shared : lone_pushes {
    void before() override {
        lone_pushes::before();
        share_lone();
    }
};

/// Three of five are shared. The owner has popped the private ones, and comes down to the others.
struct retreat : of_split<3, 5, 8> {
    void before() override {
        of_split<3, 5, 8>::before();
        for (int i = 0; i < 4; ++i) push(i);
        ask();
        push(4);
        pop();
        pop();
    }
    void owner() override {
        pop();
        pop();
        pop();
    }
};

/// An index that was shared is written again, and is private.
struct index_private : of_split<2, 4, 4> {
    void owner() override {
        push(0);
        ask();
        push(1);
        pop();
        pop();
        push(2);
        push(3);
        pop();
    }
};

/// The thief asks while the owner pops, and calls where it gets nothing.
struct asked : of_deque<2, 3, 4, &model_fence> {
    void owner() override {
        push(0);
        push(1);
        push(2);
        pop();
        pop();
    }
    void thief(unsigned) override {
        ask();
        steal_shared();
        steal();
    }
};

/// One thief takes what is shared, another what is private.
struct both_thefts : of_deque<3, 3, 4, &model_fence> {
    void owner() override {
        push(0);
        ask();
        push(1);
        push(2);
        pop();
        pop();
    }
    void thief(unsigned index) override {
        if (index == 1) {
            steal_shared();
        } else {
            steal();
        }
    }
};

/// A push that is asked finds the buffer full.
struct full_and_asked : of_split<2, 4, 2> {
    void owner() override {
        push(0);
        push(1);
        ask();
        push(2);
        pop();
        push(3);
    }
};

}  // namespace

int main(int count, char** arguments) {
    using coflux::model::sampled;
    using coflux::model::searched;
    return coflux::model::run(
        count, arguments, "work_stealing_deque", "the work-stealing deque",
        {
            searched<lone_element<nullptr>>("lone_element", "top == b by CAS against a thief; empty"),
            searched<lone_twice<nullptr>>("lone_twice", "top == b, then a new element against the same thief", 4),
            searched<last_of_two<nullptr>>("last_of_two",
                                           "top < b, and top == b after the exchange, against two thieves", 2),
            searched<index_again<nullptr>>("index_again", "an index written again after a pop", 3),
            searched<taken_back<nullptr>>("taken_back", "pop_if of another, of the youngest, of a lone one", 2),
            searched<full_or_free<nullptr>>("full_or_free", "grow, or reuse of a cell that a thief left", 3),
            searched<full_with_two_thieves<nullptr>>("full_with_two_thieves", "grow against two thieves", 2),
            searched<oldest_first<nullptr>>("oldest_first", "the owner takes the oldest, against a thief"),
            searched<lone_element<&model_fence>>("lone_element_free",
                                                 "top == b by CAS against a thief; empty; free pops"),
            searched<lone_twice<&model_fence>>("lone_twice_free",
                                               "top == b, then a new element against the same thief; free pops", 4),
            searched<last_of_two<&model_fence>>(
                "last_of_two_free", "top < b, and top == b after the exchange, against two thieves; free pops", 2),
            searched<index_again<&model_fence>>("index_again_free", "an index written again after a pop; free pops", 3),
            searched<taken_back<&model_fence>>("taken_back_free",
                                               "pop_if of another, of the youngest, of a lone one; free pops", 2),
            searched<full_or_free<&model_fence>>("full_or_free_free",
                                                 "grow, or reuse of a cell that a thief left; free pops", 3),
            searched<full_with_two_thieves<&model_fence>>("full_with_two_thieves_free",
                                                          "grow against two thieves; free pops", 2),
            searched<oldest_first<&model_fence>>("oldest_first_free",
                                                 "the owner takes the oldest, against a thief; free pops"),
            searched<lone_kept>("lone_kept", "a lone element that is not shared", 4),
            searched<lone_shared>("lone_shared", "a lone element that is shared", 4),
            searched<retreat>("retreat", "the owner comes down to what is shared, against two thieves", 2),
            searched<index_private>("index_private", "an index that was shared, written again", 3),
            searched<asked>("asked", "a request between the owner's pops, then a theft by the fence", 3),
            searched<both_thefts>("both_thefts", "a theft of what is shared beside one of what is private", 2),
            searched<full_and_asked>("full_and_asked", "a request where the buffer is full", 3),
        });
}
