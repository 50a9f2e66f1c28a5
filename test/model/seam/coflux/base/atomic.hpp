// The seam's atomics: those of base/atomic.hpp, on Relacy's.
//
// std::atomic is trivial to destroy, and the library frees raw memory with atomics in it; Relacy's must be destroyed,
// or it reports a leak. So an atomic here is a handle, and its Relacy object lives in a node that is destroyed with the
// handle, or else at the end of the interleaving (model::forget_atomics).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <ostream>
#include <source_location>
#include <type_traits>

#include "../../../support/relacy.hpp"

namespace coflux::detail {

using memory_order = rl::memory_order;
inline constexpr memory_order memory_order_relaxed = rl::mo_relaxed;
inline constexpr memory_order memory_order_acquire = rl::mo_acquire;
inline constexpr memory_order memory_order_release = rl::mo_release;
inline constexpr memory_order memory_order_acq_rel = rl::mo_acq_rel;
inline constexpr memory_order memory_order_seq_cst = rl::mo_seq_cst;

}  // namespace coflux::detail

namespace coflux::model {

/// The first bits of a new value of Relacy's: its objects have a default constructor and no other.
inline std::uint64_t first_bits = 0;

/// The bits of any T that std::atomic takes, with the arithmetic of its width.
template <typename Bits>
struct value_of_width {
    Bits bits = static_cast<Bits>(first_bits);

    value_of_width() = default;
    value_of_width(Bits b) : bits(b) {}
    friend bool operator==(value_of_width a, value_of_width b) { return a.bits == b.bits; }
    friend value_of_width operator+(value_of_width a, value_of_width b) { return static_cast<Bits>(a.bits + b.bits); }
    friend value_of_width operator-(value_of_width a, value_of_width b) { return static_cast<Bits>(a.bits - b.bits); }
    friend value_of_width operator&(value_of_width a, value_of_width b) { return static_cast<Bits>(a.bits & b.bits); }
    friend value_of_width operator|(value_of_width a, value_of_width b) { return static_cast<Bits>(a.bits | b.bits); }
    friend value_of_width operator^(value_of_width a, value_of_width b) { return static_cast<Bits>(a.bits ^ b.bits); }
    friend std::ostream& operator<<(std::ostream& out, value_of_width v) { return out << std::uint64_t{v.bits}; }
};

template <std::size_t Bytes>
using bits_of_size = std::conditional_t<
    Bytes == 1, std::uint8_t,
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// A Relacy object in the list of all of this interleaving.
struct node {
    node* next;
    node* previous;
    const void* of;  // the plain object of an atomic_ref, else nullptr
    void (*destroy)(node*) noexcept;
};

inline node all_nodes{&all_nodes, &all_nodes, nullptr, nullptr};
inline std::uint64_t interleaving = 1;

/// Destroys what the interleaving's atomics left behind, before Relacy looks for leaks.
inline void forget_atomics() noexcept {
    while (all_nodes.next != &all_nodes) {
        node* const n = all_nodes.next;
        all_nodes.next = n->next;
        n->next->previous = &all_nodes;
        n->destroy(n);
    }
}

/// The same where the interleaving was broken off, and its objects are gone already.
inline void drop_atomics() noexcept {
    for (node* n = all_nodes.next; n != &all_nodes;) {
        node* const next = n->next;
        (std::free)(n);
        n = next;
    }
    all_nodes.next = all_nodes.previous = &all_nodes;
}

/// The node of the plain object at `address` in this interleaving, or nullptr.
inline node* find_node(const void* address) noexcept {
    for (node* n = all_nodes.next; n != &all_nodes; n = n->next) {
        if (n->of == address) return n;
    }
    return nullptr;
}

inline void link(node* n) noexcept {
    n->next = all_nodes.next;
    n->previous = &all_nodes;
    all_nodes.next->previous = n;
    all_nodes.next = n;
}

/// Whether there is an interleaving: else a static object is being initialised.
inline bool runs() noexcept {
    return rl::is_ctx() && rl::ctx().threadx_ != nullptr;
}

template <typename Bits>
struct atomic_node : node {
    // Both begin with first_bits. The strong one is as old as the interleaving, visible to all; the other is a store by
    // the thread that made it, which other threads see only if something orders it before them.
    using weak = rl::generic_atomic<value_of_width<Bits>, false>;
    using strong = rl::generic_atomic<value_of_width<Bits>, true>;
    static_assert(sizeof(weak) == sizeof(strong));

