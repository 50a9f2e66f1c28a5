#include "file_read.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <unistd.h>
#include <vector>

namespace harness {
namespace {

static_assert(std::endian::native == std::endian::little, "the file has words as they lie in memory");

constexpr std::uint64_t mebibyte = 1U << 20U;

}  // namespace

numbered_file::numbered_file(const request& r)
    : path_{(std::filesystem::temp_directory_path() / "coflux-lab-XXXXXX").string()} {
    const int fd = mkstemp(path_.data());
    if (fd < 0) {
        throw std::runtime_error{"cannot make a file in the folder for temporary files"};
    }
    std::vector<std::uint64_t> words(mebibyte / sizeof(std::uint64_t));
    std::iota(words.begin(), words.end(), 0);
    bool whole = true;
    for (std::uint64_t i = 0; whole && i < r.integer("file_mib"); ++i) {
        whole = write(fd, words.data(), mebibyte) == static_cast<ssize_t>(mebibyte);
        for (std::uint64_t& word : words) {
            word += words.size();
        }
    }
    close(fd);
    if (!whole) {
        unlink(path_.c_str());
        throw std::runtime_error{"cannot write " + path_};
    }
}

numbered_file::~numbered_file() {
    unlink(path_.c_str());
}

file_reads::file_reads(const request& r)
    : bytes_{r.integer("bytes")},
      blocks_{bytes_ == 0 ? 0 : r.integer("file_mib") * mebibyte / bytes_},
      reads_{r.integer("reads")},
      random_{r.choice("pattern", {"random", "sequential"}) == "random"} {
    if (bytes_ < sizeof(std::uint64_t) || bytes_ % sizeof(std::uint64_t) != 0 || blocks_ == 0) {
        throw usage_error{"--params needs bytes, whole words and not more than the file has"};
    }
}

void file_reads::read(std::span<const std::byte> block) {
    if (block.size() != bytes_) {
        throw std::runtime_error{"a read gave " + std::to_string(block.size()) + " bytes"};
    }
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::memcpy(&first, block.data(), sizeof first);
    std::memcpy(&last, block.data() + block.size() - sizeof last, sizeof last);
    sum_ += ++done_ * (first + last);
}

}  // namespace harness
