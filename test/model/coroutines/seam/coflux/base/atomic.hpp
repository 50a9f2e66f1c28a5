// The seam for atomics, as the model programs see it: the same names over Relacy, so that the library's own headers and
// sources are what is checked. Stands before include/ on the include path of test/model.
//
// Relacy's atomics live in a table by address: one of ours has the size and layout of its value, is trivially
// destructible and may be a constant, as std's are. Code that frees memory says so by model::forget(): a use that is
// not ordered before that fails the test.
#pragma once

#include <bit>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <ostream>
#include <shared_mutex>
#include <source_location>
#include <thread>
#include <type_traits>

#include <atomic>

#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// Relacy prints the values of atomics.
template <typename Enumeration>
    requires std::is_enum_v<Enumeration>
std::ostream& operator<<(std::ostream& out, Enumeration value) {
    return out << static_cast<long long>(value);
}

}  // namespace coflux::detail

#include "../../../../support/relacy.hpp"

namespace coflux::model {

/// Around each operation, because Relacy may run another thread in it: model threads are fibers of one thread of the
/// system, which share its thread_local variables.
class switch_point {
public:
    switch_point() noexcept : saved_(detail::this_thread), result_(detail::thread_result()) {}
    ~switch_point() {
        detail::this_thread = saved_;
        detail::thread_result() = result_;
    }
    switch_point(const switch_point&) = delete;
    switch_point& operator=(const switch_point&) = delete;

private:
    detail::thread_state saved_;
    std::uint64_t result_;
};

/// Whether there is an interleaving: else a static object is being initialised.
[[nodiscard]] inline bool runs() noexcept {
    return rl::is_ctx() && rl::ctx().threadx_ != nullptr;
}
inline std::uint64_t interleaving = 1;  // counted by the model's main

/// Relacy's atomics of one interleaving, by the address of ours.
class atomic_table {
public:
    static constexpr std::size_t places = std::size_t{1} << 12;

    struct entry {
        const void* address;
        std::uint64_t made_in;
        void (*destroy)(void* modelled);  // nullptr: its memory was freed
        rl::var_data* life;               // each use must come after the beginning and before the end of it
        alignas(16) std::byte bytes[96];
    };

    /// The interleaving is over, or was broken off: then Relacy's objects are gone already.
    void end(bool broken_off) noexcept {
        for (std::size_t i = 0; i != used_ && !broken_off; ++i) {
            if (in_use_[i]->destroy != nullptr) destroy(*in_use_[i]);
        }
        used_ = 0;
        ++round_;
    }
    /// The atomic at `address` begins, or begins anew.
    template <typename T>
    rl::atomic<T>& make(const void* address, T value) noexcept {
        using modelled = rl::atomic<T>;
        static_assert(sizeof(modelled) <= sizeof(entry::bytes));
        entry& e = find(address);
        if (e.destroy != nullptr) destroy(e);
        e.life = rl::ctx().var_ctor();
        e.life->init(*rl::ctx().threadx_);
        e.destroy = [](void* m) { static_cast<modelled*>(m)->~modelled(); };
        return *::new (static_cast<void*>(e.bytes)) modelled(value);
    }
    /// The word at `address`; a global that was not touched yet begins with `initial`.
    template <typename T>
    rl::atomic<T>& at(const void* address, const T& initial, const std::source_location& where) noexcept {
        const std::size_t before = used_;
        entry& e = find(address);
        if (used_ != before) return make<T>(address, initial);
        if (e.destroy == nullptr) fail_here("an atomic in memory that was given back", where);
        if (!e.life->load(*rl::ctx().threadx_))
            fail_here("a use of an atomic that nothing orders after its beginning", where);
        return *std::launder(reinterpret_cast<rl::atomic<T>*>(e.bytes));
    }
    void forget(const void* from, std::size_t bytes) noexcept {
        const auto* const first = static_cast<const std::byte*>(from);
        for (std::size_t i = 0; i != used_; ++i) {
            entry& e = *in_use_[i];
            const auto* const a = static_cast<const std::byte*>(e.address);
            if (a < first || a >= first + bytes || e.destroy == nullptr) continue;
            if (!e.life->store(*rl::ctx().threadx_))
                fail_here("memory is given back that nothing orders after its last use");
            destroy(e);
            e.destroy = nullptr;
        }
    }

private:
    static void destroy(entry& e) noexcept {
        e.destroy(e.bytes);
        rl::ctx().var_dtor(e.life);
    }
    entry& find(const void* address) noexcept {
        std::size_t i = (reinterpret_cast<std::uintptr_t>(address) * 0x9e3779b97f4a7c15ULL) >> 52U;
        for (;; i = (i + 1) % places) {
            entry& e = entries_[i];
            if (e.made_in != round_) {
                if (used_ == places / 2) std::abort();  // a scenario that is too large
                e.made_in = round_;
                e.address = address;
                e.destroy = nullptr;
                in_use_[used_++] = &e;
                return e;
            }
            if (e.address == address) return e;
        }
    }

