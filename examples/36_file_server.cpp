// The files of a directory by HTTP/1.0. With an argument it serves that one until SIGTERM; else it asks itself.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using pool = coflux::thread_pool_executor;

// Blocks. Only what lies below `root` is there, wherever names and links lead.
std::string answer_to(const fs::path& root, const std::string& request) {
    const std::size_t end = request.find(' ', 4);
    if (!request.starts_with("GET /") || end == std::string::npos) return "HTTP/1.0 400 Bad Request\r\n\r\n";
    std::error_code none;
    const fs::path path = fs::canonical(root / request.substr(5, end - 5), none);
    if (none || *path.lexically_relative(root).begin() == ".." || !fs::is_regular_file(path))
        return "HTTP/1.0 404 Not Found\r\n\r\n";
    std::ifstream file(path, std::ios::binary);
    std::string body(fs::file_size(path), '\0');
    body.resize(static_cast<std::size_t>(file.read(body.data(), std::ssize(body)).gcount()));
    return "HTTP/1.0 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

coflux::call<std::string> request_from(coflux::environment&, coflux::tcp_stream& peer) {
    std::array<char, 1024> buffer{};
    std::string text;
    while (text.size() < 8192 && text.find("\r\n\r\n") == std::string::npos) {
        const std::size_t n = co_await peer.read_some(std::as_writable_bytes(std::span(buffer)));
        if (n == 0) break;
        text.append(buffer.data(), n);
    }
    co_return text;
}

coflux::fork<void, pool> visits(coflux::environment&, coflux::endpoint where, coflux::environment* server) {
    auto&& here = co_await coflux::context();
    for (const char* name : {"page", "none", "../../etc/passwd"}) {
        coflux::tcp_stream peer = co_await coflux::tcp_stream::connect(where);
        co_await peer.write_all("GET /" + std::string(name) + " HTTP/1.0\r\n\r\n");
        const std::string got = co_await request_from(here, peer);
        std::printf("%s: %s\n", name, got.substr(0, got.find('\r')).c_str());
    }
    server->request_stop();
}

coflux::task<void, pool> program(coflux::environment&, fs::path root, bool visited) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto handler = [root = fs::canonical(root)](coflux::environment&, coflux::tcp_stream peer) -> coflux::call<void> {
        auto&& self = co_await coflux::context();
        const auto request = co_await coflux::timeout(request_from(self, peer), 10s);  // all of it: no slow drip
        if (!request) co_return;
        const auto look = [&] { return answer_to(root, *request); };
        const std::string answer = co_await coflux::blocking(look);
        (void)co_await coflux::timeout(peer.write_all(answer), 10s);  // nor a slow reader
    };
    std::fprintf(stderr, "port %d\n", listener.local_endpoint().port());
    auto inside = coflux::make_environment(here);
    if (visited) visits(here, listener.local_endpoint(), &inside).attach();
    const auto report = co_await coflux::serve(inside, listener, handler, {.limit = 100, .drain = 2s});
    std::printf("served %d\n", static_cast<int>(report.served));
    co_await inside.join();
}

int main(int argc, char** argv) {
    if (argc > 1) return coflux::run(program, fs::path(argv[1]), false);
    std::string made = (fs::temp_directory_path() / "coflux_36_XXXXXX").string();
    if (mkdtemp(made.data()) == nullptr) return 1;
    std::ofstream(fs::path(made) / "page") << "a page\n";
    const int status = coflux::run(program, fs::path(made), true);
    fs::remove_all(made);
    return status;
}
