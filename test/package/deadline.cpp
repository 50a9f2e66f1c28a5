// A program that refers to nothing else of the runtime, and has a deadline: it acts.
#include <coflux/coflux.hpp>

#include <chrono>

int main() {
    auto root = coflux::make_environment();
    auto late = coflux::make_environment(root, std::chrono::steady_clock::now() - std::chrono::hours(1));
    return late.stop_requested() ? 0 : 1;
}
