// Results that count themselves, note where they die, and throw in a copy or move of choice; and coroutines that give
// them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <coflux/coflux.hpp>

namespace coflux_test {

/// Counts results, and throws in one of their copies or moves.
struct ledger {
    static inline std::atomic<int> alive = 0;
    static inline std::atomic<int> lost = 0;  // died where they were not born, or twice
    static inline std::atomic<int> transfers = 0;
    static inline std::atomic<int> throws_at = 0;

    static void open(int at) {
        alive = lost = transfers = 0;
        throws_at = at;
    }
    static void transfer() {
        if (++transfers == throws_at) throw std::runtime_error("transfer");
    }
    static bool has_thrown() { return throws_at != 0 && transfers >= throws_at; }
};

/// A result that moves, and copies if it is to, at the risk of an exception.
template <bool Copies, std::size_t Alignment = alignof(void*), bool Noexcept = true>
struct alignas(Alignment) odd {
    explicit odd(int v) : value(v), self(this) { ++ledger::alive; }
    odd(odd&& other) : value(other.value), self(this) {
        ledger::transfer();
        ++ledger::alive;
    }
    odd(const odd& other)
        requires Copies
        : value(other.value),
          self(this) {
        ledger::transfer();
        ++ledger::alive;
    }
    odd& operator=(const odd&) = delete;
    ~odd() noexcept(Noexcept) {
        if (std::exchange(self, nullptr) != this) ++ledger::lost;
        --ledger::alive;
    }
    [[nodiscard]] bool is_right() const {
        return value == 7 && self == this && reinterpret_cast<std::uintptr_t>(this) % Alignment == 0;
    }

    int value;
    const odd* self;
};
template <typename T, typename E>
coflux::fork<T, E> fork_of(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return 7;
}
template <typename T, typename E>
coflux::task<T, E> task_of(coflux::environment&, int yields) {
    std::remove_const_t<T> result(7);
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return std::move(result);
}
template <typename T>
coflux::call<T> call_of(coflux::environment&, int yields) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    co_return 7;
}

/// 1: the right value, 0: a wrong one; -1: an error as an outcome.
template <typename T>
int number_of(const coflux::outcome<T>& o) {
    return o.has_value() ? 1 : o.has_error() ? -1 : 0;
}

}  // namespace coflux_test
