// A log that is appended to, kept on the drive, and read back in pieces.
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>

#include <coflux/coflux.hpp>

using worker = coflux::worker_executor;

coflux::fork<void, worker> writes(coflux::environment&, coflux::file* log, std::string name) {
    // Each line is written as a whole: those of other coroutines, or of other processes, are before or behind it.
    for (int i = 0; i != 3; ++i) co_await log->append(name + '\n');
}

coflux::call<std::uint64_t> size_of(std::string path) {
    coflux::file f = co_await coflux::file::open(path);
    co_return co_await f.size();
}

coflux::task<void, worker> program(coflux::environment&, std::string folder) {
    const std::string path = folder + "/a.log";
    auto&& here = co_await coflux::context();
    coflux::file log = co_await coflux::file::open(path, {.write = true, .create = true, .truncate = true});
    auto first = writes(here, &log, "first");
    auto second = writes(here, &log, "other");
    co_await coflux::when_all(std::move(first), std::move(second));
    co_await log.sync();  // from now on they survive a loss of power

    // Bytes that were just written are in the page cache: these reads do not wait.
    std::string line(6, ' ');
    int firsts = 0;
    std::uint64_t at = 0;
    while (co_await log.read_at(at, std::as_writable_bytes(std::span(line))) == line.size()) {
        if (line == "first\n") ++firsts;
        at += line.size();
    }
    std::printf("%d of %d lines are of the first\n", firsts, static_cast<int>(at / line.size()));

    // From file to file the system copies, and holes stay holes.
    coflux::file saved = co_await coflux::file::open(folder + "/a.saved", {.write = true, .create = true});
    coflux::file_reader from(log);
    coflux::file_writer to(saved);
    const std::uint64_t copied = co_await coflux::copy(here, from, to);
    std::printf("copied: %d bytes\n", static_cast<int>(copied));
    co_await log.close();  // tells errors that the destructor would not

    // The names beside it come in batches, in the order of the file system.
    int logs_there = 0;
    coflux::directory logs = co_await coflux::directory::open(folder);
    for (auto batch = co_await logs.next(); !batch.empty(); batch = co_await logs.next())
        for (const coflux::directory_entry& e : batch) logs_there += e.name.ends_with(".log") ? 1 : 0;
    std::printf("logs: %d\n", logs_there);

    // Errors are exceptions with the path, or values.
    const auto none = co_await coflux::as_result(coflux::file::open(path + ".none"));
    std::printf("another file: %s\n", none.error().message().c_str());
    // Those of a call, too.
    const auto size = co_await coflux::as_result(size_of(path + ".none"));
    std::printf("its size: %s\n", size ? std::to_string(*size).c_str() : size.error().message().c_str());
}

int main() {
    const auto folder = std::filesystem::temp_directory_path() / "coflux_example_44";
    std::filesystem::create_directories(folder);
    worker on;
    auto env = coflux::make_environment(on);
    program(env, folder.string()).get();
    std::filesystem::remove_all(folder);
}
