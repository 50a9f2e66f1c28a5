// An HTTP/1.1 client with Boost.Beast's parser: `host port path...`. Without arguments it tells itself the answers.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/beast/http.hpp>
#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
namespace http = boost::beast::http;

// A part of a head stays in the buffer until the rest has come. So the buffer is larger than a head may be.
coflux::call<std::string> receive(auto& in) {
    auto&& here = co_await coflux::context();
    http::response_parser<http::string_body> answer;
    answer.body_limit(64 * 1024);  // that of a head is 8 KiB
    answer.eager(true);            // the body, too
    boost::system::error_code error;
    for (std::size_t left = 0; !answer.is_done(); left = in.buffered().size()) {
        const auto bytes = co_await in.peek(here, left == in.size() ? left : left + 1);
        if (bytes.empty() && !answer.got_some()) throw coflux::end_of_stream(0);
        bytes.size() == left ? answer.put_eof(error) : in.consume(answer.put({bytes.data(), bytes.size()}, error));
        if (error && error != http::error::need_more) throw std::runtime_error(error.message());
    }
    co_return std::to_string(answer.get().result_int()) + ' ' + answer.get().body();
}

// By one connection, which is kept alive.
coflux::call<void> get(coflux::tcp_stream& peer, std::string host, std::vector<std::string> paths) {
    coflux::buffered_reader in(peer, 16 * 1024);
    for (const std::string& path : paths) {
        co_await peer.write_all("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        const auto answer = co_await coflux::timeout(receive(in), 1s);
        if (answer.timed_out()) throw std::runtime_error("too late");
        std::printf("%s: %s\n", path.c_str(), answer->c_str());
    }
}

coflux::task<void, coflux::thread_pool_executor> program(coflux::environment&, std::vector<std::string> arguments) {
    auto&& here = co_await coflux::context();
    if (arguments.size() > 2) {
        coflux::resolver names;
        auto peer = co_await coflux::connect_to(here, names, arguments[0], std::stoi(arguments[1]));
        co_return co_await get(peer, arguments[0], {arguments.begin() + 2, arguments.end()});
    }
    coflux::tcp_listener server(coflux::endpoint::loopback(0));
    const std::vector<std::string> paths{"/hello", "/parts"};
    for (const char* told : {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nparts\r\n0\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n", "HTTP/1.1 200 OK\r\nConte", ""}) {
        auto peer = co_await coflux::tcp_stream::connect(server.local_endpoint());
        auto accepted = co_await server.accept();
        co_await accepted.write_all(told);
        if (*told != '\0') accepted.shutdown_send();
        try {
            co_await get(peer, "here", paths);
        } catch (const std::exception& e) {
            std::printf("%s\n", e.what());
        }
    }
}

int main(int argc, char** argv) {
    return coflux::run(program, std::vector<std::string>(argv + 1, argv + argc));
}
