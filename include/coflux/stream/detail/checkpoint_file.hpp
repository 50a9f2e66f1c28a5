// checkpoint_file: the format of a file of folder_store. The page docs/design/checkpoints.md has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <coflux/stream/record.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::stream::detail {

/// A state of a checkpoint, and the file that has its bytes.
struct stored_state {
    std::uint32_t region = 0;
    std::uint32_t slot = 0;
    std::uint64_t file = 0;
    std::uint64_t size = 0;
    std::uint64_t sum = 0;

    friend bool operator==(const stored_state&, const stored_state&) = default;
};

/// The beginning of a file. The bytes of the states that are its own follow, in the order of `states`.
struct checkpoint_head {
    std::string job;
    std::uint64_t number = 0;
    std::uint32_t slots = 0;
    positions at;
    std::vector<stored_state> states;

    /// The bytes of the states that are its own.
    [[nodiscard]] std::uint64_t own_bytes() const noexcept;

    friend bool operator==(const checkpoint_head&, const checkpoint_head&) = default;
};

/// So many bytes say how long the head is.
inline constexpr std::size_t checkpoint_prefix = 20;

[[nodiscard]] std::vector<std::byte> written_head(const checkpoint_head& head);
/// How long the head is, of a file of `all` bytes that begins with `prefix`.
/// Errors: corrupt_state with the file's name.
[[nodiscard]] std::size_t size_of_head(std::span<const std::byte> prefix, std::uint64_t all, const std::string& file);
/// Errors: corrupt_state with the file's name.
[[nodiscard]] checkpoint_head read_head(std::span<const std::byte> head, const std::string& file);
/// Compares the size of a file, which begins with a head of `size` bytes, with what that speaks of.
/// Errors: corrupt_state with the file's name.
void check_size(const checkpoint_head& head, std::size_t size, std::uint64_t all, const std::string& file);

[[noreturn]] void throw_corrupt(const std::string& file, std::uint64_t byte, const std::string& why);

}  // namespace coflux::stream::detail
