// Counts the words of files, four at a time, within a limit of time. Ctrl-C ends it early, with what was counted.
#include <coflux/coflux.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using names = std::vector<std::string>;

struct totals {
    std::atomic<int> files{0};
    std::atomic<long> words{0};
};

// Two texts for a run without arguments. A third, "endless", gives a line a millisecond for ever.
std::unique_ptr<std::istream> opens(const std::string& name) {
    if (name == "song") return std::make_unique<std::istringstream>("la la la\nla la\n");
    if (name == "poem") return std::make_unique<std::istringstream>("a rose is a rose\nis a rose\n");
    if (name == "endless") return std::make_unique<std::istringstream>();
    return std::make_unique<std::ifstream>(name);
}

coflux::call<void> counts(const std::string& name, totals& all) {
    const auto file = opens(name);
    if (!*file) throw std::runtime_error("cannot read " + name);
    long words = 0;
    for (std::string line; name == "endless" || std::getline(*file, line);) {
        std::istringstream in(line);
        for (std::string word; in >> word;) ++words;
        co_await coflux::yield();  // a stop point: no file is so long that Ctrl-C waits for its end
        if (name != "endless") continue;
        co_await 1ms;
        // The user has seen enough and presses Ctrl-C; then this coroutine is stopped in its sleep.
        if (all.files == 2 && std::raise(SIGINT) == 0) co_await 1h;
    }
    all.words += words;
    ++all.files;
}

coflux::task<void, pool> counts_all(coflux::environment&, names files, std::chrono::milliseconds limit,
                                    borrowed<totals> all) {
    const auto count = [&all](const std::string& name) { return counts(name, *all); };
    const bool in_time = co_await coflux::timeout(coflux::for_each_concurrent(files, 4, count), limit);
    if (!in_time) std::printf("too late: ");
}

int main(int argc, char** argv) {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    const coflux::stop_on_signals signals(env);  // while it lives, Ctrl-C stops what is made in `env`
    const auto run = [&](names files, std::chrono::milliseconds limit) {
        totals all;
        counts_all(env, std::move(files), limit, borrowed(all)).join();  // returns also if it was stopped
        std::printf("%d files, %ld words\n", all.files.load(), all.words.load());
    };
    if (argc > 1) {
        run(names(argv + 1, argv + argc), 10min);
    } else {
        run({"song", "poem"}, 1h);
        run({"endless"}, 10ms);
        run({"song", "endless", "poem"}, 1h);
    }
    if (signals.received() != 0) std::printf("ended by signal %d\n", signals.received());
    return argc > 1 && signals.received() != 0 ? 128 + signals.received() : 0;
}
