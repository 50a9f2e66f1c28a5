// The head of a checkpoint file: any bytes are read or are an error that names the file, and what was read is what is
// written. The first byte says whether the size and the checksum are made right, so that the fields behind them are
// reached.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/stream/detail/checkpoint_file.hpp>
#include <coflux/stream/detail/checksum.hpp>

#include "fuzz/program.hpp"

namespace {

using coflux::stream::corrupt_state;
using coflux::stream::detail::checkpoint_head;

constexpr std::size_t sum_size = sizeof(std::uint64_t);

/// As a file of version 1 begins, with `fields`.
std::vector<std::byte> with_right_sums(std::span<const std::byte> fields) {
    std::vector<std::byte> file = coflux::stream::detail::written_head({});
    file.resize(coflux::stream::detail::checkpoint_prefix);
    const std::uint64_t size = file.size() + fields.size() + sum_size;
    std::memcpy(file.data() + file.size() - sizeof size, &size, sizeof size);
    file.insert(file.end(), fields.begin(), fields.end());
    const std::uint64_t sum = coflux::stream::detail::checksum(file);
    file.resize(file.size() + sum_size);
    std::memcpy(file.data() + file.size() - sum_size, &sum, sum_size);
    return file;
}

/// The states that are its own are zeros behind it.
void read(std::span<const std::byte> file, std::uint64_t all) {
    try {
        const auto prefix = file.first(std::min(file.size(), coflux::stream::detail::checkpoint_prefix));
        const std::size_t size = coflux::stream::detail::size_of_head(prefix, all, "f");
        if (size > file.size()) return;
        const checkpoint_head head = coflux::stream::detail::read_head(file.first(size), "f");
        coflux::stream::detail::check_size(head, size, all, "f");
        COFLUX_VERIFY(all == size + head.own_bytes(), "the sizes");
        const std::vector<std::byte> again = coflux::stream::detail::written_head(head);
        COFLUX_VERIFY(again.size() == size && std::memcmp(again.data(), file.data(), size) == 0, "what is written");
    } catch (const corrupt_state& e) {
        COFLUX_VERIFY(std::string(e.what()).starts_with("coflux: the checkpoint f, byte "), "%s", e.what());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    coflux_fuzz::program p(bytes, size);
    const bool makes_sums = p.coin();
    const std::uint64_t own = makes_sums ? p.byte() : 0;
    const auto rest = std::as_bytes(std::span(bytes, size)).subspan(size < 2 ? size : (makes_sums ? 2 : 1));
    if (makes_sums) {
        const std::vector<std::byte> file = with_right_sums(rest);
        read(file, file.size() + own);
    } else {
        read(rest, rest.size());
    }
    return 0;
}
