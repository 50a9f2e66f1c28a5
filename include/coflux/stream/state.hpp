// state_writer, state_reader, codec: how keys and state become bytes, and bytes become state again.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <coflux/stream/record.hpp>

namespace coflux::stream {

/// Bytes that are not what was stored: torn, of another version, or of another type. It says where.
class corrupt_state : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class state_writer;
class state_reader;

/// How a `T` is stored.
///
/// Shapes: specialise it for a type of your own, or give the type a member `template <typename A> void fields(A& all) {
/// all(a_, b_); }`, which lists what is to be stored. Numbers, enums, times, strings, pairs, tuples, optionals and
/// vectors of those have one. `all.version()` is the job::state_version of what is read or written: a layout that has
/// changed reads what older ones have written (docs/howto/upgrade-state.md).
template <typename T>
struct codec;

template <typename T>
concept storable = requires(state_writer& out, state_reader& in, const T& value, T& into) {
    codec<T>::write(out, value);
    codec<T>::read(in, into);
};

/// Appends values to bytes, little-endian.
class state_writer {
public:
    /// `version`: of the layout that is written, as job::state_version.
    explicit state_writer(std::vector<std::byte>& out, std::uint32_t version = 0) noexcept
        : out_(out),
          version_(version) {}

    [[nodiscard]] std::uint32_t version() const noexcept { return version_; }

    void bytes(std::span<const std::byte> from) { out_.insert(out_.end(), from.begin(), from.end()); }
    void size(std::size_t n) { number(static_cast<std::uint64_t>(n)); }
    template <typename T>
        requires std::is_arithmetic_v<T>
    void number(T value) {
        static_assert(std::endian::native == std::endian::little);
        const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
        bytes(raw);
    }
    template <typename... Ts>
    void operator()(const Ts&... values) {
        (codec<Ts>::write(*this, values), ...);
    }
    [[nodiscard]] std::size_t written() const noexcept { return out_.size(); }

private:
    std::vector<std::byte>& out_;
    std::uint32_t version_;
};

/// Takes values off bytes.
/// Errors: corrupt_state where there are too few.
class state_reader {
public:
    explicit state_reader(std::span<const std::byte> from) noexcept : left_(from), all_(from.size()) {}