    entry entries_[places]{};
    entry* in_use_[places]{};
    std::size_t used_ = 0;
    std::uint64_t round_ = 1;
};
inline atomic_table atomics;

/// For allocators of the models: the atomics in this memory are over.
inline void forget(const void* from, std::size_t bytes) noexcept {
    atomics.forget(from, bytes);
}

/// The model's main calls it: see test/model/support/model.hpp.
inline void forget_atomics() noexcept {
    atomics.end(false);
}
inline void drop_atomics() noexcept {
    atomics.end(true);
}

/// Another model thread may run; test/model/support/model.cpp.
void let_others_run() noexcept;

[[nodiscard]] constexpr rl::memory_order order_of(std::memory_order order) noexcept {
    switch (order) {
    case std::memory_order_relaxed: return rl::mo_relaxed;
    case std::memory_order_consume:
    case std::memory_order_acquire: return rl::mo_acquire;
    case std::memory_order_release: return rl::mo_release;
    case std::memory_order_acq_rel: return rl::mo_acq_rel;
    default: return rl::mo_seq_cst;
    }
}

/// One order of one operation in the source that a run takes for a weaker one: a mutant that needs no compilation. From
/// the variable COFLUX_MODEL_WEAKEN: file name, line, column, "success" or "failure", and the order. With
/// COFLUX_MODEL_SITES in place of that, what was executed is printed at the end of the program.
class weakening {
public:
    weakening() {
        lists_ = std::getenv("COFLUX_MODEL_SITES") != nullptr;
        const char* const asked = std::getenv("COFLUX_MODEL_WEAKEN");
        char order[16] = "";
        char part[16] = "";
        if (asked == nullptr || std::sscanf(asked, "%63s %u %u %15s %15s", file_, &line_, &column_, part, order) != 5)
            return;
        failure_ = std::strcmp(part, "failure") == 0;
        order_ = std::strcmp(order, "relaxed") == 0   ? std::memory_order_relaxed
                 : std::strcmp(order, "acquire") == 0 ? std::memory_order_acquire
                 : std::strcmp(order, "release") == 0 ? std::memory_order_release
                                                      : std::memory_order_acq_rel;
        weakens_ = true;
    }
    ~weakening() {
        for (std::size_t i = 0; i != used_; ++i) {
            const site& s = sites_[i];
            std::printf("site %s %u %u %s %d %s\n", s.file, s.line, s.column, s.failure ? "failure" : "success",
                        static_cast<int>(s.order), s.kind);
        }
    }
    weakening(const weakening&) = delete;
    weakening& operator=(const weakening&) = delete;

    [[nodiscard]] std::memory_order of(std::memory_order order, const std::source_location& w, const char* kind,
                                       bool failure = false) noexcept {
        if (weakens_ && w.line() == line_ && w.column() == column_ && failure == failure_ &&
            std::strcmp(name_of(w.file_name()), file_) == 0)
            return order_;
        if (lists_) [[unlikely]]
            list(order, w, kind, failure);
        return order;
    }

private:
    struct site {
        const char* file;
        unsigned line;
        unsigned column;
        bool failure;
        std::memory_order order;
        const char* kind;
    };
    static const char* name_of(const char* path) noexcept {
        const char* const slash = std::strrchr(path, '/');
        return slash != nullptr ? slash + 1 : path;
    }
    void list(std::memory_order order, const std::source_location& w, const char* kind, bool failure) noexcept {
        for (std::size_t i = 0; i != used_; ++i) {
            const site& s = sites_[i];
            if (s.line == w.line() && s.column == w.column() && s.failure == failure &&
                std::strcmp(s.file, w.file_name()) == 0)
                return;
        }
        if (used_ != sizeof sites_ / sizeof *sites_)
            sites_[used_++] = {w.file_name(), w.line(), w.column(), failure, order, kind};
    }

