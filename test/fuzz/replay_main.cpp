// Runs files, and the files of folders, through a fuzz program without libFuzzer: so any compiler replays a corpus or a
// crash.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/program.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& at) {
    if (!fs::is_directory(at)) return {at};
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(at)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

int main(int argc, char** argv) {
    const auto begun = std::chrono::steady_clock::now();
    std::string report;
    std::string name;
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        if (std::strncmp(argv[i], "--report=", 9) == 0) {
            report = argv[i] + 9;
        } else if (std::strncmp(argv[i], "--name=", 7) == 0) {
            name = argv[i] + 7;
        } else {
            for (fs::path& file : files_of(argv[i])) files.push_back(std::move(file));
        }
    }
    if (files.empty()) {
        std::fprintf(stderr, "usage: %s [--name=NAME --report=FILE] FILE|FOLDER...\nruns each file as a fuzz program\n",
                     argv[0]);
        return 2;
    }
    for (const fs::path& file : files) {
        std::ifstream in(file, std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        std::printf("%s: %zu bytes\n", file.c_str(), bytes.size());
        std::fflush(stdout);  // before a check aborts
        (void)LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    std::printf("%zu programs: pass\n", files.size());
    if (!report.empty()) {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        std::ofstream out(report);
        out << "{\"rung\": \"L8\", \"name\": \"fuzz corpus: " << name
            << "\", \"what\": \"committed inputs replayed against the model\", \"count\": " << files.size()
            << ", \"seconds\": " << took.count() << ", \"result\": \"pass\"}\n";
    }
    return 0;
}
