// The block of a buffered_reader or buffered_writer. The page docs/design/buffered.md says why it moves its bytes when.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <source_location>
#include <span>
#include <string_view>
#include <system_error>

namespace coflux::detail {

class byte_block {
public:
    /// Errors: std::invalid_argument for a size of 0; what the resource throws.
    byte_block(std::size_t size, std::pmr::memory_resource* memory);
    byte_block(const byte_block&) = delete;
    byte_block& operator=(const byte_block&) = delete;
    ~byte_block() { memory_->deallocate(data_, size_, 1); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t count() const noexcept { return end_ - begin_; }
    [[nodiscard]] bool is_empty() const noexcept { return begin_ == end_; }
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data_ + begin_, count()}; }
    [[nodiscard]] std::string_view text() const noexcept {
        return {reinterpret_cast<const char*>(data_ + begin_), count()};
    }

    /// Where the next bytes go: not empty unless count() is size(). May move the bytes that are there.
    [[nodiscard]] std::span<std::byte> room() noexcept;
    /// Makes the block larger, twice as large or `most` if that is less. Moves the bytes that are there.
    /// Pre: most > size().
    /// Errors: what the resource throws; then nothing has happened.
    void grow(std::size_t most);
    /// So many bytes have been put there.
    void add(std::size_t count) noexcept { end_ += count; }
    /// As many of `from` as there is room for.
    std::size_t add(std::span<const std::byte> from) noexcept;
    /// Takes out the first bytes, which stay readable until room() is asked for.
    void take(std::size_t count) noexcept {
        begin_ += count;
        if (begin_ == end_) begin_ = end_ = 0;
    }
    /// As many bytes as `into` has room for.
    std::size_t take(std::span<std::byte> into) noexcept;

private:
    std::pmr::memory_resource* memory_;
    std::size_t size_;
    std::byte* data_;
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

/// True while locals die on this thread because their coroutine is stopped.
[[nodiscard]] bool is_unwound_by_stop() noexcept;

/// A buffered_writer dies, and `count` bytes of it are lost: tells the handler of errors of the coroutine that runs.
void report_unsent(std::size_t count, const std::source_location& made_at, std::error_code why) noexcept;

}  // namespace coflux::detail