    char file_[64] = "";
    unsigned line_ = 0;
    unsigned column_ = 0;
    bool failure_ = false;
    bool weakens_ = false;
    bool lists_ = false;
    std::memory_order order_ = std::memory_order_relaxed;
    site sites_[512]{};
    std::size_t used_ = 0;
};
inline weakening weakened;

/// The failure order that std derives from one order.
[[nodiscard]] constexpr std::memory_order on_failure(std::memory_order order) noexcept {
    if (order == std::memory_order_acq_rel) return std::memory_order_acquire;
    if (order == std::memory_order_release) return std::memory_order_relaxed;
    return order;
}

/// Relacy prints values, which not every pointer can.
template <typename T>
using word_of = std::conditional_t<std::is_pointer_v<T>, std::uintptr_t, T>;
template <typename T>
[[nodiscard]] word_of<T> to_word(T value) noexcept {
    return std::bit_cast<word_of<T>>(value);
}

/// The operations of an atomic and of an atomic_ref. Outside of a model (before main) they are plain.
template <typename T>
class operations {
public:
    using where = std::source_location;
    using order = std::memory_order;
    static constexpr order strongest = std::memory_order_seq_cst;

    static T load(const T& of, order o, const where& w) noexcept {
        if (!runs()) return of;
        const switch_point point;
        o = weakened.of(o, w, "load");
        return std::bit_cast<T>(get(of, w).load(order_of(o), model::at(w)));
    }
    static void store(T& of, T value, order o, const where& w) noexcept {
        if (runs()) {
            const switch_point point;
            o = weakened.of(o, w, "store");
            get(of, w).store(to_word(value), order_of(o), model::at(w));
        } else {
            of = value;
        }
    }
    template <bool Weak>
    static bool compare_exchange(T& of, T& expected, T value, order o, order failure, const where& w) noexcept {
        const switch_point point;
        o = weakened.of(o, w, "compare_exchange");
        failure = weakened.of(failure, w, "compare_exchange", true);
        // Relacy's order of a failure must not be stronger than that of success; C++17's may.
        if (failure == std::memory_order_acquire && o == std::memory_order_relaxed) o = std::memory_order_acquire;
        if (failure == std::memory_order_acquire && o == std::memory_order_release) o = std::memory_order_acq_rel;
        word_of<T> seen = to_word(expected);
        const bool done = get(of, w).compare_exchange(rl::bool_t<Weak>(), seen, to_word(value), order_of(o),
                                                      order_of(failure), model::at(w));
        expected = std::bit_cast<T>(seen);
        return done;
    }
    template <rl::rmw_type_e Type, typename Y>
    static T change(T& of, Y operand, order o, const where& w) noexcept {
        const switch_point point;
        o = weakened.of(o, w, "read-modify-write");
        return std::bit_cast<T>(get(of, w).rmw(rl::rmw_type_t<Type>(), to_word(operand), order_of(o), model::at(w)));
    }

private:
    static rl::atomic<word_of<T>>& get(const T& of, const where& w) noexcept {
        return atomics.at<word_of<T>>(&of, to_word(of), w);
    }
};

/// An atomic with this value begins. Outside of a model there is only the value.
template <typename T>
void begins(const T& value) noexcept {
    if (!runs()) return;
    const switch_point point;
    atomics.make<word_of<T>>(&value, to_word(value));
}

/// The common part of atomic and atomic_ref: `Self::value()` is where the value would be.
template <typename Self, typename T>
class atomic_interface {
    using ops = operations<T>;
    using where = std::source_location;
    using order = std::memory_order;

public:
    using value_type = T;

