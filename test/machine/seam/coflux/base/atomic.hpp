// The machine's seam for atomics: those of std, each of whose accesses the machine sees.
#pragma once

#include <atomic>

#include "../../../machine.hpp"

namespace coflux::detail {

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

/// The common part of atomic and atomic_ref. `Word` is the std's, at `where()`.
template <typename Self, typename T>
class seen_word {
public:
    using value_type = T;

    T load(std::memory_order o = memory_order_seq_cst) const noexcept {
        self().touch(machine::access::read);
        return self().word().load(o);
    }
    operator T() const noexcept { return load(); }
    void store(T value, std::memory_order o = memory_order_seq_cst) const noexcept {
        self().touch(o == memory_order_seq_cst ? machine::access::locked : machine::access::write);
        self().word().store(value, o);
    }
    T exchange(T value, std::memory_order o = memory_order_seq_cst) const noexcept {
        self().touch(machine::access::locked);
        return self().word().exchange(value, o);
    }
    template <typename... Orders>
    bool compare_exchange_strong(T& expected, T desired, Orders... orders) const noexcept {
        self().touch(machine::access::locked);
        return self().word().compare_exchange_strong(expected, desired, orders...);
    }
    template <typename... Orders>
    bool compare_exchange_weak(T& expected, T desired, Orders... orders) const noexcept {
        return compare_exchange_strong(expected, desired, orders...);
    }
    template <typename D>
    T fetch_add(D d, std::memory_order o = memory_order_seq_cst) const noexcept {
        self().touch(machine::access::locked);
        return self().word().fetch_add(d, o);
    }
    template <typename D>
    T fetch_sub(D d, std::memory_order o = memory_order_seq_cst) const noexcept {
        self().touch(machine::access::locked);
        return self().word().fetch_sub(d, o);
    }
    T fetch_or(T bits, std::memory_order o = memory_order_seq_cst) const noexcept {
        self().touch(machine::access::locked);
        return self().word().fetch_or(bits, o);
    }
    T fetch_and(T bits, std::memory_order o = memory_order_seq_cst) const noexcept {
        self().touch(machine::access::locked);
        return self().word().fetch_and(bits, o);
    }

    void wait(T old, std::memory_order o = memory_order_seq_cst) const noexcept {
        while (load(o) == old) machine::wait_at(this);  // no other thread runs between the two
    }
    void notify_one() const noexcept { machine::go_on_at(this, false); }
    void notify_all() const noexcept { machine::go_on_at(this, true); }

private:
    const Self& self() const noexcept { return static_cast<const Self&>(*this); }
};

template <typename T>
class atomic : public seen_word<atomic<T>, T> {
public:
    static constexpr bool is_always_lock_free = std::atomic<T>::is_always_lock_free;

    constexpr atomic() noexcept = default;
    constexpr atomic(T value) noexcept : word_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    T operator=(T value) noexcept {
        this->store(value);
        return value;
    }

private:
    friend class seen_word<atomic<T>, T>;
    void touch(machine::access how) const noexcept { machine::touch(&word_, how); }
    std::atomic<T>& word() const noexcept { return word_; }

    mutable std::atomic<T> word_;
};

template <typename T>
class atomic_ref : public seen_word<atomic_ref<T>, T> {
public:
    static constexpr bool is_always_lock_free = std::atomic_ref<T>::is_always_lock_free;
    static constexpr std::size_t required_alignment = std::atomic_ref<T>::required_alignment;

    explicit atomic_ref(T& of) noexcept : of_(&of) {}

private:
    friend class seen_word<atomic_ref<T>, T>;
    void touch(machine::access how) const noexcept { machine::touch(of_, how); }
    std::atomic_ref<T> word() const noexcept { return std::atomic_ref<T>(*of_); }

    T* of_;
};

/// As the library's.
template <typename T>
class relaxed {
public:
    relaxed() noexcept = default;
    relaxed(T value) noexcept : value_(value) {}
    relaxed(const relaxed&) = delete;
    relaxed& operator=(const relaxed&) = delete;
    relaxed& operator=(T value) noexcept {
        atomic_ref<T>(value_).store(value, memory_order_relaxed);
        return *this;
    }
    [[nodiscard]] T own() const noexcept { return value_; }
    operator T() const noexcept { return atomic_ref<T>(const_cast<T&>(value_)).load(memory_order_relaxed); }

private:
    T value_;
};

inline void light_thread_fence() noexcept {
    std::atomic_signal_fence(memory_order_seq_cst);
}

}  // namespace coflux::detail
