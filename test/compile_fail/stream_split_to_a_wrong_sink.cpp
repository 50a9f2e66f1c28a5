// expect: coflux: the sink does not take what the flow gives
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

using either = std::variant<int, std::string>;

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source all(std::vector<either>{1, std::string("one")});
    coflux::stream::memory_sink<int> numbers;
#ifdef COFLUX_GOOD
    coflux::stream::memory_sink<std::string> texts;
#else
    coflux::stream::memory_sink<int> texts;
#endif
    co_await coflux::stream::run(here,
                                 coflux::stream::from(all) | coflux::stream::to(coflux::stream::split(numbers, texts)));
}
