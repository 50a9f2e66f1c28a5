#include <coflux/io/file_stream.hpp>

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

}  // namespace coflux
