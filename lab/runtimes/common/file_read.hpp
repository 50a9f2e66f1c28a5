// The file of file_read, and which blocks are read (docs/bench/file_read.md).
#pragma once

#include "harness.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace harness {

// A file of numbered words, removed when this is destroyed.
class numbered_file {
public:
    explicit numbered_file(const request& r);
    ~numbered_file();
    numbered_file(const numbered_file&) = delete;
    numbered_file& operator=(const numbered_file&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

// The reads of one pass.
class file_reads {
public:
    explicit file_reads(const request& r);

    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool more() const noexcept { return done_ < reads_; }
    // The place in the file of the next block.
    [[nodiscard]] std::uint64_t next() noexcept {
        state_ = state_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
        return (random_ ? state_ >> 33U : done_) % blocks_ * bytes_;
    }
    // Throws where it is not the whole of a block.
    void read(std::span<const std::byte> block);
    [[nodiscard]] std::uint64_t answer() const noexcept { return sum_; }

private:
    std::size_t bytes_;
    std::uint64_t blocks_;
    std::uint64_t reads_;
    bool random_;
    std::uint64_t done_ = 0;
    std::uint64_t state_ = 1;
    std::uint64_t sum_ = 0;
};

}  // namespace harness
