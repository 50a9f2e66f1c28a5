// Lists whose links are members of their elements: no allocation, no ownership, and no lock of their own.
//
//     intrusive_stack  single, last in first out       push, pop
//     intrusive_chain  single, first in first out      push_back, pop_front
//     intrusive_list   double, in no order             push_front, insert_after, remove
//     intrusive_queue  double, first in first out      push_back, pop_front, remove, which says whether it was in
//
// Where an element must leave without knowing its list, or where links are read without the lock, the list is a circle
// of its own: channel_queue, the slots of timing_wheel. A list that threads share without a lock is a protocol of its
// own.
#pragma once

#include <utility>

#include <coflux/base/config.hpp>

namespace coflux::detail {

/// Which members of an element are its links: `next`, and `previous` where the list is double.
struct own_links {
    template <typename T>
    [[nodiscard]] static COFLUX_INLINE T*& next(T& of) noexcept {
        return of.next;
    }
    template <typename T>
    [[nodiscard]] static COFLUX_INLINE T*& previous(T& of) noexcept {
        return of.previous;
    }
};

template <typename T, typename Links = own_links>
class intrusive_stack {
public:
    [[nodiscard]] bool empty() const noexcept { return top_ == nullptr; }
    /// The last that was pushed, nullptr if there is none.
    [[nodiscard]] T* top() const noexcept { return top_; }
    void push(T& of) noexcept { Links::next(of) = std::exchange(top_, &of); }
    /// nullptr if there is none.
    T* pop() noexcept {
        T* const of = top_;
        if (of != nullptr) top_ = Links::next(*of);
        return of;
    }

private:
    T* top_ = nullptr;
};

template <typename T, typename Links = own_links>
class intrusive_chain {
public:
    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return first_ == nullptr; }
    [[nodiscard]] COFLUX_INLINE T* front() const noexcept { return first_; }
    COFLUX_INLINE void push_back(T& of) noexcept {
        Links::next(of) = nullptr;
        (first_ == nullptr ? first_ : Links::next(*last_)) = &of;
        last_ = &of;
    }
    void push_front(T& of) noexcept {
        Links::next(of) = first_;
        if (first_ == nullptr) last_ = &of;
        first_ = &of;
    }
    /// Moves all of `from`, which is not empty, behind these.
    void append(intrusive_chain& from) noexcept {
        (first_ == nullptr ? first_ : Links::next(*last_)) = from.first_;
        last_ = from.last_;
        from.first_ = nullptr;
    }
    /// nullptr if there is none.
    COFLUX_INLINE T* pop_front() noexcept {
        T* const of = first_;
        if (of != nullptr) first_ = Links::next(*of);
        return of;
    }

private:
    T* first_ = nullptr;
    T* last_ = nullptr;  // has a value while first_ has
};

template <typename T, typename Links = own_links>
class intrusive_list {
public:
    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return first_ == nullptr; }
    [[nodiscard]] COFLUX_INLINE T* front() const noexcept { return first_; }
    COFLUX_INLINE void push_front(T& of) noexcept {
        Links::previous(of) = nullptr;
        Links::next(of) = first_;
        if (first_ != nullptr) Links::previous(*first_) = &of;
        first_ = &of;
    }
    /// Pre: `before` is in this list.
    void insert_after(T& before, T& of) noexcept {
        T* const next = Links::next(before);
        Links::previous(of) = &before;
        Links::next(of) = next;
        Links::next(before) = &of;
        if (next != nullptr) Links::previous(*next) = &of;
    }
    /// Pre: it is in this list. Its own links stay as they are.
    COFLUX_INLINE void remove(T& of) noexcept {
        T* const next = Links::next(of);
        T* const previous = Links::previous(of);
        if (next != nullptr) Links::previous(*next) = previous;
        (previous != nullptr ? Links::next(*previous) : first_) = next;
    }
    /// nullptr if there is none.
    T* pop_front() noexcept {
        T* const of = first_;
        if (of != nullptr) remove(*of);
        return of;
    }

private:
    T* first_ = nullptr;
};

/// An element that is in no queue has `previous == nullptr`; the first has itself there.
template <typename T, typename Links = own_links>
class intrusive_queue {
public:
    [[nodiscard]] COFLUX_INLINE bool empty() const noexcept { return first_ == nullptr; }
    /// The first, nullptr if there is none.
    [[nodiscard]] COFLUX_INLINE T* front() const noexcept { return first_; }

    COFLUX_INLINE void push_back(T& of) noexcept {
        Links::next(of) = nullptr;
        if (first_ == nullptr) {
            first_ = &of;
            Links::previous(of) = &of;
        } else {
            Links::next(*last_) = &of;
            Links::previous(of) = last_;
        }
        last_ = &of;
    }

    /// Takes the first out; nullptr if there is none.
    COFLUX_INLINE T* pop_front() noexcept {
        T* const of = first_;
        if (of == nullptr) return nullptr;
        first_ = Links::next(*of);
        if (first_ != nullptr) Links::previous(*first_) = first_;
        Links::next(*of) = nullptr;
        Links::previous(*of) = nullptr;
        return of;
    }

    /// Takes `of` out; false if it is in no queue.
    /// Pre: if it is in one, it is in this.
    COFLUX_INLINE bool remove(T& of) noexcept {
        T* const previous = Links::previous(of);
        if (previous == nullptr) return false;
        if (&of == first_) {
            (void)pop_front();
            return true;
        }
        T* const next = Links::next(of);
        Links::next(*previous) = next;
        (next != nullptr ? Links::previous(*next) : last_) = previous;
        Links::next(of) = nullptr;
        Links::previous(of) = nullptr;
        return true;
    }

    /// Takes all out: a chain by `next`, oldest first.
    [[nodiscard]] T* take_all() noexcept {
        T* const all = first_;
        for (T* of = all; of != nullptr; of = Links::next(*of)) Links::previous(*of) = nullptr;
        first_ = nullptr;
        return all;
    }

private:
    T* first_ = nullptr;
    T* last_ = nullptr;  // has a value while first_ has
};

}  // namespace coflux::detail
