// An HTTP/1.1 server with Boost.Beast's parser. With an argument it serves until SIGTERM; else it asks itself.
#include <chrono>
#include <cstdio>
#include <sstream>
#include <string>

#include <boost/beast/http.hpp>
#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
namespace http = boost::beast::http;
using boost::beast::error_code;
using pool = coflux::thread_pool_executor;
struct parser : http::request_parser<http::string_body> {
    parser() { header_limit(8 * 1024), body_limit(64 * 1024), eager(true); }  // eager: the body, too
};

// The buffer keeps what is not parsed, and is larger than a head may be. Full, it has a chunk's head without end.
coflux::call<error_code> receive(auto& in, parser& request) {
    auto&& here = co_await coflux::context();
    error_code error;
    for (std::size_t left = 0; !request.is_done(); left = in.buffered().size()) {
        const auto bytes = co_await in.peek(here, left == in.size() ? left : left + 1);
        if (bytes.size() == left) co_return left == in.size() ? http::error::header_limit : http::error::end_of_stream;
        in.consume(request.put({bytes.data(), bytes.size()}, error));
        if (error && error != http::error::need_more) break;
    }
    co_return error;
}

std::string answer_to(const http::request<http::string_body>& asked, const error_code& error, bool goes_on) {
    http::response<http::string_body> answer(http::status::not_implemented, asked.version());
    if (asked.method() == http::verb::get) answer = {http::status::ok, asked.version(), "hello\n"};
    if (asked.method() == http::verb::post) answer = {http::status::ok, asked.version(), asked.body()};
    if (error) answer = {http::status::bad_request, 11, error.message() + '\n'};
    answer.keep_alive(goes_on);
    answer.prepare_payload();
    return (std::ostringstream() << answer).str();
}

coflux::call<void> answers(coflux::environment&, coflux::tcp_stream peer, coflux::drain_token server) {
    auto&& here = co_await coflux::context();
    coflux::buffered_reader in(peer, 16 * 1024);
    for (bool goes_on = true; goes_on; goes_on = goes_on && co_await server.idle(here, in)) {
        parser request;
        const auto error = co_await coflux::timeout(receive(in, request), 10s);  // all of it: no slow drip
        if (error.timed_out() || *error == http::error::end_of_stream) co_return;
        goes_on = !*error && request.keep_alive() && !server.is_draining();
        const std::string answer = answer_to(request.get(), *error, goes_on);
        if (!co_await coflux::timeout(peer.write_all(answer), 10s)) co_return peer.abort();
    }
    peer.shutdown_send();
    std::string dropped;  // bytes that stay unread reset the connection, and that may overtake the answer
    (void)co_await coflux::as_outcome(coflux::timeout(coflux::read_to_end(here, in, dropped, 1 << 20), 2s));
}

coflux::fork<void, pool> visits(coflux::environment&, coflux::tcp_stream peer, coflux::environment* server) {
    auto&& here = co_await coflux::context();
    co_await peer.write_all("GET / HTTP/1.1\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 70000\r\n\r\n");
    std::string told;
    co_await coflux::read_to_end(here, peer, told, 4096);
    std::erase(told, '\r');
    std::printf("%s", told.c_str());
    server->request_stop();
}

coflux::task<void, pool> program(coflux::environment&, bool asks_itself) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    std::fprintf(stderr, "port %d\n", listener.local_endpoint().port());
    auto inside = coflux::make_environment(here);
    if (asks_itself) visits(here, co_await coflux::tcp_stream::connect(listener.local_endpoint()), &inside).attach();
    const auto report = co_await coflux::serve(inside, listener, answers, {.limit = 100, .drain = 5s});
    std::printf("served %d\n", static_cast<int>(report.served));
    co_await inside.join();
}

int main(int argc, char**) {
    return coflux::run(program, argc == 1);
}
