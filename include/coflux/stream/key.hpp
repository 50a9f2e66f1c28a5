// by_key, by_key_of_source, by_number, by_partition, round_robin, sticky, to_one: which records meet in one place.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/stream/record.hpp>

namespace coflux::stream {

namespace detail {

// The finisher of MurmurHash3: each bit of the key changes half of the hash. Source: A. Appleby, MurmurHash3 (2011).
constexpr std::uint64_t mixed(std::uint64_t h) noexcept {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdU;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53U;
    return h ^ (h >> 33);
}
constexpr std::uint64_t joined_hash(std::uint64_t a, std::uint64_t b) noexcept {
    return mixed(a * 0x9e3779b97f4a7c15U + b);
}

}  // namespace detail

/// The hash of a key, the same on each machine and in each run: slots are stored by it.
///
/// Shapes: numbers, enums, times, strings, pairs and tuples have one. Give a type of your own a function
/// `std::uint64_t hash_of_key(const T&)` in its namespace, out of `stream::key_hash` of its parts.
struct key_hash {
    template <typename T>
        requires std::is_integral_v<T> || std::is_enum_v<T>
    constexpr std::uint64_t operator()(T key) const noexcept {
        return detail::mixed(static_cast<std::uint64_t>(key) + 0x9e3779b97f4a7c15U);
    }
    template <typename Rep, typename Period>
    constexpr std::uint64_t operator()(std::chrono::duration<Rep, Period> key) const noexcept {
        return (*this)(key.count());
    }
    template <typename Clock, typename Duration>
    constexpr std::uint64_t operator()(std::chrono::time_point<Clock, Duration> key) const noexcept {
        return (*this)(key.time_since_epoch());
    }
    // FNV-1a, 64 bits, of eight bytes at a time; the length is a part. Source: G. Fowler, L. C. Noll, K.-P. Vo.
    constexpr std::uint64_t operator()(std::string_view key) const noexcept {
        std::uint64_t h = 0xcbf29ce484222325U ^ key.size();
        while (!key.empty()) {
            std::uint64_t part = 0;
            const std::size_t n = key.size() < 8 ? key.size() : 8;
            for (std::size_t i = 0; i != n; ++i) {
                part |= static_cast<std::uint64_t>(static_cast<unsigned char>(key[i])) << (8 * i);
            }
            h = (h ^ part) * 0x100000001b3U;
            h ^= h >> 32;
            key.remove_prefix(n);
        }
        return detail::mixed(h);
    }
    constexpr std::uint64_t operator()(const std::string& key) const noexcept { return (*this)(std::string_view(key)); }
    constexpr std::uint64_t operator()(const char* key) const noexcept { return (*this)(std::string_view(key)); }
    template <typename A, typename B>
    constexpr std::uint64_t operator()(const std::pair<A, B>& key) const noexcept {
        return detail::joined_hash((*this)(key.first), (*this)(key.second));
    }
    template <typename... Ts>
    constexpr std::uint64_t operator()(const std::tuple<Ts...>& key) const noexcept {
        std::uint64_t h = sizeof...(Ts);
        std::apply([&](const Ts&... each) { ((h = detail::joined_hash(h, (*this)(each))), ...); }, key);
        return h;
    }
    template <typename T>
        requires requires(const T& key) {
            { hash_of_key(key) } -> std::same_as<std::uint64_t>;
        }
    constexpr std::uint64_t operator()(const T& key) const noexcept {
        return hash_of_key(key);
    }
};

template <typename T>
concept key = std::movable<T> && std::equality_comparable<T> && requires(const T& k) {
    { key_hash()(k) } -> std::same_as<std::uint64_t>;
};

/// Records with the same key go to the same worker, in order: `by_key(&order::customer)`. Stages behind it have a
/// state for each key.
///
/// Shapes: a function, or a pointer to a member, of a const record's value, that gives a `key` by value or by
/// reference.
template <typename F>
struct by_key {
    F of;
    explicit by_key(F f) : of(std::move(f)) {}
};
/// The same for a source whose partitions are by that key already, as those of a topic that is written by it: records
/// stay with the worker of their partition, and their keys are not hashed. A stage behind it has a state for each key
/// of each partition.
///
/// Pre: all records of a key are in one partition; one that is in two has two states. So no join of a merge() compiles
/// behind it: the sides have no partition in common.
template <typename F>
struct by_key_of_source {
    F of;
    explicit by_key_of_source(F f) : of(std::move(f)) {}
};
/// Records with the same number go to the same worker, in order: `f(value) % job::slots` is their slot. It serves
/// where the spread is known better than a hash knows it. A stage behind it has a state for each number.
///
/// Shapes: `f` gives an unsigned integer.
template <typename F>
struct by_number {
    F of;
    explicit by_number(F f) : of(std::move(f)) {}
};
/// Records of a partition of the source go to the same worker, in order. A flow that names no partitioner has it.
struct by_partition {};
/// Each record goes to the next worker: nothing is in order, and nothing behind it can have a state for a key.
struct round_robin {};
/// The same for `in_a_row` records each: fuller batches, and fewer of them.
///
/// Errors: std::invalid_argument for 0.
struct sticky {
    std::uint32_t in_a_row;
    explicit sticky(std::uint32_t n = 100) : in_a_row(n) {
        if (n == 0) throw std::invalid_argument("coflux: sticky(0) gives no worker a record");
    }
};
/// All records go to one worker, in the order of each producer: for what needs all of them.
struct to_one {};

namespace detail {

// The upper half of the hash, scaled: a division costs more.
constexpr std::uint32_t slot_of(std::uint64_t hash, std::uint32_t slots) noexcept {
    return static_cast<std::uint32_t>(((hash >> 32) * slots) >> 32);
}

/// The engine's questions to a partitioner: the key's type, and the slot.
template <typename P, typename T>
struct routing;

/// Whether a partitioner takes values of `T`.
template <typename P, typename T>
struct check_partitioner {
    static constexpr bool ok = true;
};
template <typename F, typename T>
struct check_key {
    static constexpr bool takes = std::is_invocable_v<const F&, const T&>;
    static constexpr bool is_key = [] {
        if constexpr (takes) return key<std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>;
        return true;
    }();
    static constexpr bool ok = takes && is_key;
    static void say() {
        static_assert(takes,
                      "coflux: the function of by_key() takes the flow's value as const T& or T, and gives its key");
        static_assert(is_key,
                      "coflux: by_key() needs a key that has a hash and can be compared: a number, a string, a pair or "
                      "tuple of those, or a type with hash_of_key()");
    }
};
template <typename F, typename T>
struct check_partitioner<by_key<F>, T> : check_key<F, T> {};

template <typename F, typename T>
struct routing<by_key<F>, T> {
    using given = std::invoke_result_t<const F&, const T&>;
    using key_type = std::remove_cvref_t<given>;
    static constexpr bool one_worker = false;
    static constexpr bool is_stateful = true;

