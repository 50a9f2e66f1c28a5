// A workflow as a graph: each step awaits views of the steps it needs, while ownership stays a tree.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <string>
#include <utility>

using pool = coflux::thread_pool_executor;
using text_view = coflux::fork_view<std::string>;

coflux::fork<std::string, pool> fetch(coflux::environment&, std::string name) {
    co_await coflux::yield();
    co_return name;
}

// A view gives a const reference into the fork's frame: two readers, no copy.
coflux::fork<std::string, pool> compile(coflux::environment&, text_view source, text_view header) {
    const std::string& s = co_await source;
    const std::string& h = co_await header;
    co_return "object(" + s + ", " + h + ")";
}

coflux::fork<std::string, pool> link(coflux::environment&, text_view a, text_view b) {
    const std::string& first = co_await a;
    co_return "program(" + first + ", " + co_await b + ")";
}

//   a.cpp   common.hpp   b.cpp
//       \    /      \    /
//       a.o          b.o
//          \        /
//           program
coflux::task<std::string, pool> build(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto a = fetch(here, "a.cpp");
    auto b = fetch(here, "b.cpp");
    auto header = fetch(here, "common.hpp");
    auto a_object = compile(here, a.view(), header.view());
    auto b_object = compile(here, b.view(), header.view());
    co_return co_await link(here, a_object.view(), b_object.view());
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    std::printf("%s\n", build(env).get().c_str());
}