    T load(order o = ops::strongest, where w = where::current()) const noexcept { return ops::load(at(), o, w); }
    void store(T value, order o = ops::strongest, where w = where::current()) const noexcept {
        ops::store(at(), value, o, w);
    }
    T exchange(T value, order o = ops::strongest, where w = where::current()) const noexcept {
        return ops::template change<rl::rmw_type_swap>(at(), value, o, w);
    }
    T fetch_add(T value, order o = ops::strongest, where w = where::current()) const noexcept {
        return ops::template change<rl::rmw_type_add>(at(), value, o, w);
    }
    T fetch_sub(T value, order o = ops::strongest, where w = where::current()) const noexcept {
        return ops::template change<rl::rmw_type_sub>(at(), value, o, w);
    }
    T fetch_and(T value, order o = ops::strongest, where w = where::current()) const noexcept {
        return ops::template change<rl::rmw_type_and>(at(), value, o, w);
    }
    T fetch_or(T value, order o = ops::strongest, where w = where::current()) const noexcept {
        return ops::template change<rl::rmw_type_or>(at(), value, o, w);
    }
    bool compare_exchange_weak(T& expected, T value, order o, order failure,
                               where w = where::current()) const noexcept {
        return ops::template compare_exchange<true>(at(), expected, value, o, failure, w);
    }
    bool compare_exchange_weak(T& expected, T value, order o = ops::strongest,
                               where w = where::current()) const noexcept {
        return ops::template compare_exchange<true>(at(), expected, value, o, on_failure(o), w);
    }
    bool compare_exchange_strong(T& expected, T value, order o, order failure,
                                 where w = where::current()) const noexcept {
        return ops::template compare_exchange<false>(at(), expected, value, o, failure, w);
    }
    bool compare_exchange_strong(T& expected, T value, order o = ops::strongest,
                                 where w = where::current()) const noexcept {
        return ops::template compare_exchange<false>(at(), expected, value, o, on_failure(o), w);
    }
    /// Looks again and again: a lost notification is not found, a missing one is no fault of the model.
    void wait(T old, order o = ops::strongest, where w = where::current()) const noexcept {
        while (load(o, w) == old) {
            const switch_point point;
            let_others_run();
        }
    }
    void notify_one() const noexcept {}
    void notify_all() const noexcept {}
    operator T() const noexcept { return load(); }

private:
    T& at() const noexcept { return static_cast<const Self&>(*this).value(); }
};

}  // namespace coflux::model

namespace coflux::detail {

template <typename T>
class atomic : public model::atomic_interface<atomic<T>, T> {
public:
    constexpr atomic() noexcept : atomic(T()) {}
    constexpr atomic(T value) noexcept : value_(value) {
        if (!std::is_constant_evaluated()) model::begins<T>(value_);
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

private:
    friend class model::atomic_interface<atomic<T>, T>;
    T& value() const noexcept { return value_; }
    mutable T value_;
};

template <typename T>
class atomic_ref : public model::atomic_interface<atomic_ref<T>, T> {
public:
    explicit atomic_ref(T& of) noexcept : of_(&of) {}

private:
    friend class model::atomic_interface<atomic_ref<T>, T>;
    T& value() const noexcept { return *of_; }
    T* of_;
};

template <typename T>
class relaxed {
public:
    relaxed() noexcept = default;
    relaxed(T value) noexcept {
        value_ = value;
        model::begins<T>(value_);
    }
    relaxed(const relaxed&) = delete;
    relaxed& operator=(const relaxed&) = delete;
    relaxed& operator=(T value) noexcept {
        atomic_ref<T>(value_).store(value, std::memory_order_relaxed);
        return *this;
    }
    [[nodiscard]] T own() const noexcept { return *this; }  // what was stored is not in value_
    operator T() const noexcept { return atomic_ref<T>(const_cast<T&>(value_)).load(std::memory_order_relaxed); }

private:
    T value_;
};

/// Both sides of an asymmetric fence are full fences here: the heavy one makes the light one of them.
inline void light_thread_fence(const std::source_location& w = std::source_location::current()) noexcept {
    if (!model::runs()) return;
    const model::switch_point point;
    rl::atomic_thread_fence(rl::mo_seq_cst, model::at(w));
}

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

}  // namespace coflux::detail
