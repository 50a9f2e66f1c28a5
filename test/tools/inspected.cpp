// Waits in known places until its input ends, and prints where its inspector answers.
#include <coflux/coflux.hpp>
#include <coflux/inspector/serve.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using pool = coflux::thread_pool_executor;

coflux::fork<void, pool> waits(coflux::environment&, coflux::manual_reset_event* end) {
    co_await end->wait();
}
coflux::task<void, pool> makes(coflux::environment&, coflux::manual_reset_event* end, int count) {
    auto&& here = co_await coflux::context();
    std::vector<coflux::fork<void, pool>> all;
    for (int i = 0; i < count; ++i) all.push_back(waits(here, end));
    co_await coflux::when_all(std::move(all));
}

}  // namespace

int main(int, char** arguments) {
    const auto inspector = coflux::inspect::serve();
    pool executor{2};
    auto env = coflux::make_environment(executor);
    coflux::manual_reset_event end;
    auto root = makes(env, &end, std::stoi(arguments[1]));
    std::printf("%s\n", std::string(inspector.url()).c_str());
    std::fflush(stdout);
    while (std::getchar() != EOF) {}
    end.set();
    root.get();
}
