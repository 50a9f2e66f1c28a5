#include <coflux/io/file_stream.hpp>

#include <stdexcept>

namespace coflux {

call<std::size_t> file_reader::read_some(environment&, std::span<std::byte> into) {
    const detail::use_mark::use using_it(used_);
    const std::size_t n = co_await from_.read_at(offset_, into);
    offset_ += n;
    co_return n;
}

call<std::size_t> file_writer::write_some(environment&, std::span<const std::byte> from) {
    const detail::use_mark::use using_it(used_);
    co_await to_.write_at(offset_, from);
    offset_ += from.size();
    co_return from.size();
}

call<void> file_writer::copy_parts(environment&, file_reader& from, copy_count& count) {
    const detail::use_mark::use using_it(used_);
    const detail::use_mark::use using_from(from.used_);
    for (;;) {
        const std::uint64_t moved = co_await detail::copy_part_request(from.from_.file_, std::uint64_t{from.offset_},
                                                                       to_.file_, std::uint64_t{offset_});
        if (moved == 0) co_return;
        from.offset_ += moved;
        offset_ += moved;
        count.read += moved;
        count.written += moved;
    }
}

call<std::uint64_t> detail::copy_bytes(environment&, file_reader& from, file_writer& to, std::size_t size,
                                       copy_count* told) {
    auto&& here = co_await context();
    copy_count own;
    copy_count& count = told != nullptr ? *told : own;
    if (size == 0) throw std::invalid_argument("coflux: a buffer of 0 bytes");
    co_await to.copy_parts(here, from, count);
    // The end, or what the system cannot copy, or an error: its text is that of the read or the write.
    co_return co_await copy_bytes<file_reader, file_writer>(here, from, to, size, &count);
}

}  // namespace coflux
