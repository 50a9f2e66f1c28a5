// A job that doubles numbers, and does not know hexadecimal ones, unless it is mended:
// `fragile_job IN OUT DEAD [mended]`.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <stdexcept>
#include <string>
#include <string_view>

namespace stream = coflux::stream;

coflux::task<int, coflux::thread_pool_executor> doubles(coflux::environment&, int argc, char** argv) {
    auto& here = co_await coflux::context();
    if (argc != 4 && argc != 5) throw std::invalid_argument("usage: fragile_job IN OUT DEAD [mended]");
    const bool is_mended = argc == 5;
    stream::line_source in(argv[1]);
    stream::line_sink out(argv[2]);
    stream::dead_letter_file dead(argv[3]);
    const auto twice = [is_mended](std::string_view text) {
        const std::string digits(text);
        std::size_t end = 0;
        const int value = std::stoi(digits, &end, is_mended ? 0 : 10);
        if (end != digits.size()) throw std::invalid_argument("no number in \"" + digits + "\"");
        return std::to_string(2 * value);
    };
    (void)co_await stream::run(here, stream::from(in) | stream::parse(twice) | stream::to(out),
                               stream::job{.name = "doubles", .workers = 1, .on_error = stream::dead_letters(dead)});
    co_return 0;
}

int main(int argc, char** argv) {
    return coflux::run(doubles, argc, argv);
}
