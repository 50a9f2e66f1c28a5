// A scope joins its children whatever happens, and no error of a child is lost.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> parse(coflux::environment&, std::string text) {
    co_await coflux::yield();
    co_return std::stoi(text);  // throws std::invalid_argument
}

coflux::fork<void, pool> log_line(coflux::environment&, std::string text) {
    co_await coflux::yield();
    std::printf("  logged: %s\n", text.c_str());
}

// An awaited child gives its value or throws its error here.
coflux::task<int, pool> sum_or_zero(coflux::environment&, std::string a, std::string b) {
    auto&& here = co_await coflux::context();
    auto x = parse(here, std::move(a));
    auto y = parse(here, std::move(b));
    try {
        auto [p, q] = co_await coflux::when_all(std::move(x), std::move(y));
        co_return p + q;
    } catch (const std::invalid_argument&) {
        std::printf("  caught here, with %zu other\n", coflux::other_errors().size());
        co_return 0;
    }
}

// A child that is not awaited belongs to the scope: the task ends after it.
coflux::task<void, pool> leaves_a_child(coflux::environment&) {
    auto&& here = co_await coflux::context();
    log_line(here, "by a child whose handle is gone").attach();
}

// Its error, which no await observed, is the scope's.
coflux::task<void, pool> leaves_failing_children(coflux::environment&) {
    auto&& here = co_await coflux::context();
    parse(here, "one").attach();
    parse(here, "two").attach();
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);

    std::printf("sum of 20 and 22\n  %d\n", sum_or_zero(env, "20", "22").get());
    std::printf("sum of twenty and x\n");
    std::printf("  %d\n", sum_or_zero(env, "twenty", "x").get());
    std::printf("a child left to its scope\n");
    leaves_a_child(env).join();
    std::printf("failing children left to their scope\n");
    try {
        leaves_failing_children(env).join();
    } catch (const std::invalid_argument&) {
        std::printf("  out of join(): an error, and %zu other\n", coflux::other_errors().size());
    }
}
