// A stream job that asks another system for each record: eight questions wait at a time, and the order of a key is
// kept.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

struct visit {
    int page;
    std::string country;
};

// A service that knows where an address is.
coflux::call<std::string> country_of(int address) {
    co_await coflux::sleep_for(1ms);
    co_return address % 3 == 0 ? "France" : "Chile";
}

coflux::task<void, pool> visits(coflux::environment&) {
    auto& here = co_await coflux::context();
    std::vector<int> addresses;
    for (int i = 0; i != 90; ++i) addresses.push_back(i);
    stream::memory_sink<visit> sink;

    constexpr auto look_up = [](coflux::environment&, const int& address) -> coflux::call<visit> {
        co_return visit{address % 10, co_await country_of(address)};
    };
    (void)co_await stream::run(here, stream::from(stream::memory_source(addresses)) |
                                         stream::by_key([](int address) { return address; }) |
                                         stream::call_each(8, look_up) | stream::to(sink));

    std::map<std::string, int> of;
    for (const visit& v : sink.values()) ++of[v.country];
    for (const auto& [country, count] : of) std::printf("%s: %d\n", country.c_str(), count);
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    visits(env).get();
}
