// The bytes of a fuzz run, read as a program: each choice takes a byte or a few, and after the last one all choices are
// 0.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coflux_fuzz {

class program {
public:
    program(const std::uint8_t* bytes, std::size_t size) noexcept : next_(bytes), end_(bytes + size) {}

    [[nodiscard]] bool ended() const noexcept { return next_ == end_; }
    std::uint8_t byte() noexcept { return ended() ? std::uint8_t{0} : *next_++; }
    /// A number below `end`, which is 1 to 256.
    std::size_t below(std::size_t end) noexcept { return byte() % end; }
    bool coin() noexcept { return (byte() & 1) != 0; }
    /// A number of any size: a byte says of how many bits, those follow.
    std::uint64_t number() noexcept {
        const std::size_t bits = below(65);
        std::uint64_t n = 0;
        for (std::size_t i = 0; i < (bits + 7) / 8; ++i) n = n << 8 | byte();
        return bits == 64 ? n : n & ((std::uint64_t{1} << bits) - 1);
    }

private:
    const std::uint8_t* next_;
    const std::uint8_t* end_;
};

}  // namespace coflux_fuzz

/// Each fuzz program is one: runs the bytes and checks what happens against its model; a failed check aborts.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);
