// The optional library over cpp-httplib.
#include <cstdio>
#include <exception>
#include <string_view>

#include <coflux/inspector/serve.hpp>

int main() {
    const auto inspector = coflux::inspect::serve();
    if (inspector.port() == 0) return 1;
    try {
        const auto wide = coflux::inspect::serve({.address = "0.0.0.0"});
    } catch (const std::exception& e) {
        return std::string_view(e.what()).starts_with("coflux: inspect::serve: ") ? 0 : 1;
    }
    return 1;
}