    /// The version of the layout that was written.
    [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
    void set_version(std::uint32_t v) noexcept { version_ = v; }

    std::span<const std::byte> bytes(std::size_t n) {
        if (n > left_.size()) [[unlikely]]
            throw_too_short(n);
        const auto taken = left_.first(n);
        left_ = left_.subspan(n);
        return taken;
    }
    /// A count of things of at least `least` bytes each: more than the rest can hold is corrupt.
    std::size_t size(std::size_t least = 1) {
        const auto n = number<std::uint64_t>();
        if (n > left_.size() / std::max<std::size_t>(least, 1)) {
            throw corrupt_state("coflux: the stored state has a count of " + std::to_string(n) + " at byte " +
                                std::to_string(all_ - left_.size()) + ", and " + std::to_string(left_.size()) +
                                " bytes left");
        }
        return static_cast<std::size_t>(n);
    }
    template <typename T>
        requires std::is_arithmetic_v<T>
    T number() {
        T value;
        const auto raw = bytes(sizeof(T));
        if constexpr (std::is_same_v<T, bool>) {
            if (std::to_integer<unsigned>(raw[0]) > 1) {
                throw corrupt_state("coflux: the stored state has neither true nor false at byte " +
                                    std::to_string(all_ - left_.size() - 1));
            }
        }
        std::memcpy(&value, raw.data(), sizeof(T));
        return value;
    }
    template <typename... Ts>
    void operator()(Ts&... values) {
        (codec<Ts>::read(*this, values), ...);
    }
    [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }

private:
    // Apart: a text that is put together would keep bytes() from being inlined.
    [[noreturn, gnu::noinline, gnu::cold]] void throw_too_short(std::size_t n) const {
        throw corrupt_state("coflux: the stored state ends at byte " + std::to_string(all_) + ", within a value of " +
                            std::to_string(n) + " bytes at " + std::to_string(all_ - left_.size()));
    }

    std::span<const std::byte> left_;
    std::size_t all_;
    std::uint32_t version_ = 0;
};

template <typename T>
    requires std::is_arithmetic_v<T>
struct codec<T> {
    static void write(state_writer& out, T value) { out.number(value); }
    static void read(state_reader& in, T& into) { into = in.number<T>(); }
};
template <typename T>
    requires std::is_enum_v<T>
struct codec<T> {
    static void write(state_writer& out, T value) { out.number(static_cast<std::underlying_type_t<T>>(value)); }
    static void read(state_reader& in, T& into) { into = static_cast<T>(in.number<std::underlying_type_t<T>>()); }
};
template <typename Rep, typename Period>
struct codec<std::chrono::duration<Rep, Period>> {
    static void write(state_writer& out, std::chrono::duration<Rep, Period> value) { out(value.count()); }
    static void read(state_reader& in, std::chrono::duration<Rep, Period>& into) {
        into = std::chrono::duration<Rep, Period>(in.number<Rep>());
    }
};
template <typename Clock, typename Duration>
struct codec<std::chrono::time_point<Clock, Duration>> {
    using time = std::chrono::time_point<Clock, Duration>;
    static void write(state_writer& out, time value) { out(value.time_since_epoch()); }
    static void read(state_reader& in, time& into) {
        Duration since;
        in(since);
        into = time(since);
    }
};
template <>
struct codec<std::string> {
    static void write(state_writer& out, const std::string& value) {
        out.size(value.size());
        out.bytes(std::as_bytes(std::span(value)));
    }
    static void read(state_reader& in, std::string& into) {
        const auto raw = in.bytes(in.size());
        into.assign(reinterpret_cast<const char*>(raw.data()), raw.size());
    }
};
template <typename A, typename B>
    requires storable<A> && storable<B>
struct codec<std::pair<A, B>> {
    static void write(state_writer& out, const std::pair<A, B>& value) { out(value.first, value.second); }
    static void read(state_reader& in, std::pair<A, B>& into) { in(into.first, into.second); }
};
template <typename... Ts>
    requires(storable<Ts> && ...)
struct codec<std::tuple<Ts...>> {
    static void write(state_writer& out, const std::tuple<Ts...>& value) {
        std::apply([&](const auto&... each) { out(each...); }, value);
    }
    static void read(state_reader& in, std::tuple<Ts...>& into) {
        std::apply([&](auto&... each) { in(each...); }, into);
    }
};
template <typename T>
    requires storable<T>
struct codec<std::optional<T>> {
    static void write(state_writer& out, const std::optional<T>& value) {
        out(value.has_value());
        if (value) out(*value);
    }
    static void read(state_reader& in, std::optional<T>& into) {
        if (in.number<bool>()) {
            in(into.emplace());
        } else {
            into.reset();
        }
    }
};
template <typename T>
    requires storable<T>
struct codec<std::vector<T>> {
    static void write(state_writer& out, const std::vector<T>& value) {
        out.size(value.size());
        for (const T& each : value) out(each);
    }
    static void read(state_reader& in, std::vector<T>& into) {
        into.clear();
        for (std::size_t n = in.size(); n != 0; --n) {
            if constexpr (std::is_same_v<T, bool>) {  // its elements have no address
                into.push_back(in.number<bool>());
            } else {
                in(into.emplace_back());
            }
        }
    }
};

namespace detail {
struct any_archive {
    [[nodiscard]] std::uint32_t version() const noexcept { return 0; }
    template <typename... Ts>
    void operator()(Ts&...) {}
};
template <typename T>
concept lists_fields = requires(T& value, any_archive& all) { value.fields(all); };
}  // namespace detail

template <typename T>
    requires detail::lists_fields<T>
struct codec<T> {
    static void write(state_writer& out, const T& value) { const_cast<T&>(value).fields(out); }
    static void read(state_reader& in, T& into) { into.fields(in); }
};

}  // namespace coflux::stream
