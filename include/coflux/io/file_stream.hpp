// file_reader, file_writer: a file from its front to its back, as what other streams are copied to and from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/io/byte_source.hpp>
#include <coflux/io/copy.hpp>
#include <coflux/io/detail/use_mark.hpp>
#include <coflux/io/file.hpp>

namespace coflux {

/// The bytes of a file in order: a byte_source, for copy() and buffered_reader.
///
/// Shapes: borrows the file; neither copyable nor movable. One read at a time. Several may read one file.
/// Errors, Stops, Threads: as file::read_at(). A reader that dies, or is used, while a read of it waits is a checked
/// error.
/// Costs: a read is a frame, and what file::read_at() costs.
/// Lifetime: the file outlives it.
/// Example: examples/37_file_server.cpp
class file_reader {
public:
    explicit file_reader(file& from, std::uint64_t offset = 0) noexcept : from_(from), offset_(offset) {}
    file_reader(const file_reader&) = delete;
    file_reader& operator=(const file_reader&) = delete;

    /// The next bytes, as many as `into` has room for.
    /// Returns: how many; 0 where the file ends at this moment. One that grows gives more later.
    /// Stops: loses nothing.
    call<std::size_t> read_some(environment& env, std::span<std::byte> into);
    /// Where the next read begins.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

private:
    friend class file_writer;

    file& from_;
    std::uint64_t offset_;
    detail::use_mark used_{"file_reader"};
};
static_assert(byte_source<file_reader>);

/// Writes a file in order: a byte_sink, for copy() and buffered_writer.
///
/// Shapes: borrows the file, which was opened without `append`; neither copyable nor movable. One write at a time.
/// Errors, Stops, Threads: as file::write_at(). A writer that dies, or is used, while a write of it waits is a checked
/// error.
/// Costs: a write is a frame, and what file::write_at() costs: some 10 us on file systems that do not write at once, so
/// give it large pieces.
/// Lifetime: the file outlives it.
class file_writer {
public:
    explicit file_writer(file& to, std::uint64_t offset = 0) noexcept : to_(to), offset_(offset) {}
    file_writer(const file_writer&) = delete;
    file_writer& operator=(const file_writer&) = delete;

    /// All of `from`.
    /// Returns: how many that are.
    /// Errors: where it fails a part may be in the file, which the next write begins with again.
    /// Stops: none is written.
    call<std::size_t> write_some(environment& env, std::span<const std::byte> from);
    /// Where the next write begins.
    [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }

private:
    friend call<std::uint64_t> detail::copy_bytes(environment&, file_reader& from, file_writer& to, std::size_t,
                                                  copy_count* told);
    /// Copies what the system can copy by itself.
    call<void> copy_parts(environment&, file_reader& from, copy_count& count);

    file& to_;
    std::uint64_t offset_;
    detail::use_mark used_{"file_writer"};
};
static_assert(byte_sink<file_writer>);

}  // namespace coflux
