// A folder of its own for a test, which goes with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace coflux_test {

class temporary_folder {
public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "coflux_test_XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        at_ = name;
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(at_, ignored);
    }

    [[nodiscard]] std::string path() const { return at_.string(); }
    [[nodiscard]] std::string path(const std::string& name) const { return (at_ / name).string(); }
    /// The path of a file that has `text` from now on; the folders on the way to it are made.
    std::string file(const std::string& name, const std::string& text) const {
        const std::filesystem::path to = at_ / name;
        std::filesystem::create_directories(to.parent_path());
        std::ofstream(to, std::ios::binary) << text;
        return to.string();
    }

private:
    std::filesystem::path at_;
};

inline std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace coflux_test