    alignas(weak) unsigned char storage[sizeof(weak)];
    weak& object() noexcept { return *reinterpret_cast<weak*>(storage); }

    static atomic_node* make(Bits first, bool as_old_as_all, const std::source_location& place) {
        auto* const made = static_cast<atomic_node*>((std::malloc)(sizeof(atomic_node)));
        made->of = nullptr;
        made->destroy = [](node* n) noexcept {
            auto* const mine = static_cast<atomic_node*>(n);
            mine->object().~weak();
            (std::free)(mine);
        };
        link(made);
        if (as_old_as_all) {
            first_bits = first;
            ::new (static_cast<void*>(made->storage)) strong;
            first_bits = 0;
        } else {
            (::new (static_cast<void*>(made->storage)) weak)->store(first, rl::mo_relaxed, at(place));
        }
        return made;
    }
};

template <typename T>
bits_of_size<sizeof(T)> to_bits(const T& value) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    bits_of_size<sizeof(T)> bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

template <typename T>
T from_bits(bits_of_size<sizeof(T)> bits) noexcept {
    alignas(T) unsigned char raw[sizeof(T)];
    std::memcpy(raw, &bits, sizeof bits);
    return *reinterpret_cast<T*>(raw);
}

/// The operations that atomic and atomic_ref have in common; Derived says where the Relacy object is.
template <typename Derived, typename T>
class atomic_operations {
    using bits = bits_of_size<sizeof(T)>;
    using place = std::source_location;
    auto& word(const place& p) const noexcept { return static_cast<const Derived&>(*this).object(p); }
    static constexpr rl::memory_order failure(rl::memory_order o) {
        return o == rl::mo_acq_rel ? rl::mo_acquire : o == rl::mo_release ? rl::mo_relaxed : o;
    }
    // A failure order of Relacy's must not be stronger than that of success; C++17 and later allow it.
    static constexpr rl::memory_order success(rl::memory_order s, rl::memory_order f) {
        if (f == rl::mo_acquire && s == rl::mo_relaxed) return rl::mo_acquire;
        if (f == rl::mo_acquire && s == rl::mo_release) return rl::mo_acq_rel;
        return s;
    }
    static bits difference(T value) noexcept { return to_bits(value); }

public:
    T load(rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        return from_bits<T>(word(p).load(o, at(p)).bits);
    }
    void store(T v, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        word(p).store(to_bits(v), o, at(p));
    }
    T exchange(T v, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        return from_bits<T>(word(p).exchange(to_bits(v), o, at(p)).bits);
    }
    T fetch_add(T v, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        return from_bits<T>(word(p).fetch_add(to_bits(v), o, at(p)).bits);
    }
    T fetch_sub(T v, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        return from_bits<T>(word(p).fetch_sub(to_bits(v), o, at(p)).bits);
    }
    T fetch_and(T v, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        return from_bits<T>(word(p).fetch_and(to_bits(v), o, at(p)).bits);
    }
    T fetch_or(T v, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        return from_bits<T>(word(p).fetch_or(to_bits(v), o, at(p)).bits);
    }
    T fetch_xor(T v, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        return from_bits<T>(word(p).fetch_xor(to_bits(v), o, at(p)).bits);
    }
    bool compare_exchange_strong(T& e, T v, rl::memory_order s, rl::memory_order f,
                                 const place& p = place::current()) const noexcept {
        return exchange_if(rl::bool_t<false>(), e, v, success(s, f), f, p);
    }
    bool compare_exchange_strong(T& e, T v, rl::memory_order o = rl::mo_seq_cst,
                                 const place& p = place::current()) const noexcept {
        return exchange_if(rl::bool_t<false>(), e, v, o, failure(o), p);
    }
    bool compare_exchange_weak(T& e, T v, rl::memory_order s, rl::memory_order f,
                               const place& p = place::current()) const noexcept {
        return exchange_if(rl::bool_t<true>(), e, v, success(s, f), f, p);
    }
    bool compare_exchange_weak(T& e, T v, rl::memory_order o = rl::mo_seq_cst,
                               const place& p = place::current()) const noexcept {
        return exchange_if(rl::bool_t<true>(), e, v, o, failure(o), p);
    }
    void wait(T old, rl::memory_order o = rl::mo_seq_cst, const place& p = place::current()) const noexcept {
        while (to_bits(load(o, p)) == to_bits(old)) park_if(old, false, p);
    }
    void notify_one(const place& p = place::current()) const noexcept { word(p).wake(rl::ctx(), 1, at(p)); }
    void notify_all(const place& p = place::current()) const noexcept { word(p).wake(rl::ctx(), 64, at(p)); }

