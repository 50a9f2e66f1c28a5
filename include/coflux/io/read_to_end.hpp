// read_to_end: all bytes of a stream, in a string or a vector.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/io/buffered_reader.hpp>
#include <coflux/io/byte_source.hpp>

namespace coflux {

/// Holds bytes in a row, and grows at its end: a std::string, a std::pmr::string, a std::vector<std::byte>.
///
/// Laws: those of std::vector. resize() to fewer elements throws nothing, and keeps the first ones.
template <typename C>
concept byte_container = sizeof(typename C::value_type) == 1 && requires(C& c, std::size_t n) {
    c.resize(n);
    { c.size() } -> std::convertible_to<std::size_t>;
    { c.data() } -> std::same_as<typename C::value_type*>;
};
static_assert(byte_container<std::string> && byte_container<std::vector<std::byte>>);

namespace detail {

/// The bytes that a read_to_end() has put behind those that were there. The room behind them goes with this.
template <byte_container C>
class appended_bytes {
public:
    explicit appended_bytes(C& to) noexcept : to_(to), begin_(to.size()) {}
    appended_bytes(const appended_bytes&) = delete;
    appended_bytes& operator=(const appended_bytes&) = delete;
    ~appended_bytes() { to_.resize(begin_ + count_); }

    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    void add(std::size_t count) noexcept { count_ += count; }
    /// Where the next bytes go. Where there is no room, it is made: as much as has come, and no more than `most` in
    /// all.
    /// Errors: what the container throws.
    [[nodiscard]] std::span<std::byte> room(std::size_t most) {
        if (to_.size() == begin_ + count_)
            to_.resize(begin_ + count_ + std::min(std::max(first_room, count_), most - count_));
        return std::as_writable_bytes(std::span(to_.data(), to_.size())).subspan(begin_ + count_);
    }

private:
    static constexpr std::size_t first_room = 4096;

    C& to_;
    const std::size_t begin_;
    std::size_t count_ = 0;
};

template <byte_source From, byte_container Into>
call<std::size_t> read_all_of(environment&, From& from, Into& into, std::size_t limit, std::string_view whose) {
    auto&& here = co_await context();
    appended_bytes<Into> read(into);
    const std::size_t most = limit + (limit != buffered_reader<From>::no_limit ? 1 : 0);
    for (;;) {
        const std::span<std::byte> room = read.room(most);
        const std::size_t n = checked_read(co_await read_some_of(from, here, room), room.size());
        if (n == 0) co_return read.count();
        read.add(n);
        if (read.count() > limit) throw limit_exceeded(whose, limit, read.count());
    }
}

}  // namespace detail

/// `std::string body; co_await coflux::read_to_end(here, peer, body, 1 << 20);`: all bytes up to the end of the stream,
/// behind those that `into` has.
///
/// Shapes: `from` is a byte_source, and `into` a byte_container; both are used by reference.
/// Units: `limit` is in bytes, and does not count those that `into` had. It is no option: without one the peer chooses
/// how much memory a connection takes. buffered_reader::no_limit: the source is trusted.
/// Returns: how many bytes have come.
/// Errors: limit_exceeded, which has both numbers, where the stream has more than `limit` bytes. One byte more is read
/// to know that, so `into` has `limit` + 1 then. Those of the source, and what the container throws where it cannot
/// grow; `into` has all that came before.
/// Stops: a stop point where the source waits; loses nothing: `into` has what was read, and the next call goes on
/// behind it.
/// Threads: those of the source.
/// Costs: a frame, and the memory of `into`, which grows by doubling. Each byte is set once before it is read, and
/// moved as the container grows: reserve() where the size is known. The last read of the source finds the end.
/// Lifetime: `from` and `into` live until the await ends. No other coroutine looks at `into` meanwhile: it is longer
/// than what has come.
/// Example: examples/48_process.cpp
template <byte_source From, byte_container Into>
[[nodiscard("nothing is read until this is awaited: co_await it")]] call<std::size_t>
read_to_end(environment& here, From& from, Into& into, std::size_t limit) {
    return detail::read_all_of(here, from, into, limit, "the stream");
}

// Not without a limit.
template <byte_source From, byte_container Into>
call<std::size_t> read_to_end(environment& here, From& from, Into& into) {
    static_assert(detail::never<From>,
                  "coflux: without a limit the peer chooses how much memory it takes: write read_to_end(here, from, "
                  "into, 1 << 20), or buffered_reader<...>::no_limit where the source is trusted");
    return read_to_end(here, from, into, 0);
}

}  // namespace coflux
