// A stream job that meets records which it cannot process: it tries them again, and then puts them aside with their
// place and the error. The others go on.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

// A sensor's line, as "temperature 21".
int value_of(const std::string& line) {
    const auto space = line.find(' ');
    if (space == std::string::npos) throw std::invalid_argument("no value in \"" + line + "\"");
    return std::stoi(line.substr(space + 1));
}

coflux::task<void, pool> reads(coflux::environment&) {
    auto& here = co_await coflux::context();
    stream::memory_source lines(
        std::vector<std::string>{"temperature 21", "temperature", "pressure 1013", "humidity 40"});
    stream::memory_sink<int> values;
    stream::memory_sink<stream::dead_letter> refused;

    const auto report = co_await stream::run(
        here, stream::from(lines) | stream::map(value_of) | stream::to(values),
        stream::job{.on_error = stream::dead_letters(refused), .retries = {.attempts = 2, .first = 1ms}});

    for (const int value : values.values()) std::printf("%d\n", value);
    for (const auto& letter : refused.values()) {
        std::printf("line %lld, tried %u times: %s\n", static_cast<long long>(letter.next), letter.attempts,
                    letter.error.c_str());
    }
    std::printf("%llu records, %llu dead\n", static_cast<unsigned long long>(report.records),
                static_cast<unsigned long long>(report.dead));
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    reads(env).get();
}