    static decltype(auto) key_of(const by_key<F>& by, const record<T>& r) { return std::invoke(by.of, r.value); }
    static std::uint32_t slot(const by_key<F>& by, const record<T>& r, std::uint32_t slots, std::uint32_t&) {
        return slot_of(key_hash()(std::invoke(by.of, r.value)), slots);
    }
};
template <typename F, typename T>
struct check_partitioner<by_key_of_source<F>, T> : check_key<F, T> {};
template <typename F, typename T>
struct check_partitioner<by_number<F>, T> {
    static constexpr bool ok = [] {
        if constexpr (std::is_invocable_v<const F&, const T&>)
            return std::unsigned_integral<std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>;
        return false;
    }();
    static void say() {
        static_assert(ok, "coflux: the function of by_number() takes the flow's value as const T& or T, and gives an "
                          "unsigned number; by_key() is for other keys");
    }
};
template <typename F, typename T>
struct routing<by_key_of_source<F>, T> {
    using key_type = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;
    static constexpr bool one_worker = false;
    static constexpr bool is_stateful = true;
    static decltype(auto) key_of(const by_key_of_source<F>& by, const record<T>& r) {
        return std::invoke(by.of, r.value);
    }
    static std::uint32_t slot(const by_key_of_source<F>&, const record<T>& r, std::uint32_t slots, std::uint32_t&) {
        return r.partition % slots;
    }
};
template <typename F, typename T>
struct routing<by_number<F>, T> {
    using key_type = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;
    static constexpr bool one_worker = false;
    static constexpr bool is_stateful = true;
    static decltype(auto) key_of(const by_number<F>& by, const record<T>& r) { return std::invoke(by.of, r.value); }
    static std::uint32_t slot(const by_number<F>& by, const record<T>& r, std::uint32_t slots, std::uint32_t&) {
        return static_cast<std::uint32_t>(std::invoke(by.of, r.value) % slots);
    }
};
struct no_key {
    friend bool operator==(no_key, no_key) = default;
    friend std::uint64_t hash_of_key(no_key) noexcept { return 0; }
    template <typename A>
    void fields(A&) {}
};
template <typename T>
struct routing<by_partition, T> {
    using key_type = std::uint32_t;  // several partitions may be in one slot
    static constexpr bool one_worker = false;
    static constexpr bool is_stateful = true;
    static const std::uint32_t& key_of(const by_partition&, const record<T>& r) { return r.partition; }
    static std::uint32_t slot(const by_partition&, const record<T>& r, std::uint32_t slots, std::uint32_t&) {
        return r.partition < slots ? r.partition : r.partition % slots;
    }
};
template <typename T>
struct routing<round_robin, T> {
    using key_type = no_key;
    static constexpr bool one_worker = false;
    static constexpr bool is_stateful = false;
    static no_key key_of(const round_robin&, const record<T>&) { return {}; }
    static std::uint32_t slot(const round_robin&, const record<T>&, std::uint32_t slots, std::uint32_t& turn) {
        return turn = turn + 1 < slots ? turn + 1 : 0;
    }
};
template <typename T>
struct routing<sticky, T> : routing<round_robin, T> {
    static no_key key_of(const sticky&, const record<T>&) { return {}; }
    static std::uint32_t slot(const sticky& by, const record<T>&, std::uint32_t slots, std::uint32_t& turn) {
        return turn++ / by.in_a_row % slots;
    }
};
template <typename T>
struct routing<to_one, T> {
    using key_type = no_key;
    static constexpr bool one_worker = true;
    static constexpr bool is_stateful = true;
    static no_key key_of(const to_one&, const record<T>&) { return {}; }
    static std::uint32_t slot(const to_one&, const record<T>&, std::uint32_t, std::uint32_t&) { return 0; }
};

template <typename P>
inline constexpr bool is_by_key = false;
template <typename F>
inline constexpr bool is_by_key<by_key<F>> = true;
template <typename F>
inline constexpr bool is_by_key<by_key_of_source<F>> = true;
template <typename F>
inline constexpr bool is_by_key<by_number<F>> = true;
template <typename P>
inline constexpr bool is_by_key_of_source = false;
template <typename F>
inline constexpr bool is_by_key_of_source<by_key_of_source<F>> = true;
/// How a flow that names no partitioner is divided.
struct unnamed : by_partition {};
template <typename T>
struct routing<unnamed, T> : routing<by_partition, T> {};

template <typename P>
inline constexpr bool is_partitioner = false;
template <typename F>
inline constexpr bool is_partitioner<by_key<F>> = true;
template <>
inline constexpr bool is_partitioner<unnamed> = true;
template <typename F>
inline constexpr bool is_partitioner<by_key_of_source<F>> = true;
template <typename F>
inline constexpr bool is_partitioner<by_number<F>> = true;
template <>
inline constexpr bool is_partitioner<by_partition> = true;
template <>
inline constexpr bool is_partitioner<sticky> = true;
template <>
inline constexpr bool is_partitioner<round_robin> = true;
template <>
inline constexpr bool is_partitioner<to_one> = true;

}  // namespace detail

}  // namespace coflux::stream