    /// As a futex: sleeps if the word is `old`, which no wake-up can come between. True if the time was over.
    bool park_if(T old, bool is_timed, const place& p = place::current()) const noexcept {
        // A read-modify-write that changes nothing reads what is there now, as the kernel does under its lock.
        if (!(word(p).fetch_add(bits{0}, rl::mo_relaxed, at(p)).bits == to_bits(old))) return false;
        return word(p).wait(rl::ctx(), is_timed, true, at(p)) == rl::unpark_reason_timeout;
    }

    operator T() const noexcept { return load(); }

private:
    template <typename Weak>
    bool exchange_if(Weak weak, T& e, T v, rl::memory_order s, rl::memory_order f, const place& p) const noexcept {
        value_of_width<bits> seen = to_bits(e);
        const bool done = word(p).compare_exchange(weak, seen, to_bits(v), s, f, at(p));
        e = from_bits<T>(seen.bits);
        return done;
    }
};

}  // namespace coflux::model

namespace coflux::detail {

template <typename T>
class atomic : public model::atomic_operations<atomic<T>, T> {
    using bits = model::bits_of_size<sizeof(T)>;
    using node = model::atomic_node<bits>;

public:
    constexpr atomic() noexcept : atomic(T{}) {}
    constexpr atomic(T value, const std::source_location& place = std::source_location::current()) noexcept
        : first_(value) {
        if (std::is_constant_evaluated() || !model::runs()) return;
        node_ = node::make(model::to_bits(value), false, place);
        made_in_ = model::interleaving;
    }
    constexpr ~atomic() {
        if (std::is_constant_evaluated() || node_ == nullptr || made_in_ != model::interleaving) return;
        node_->next->previous = node_->previous;
        node_->previous->next = node_->next;
        node_->destroy(node_);
        node_ = nullptr;
        made_in_ = ~std::uint64_t{0};  // a later use is too late
    }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;
    T operator=(T value) noexcept {
        this->store(value);
        return value;
    }

    auto& object(const std::source_location& place) const noexcept {
        if (made_in_ != model::interleaving) {
            if (made_in_ == ~std::uint64_t{0}) model::fail_here("an atomic is used after its end", place);
            // Static, or as old as the model: each interleaving begins with the first value.
            node_ = node::make(model::to_bits(first_), true, place);
            made_in_ = model::interleaving;
        }
        return node_->object();
    }

private:
    T first_;
    mutable node* node_ = nullptr;
    mutable std::uint64_t made_in_ = 0;
};

/// Begins with what the plain object holds at the first use in an interleaving, and does not write it.
template <typename T>
class atomic_ref : public model::atomic_operations<atomic_ref<T>, T> {
    using node = model::atomic_node<model::bits_of_size<sizeof(T)>>;

public:
    explicit atomic_ref(T& of) noexcept : of_(&of) {}

    auto& object(const std::source_location& place) const noexcept {
        model::node* found = model::find_node(of_);
        if (found == nullptr) {
            found = node::make(model::to_bits(*of_), true, place);
            found->of = of_;
        }
        return static_cast<node*>(found)->object();
    }

private:
    T* of_;
};

/// Both sides of an asymmetric fence are full fences here: the heavy one makes the light one of them.
inline void light_thread_fence(const std::source_location& place = std::source_location::current()) noexcept {
    rl::atomic_thread_fence(rl::mo_seq_cst, model::at(place));
}

template <typename T>
class relaxed {
public:
    relaxed() noexcept = default;
    relaxed(T value) noexcept : value_(value) {}
    relaxed(const relaxed&) = delete;
    relaxed& operator=(const relaxed&) = delete;
    relaxed& operator=(T value) noexcept {
        value_.store(value, memory_order_relaxed);
        return *this;
    }
    operator T() const noexcept { return value_.load(memory_order_relaxed); }
    [[nodiscard]] T own() const noexcept { return *this; }

private:
    atomic<T> value_;
};

}  // namespace coflux::detail
