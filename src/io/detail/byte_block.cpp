#include <coflux/io/detail/byte_block.hpp>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/environment.hpp>

namespace coflux::detail {

byte_block::byte_block(std::size_t size, std::pmr::memory_resource* memory) : memory_(memory), size_(size) {
    if (size == 0) throw std::invalid_argument("coflux: a buffer of 0 bytes");
    data_ = static_cast<std::byte*>(memory->allocate(size, 1));
}

std::span<std::byte> byte_block::room() noexcept {
    if (begin_ != 0 && (end_ == size_ || begin_ >= size_ / 2)) {
        std::memmove(data_, data_ + begin_, count());
        end_ -= begin_;
        begin_ = 0;
    }
    return {data_ + end_, size_ - end_};
}

void byte_block::grow(std::size_t most) {
    const std::size_t size = size_ > most / 2 ? most : 2 * size_;
    auto* const data = static_cast<std::byte*>(memory_->allocate(size, 1));
    const std::size_t n = count();
    std::memcpy(data, data_ + begin_, n);
    memory_->deallocate(data_, size_, 1);
    data_ = data;
    size_ = size;
    begin_ = 0;
    end_ = n;
}

std::size_t byte_block::add(std::span<const std::byte> from) noexcept {
    const std::span<std::byte> into = room();
    const std::size_t n = std::min(from.size(), into.size());
    if (n != 0) std::memcpy(into.data(), from.data(), n);
    add(n);
    return n;
}

std::size_t byte_block::take(std::span<std::byte> into) noexcept {
    const std::size_t n = std::min(into.size(), count());
    if (n != 0) std::memcpy(into.data(), data_ + begin_, n);
    take(n);
    return n;
}

bool is_unwound_by_stop() noexcept {
    return this_thread.current == nullptr && this_thread.ends != nullptr &&
           this_thread.ends->word.has(frame_flags::unwinding);
}

void report_unsent(std::size_t count, const std::source_location& made_at, std::error_code why) noexcept {
    std::exception_ptr error;
    try {
        error = std::make_exception_ptr(
            std::system_error(why, std::string("coflux: a buffered_writer made at ") + made_at.file_name() + ':' +
                                       std::to_string(made_at.line()) + " died with " + std::to_string(count) +
                                       " bytes that were not sent: its flush(here) was not awaited"));
    } catch (const std::bad_alloc&) {
        error = std::current_exception();
    }
    const environment* const in = this_thread.current;
    report_from_destructor(in != nullptr ? data_of(*in).on_error : nullptr, std::move(error));
}

}  // namespace coflux::detail
