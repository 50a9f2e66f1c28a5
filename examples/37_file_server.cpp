// The files of a directory by HTTP/1.0. With an argument it serves that one until SIGTERM; else it asks itself.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using pool = coflux::thread_pool_executor;

// Blocks. Only what lies below `root` is there, wherever names and links lead.
std::optional<fs::path> file_at(const fs::path& root, const std::string& name) {
    std::error_code none;
    fs::path path = fs::canonical(root / name, none);
    if (none || *path.lexically_relative(root).begin() == ".." || !fs::is_regular_file(path)) return std::nullopt;
    return path;
}

coflux::call<void> answer(coflux::tcp_stream& peer, const fs::path& root, std::string request) {
    auto&& here = co_await coflux::context();
    const std::size_t end = request.find(' ', 4);
    if (!request.starts_with("GET /") || end == std::string::npos)
        co_return co_await peer.write_all("HTTP/1.0 400 Bad Request\r\n\r\n");
    const auto look = [&] { return file_at(root, request.substr(5, end - 5)); };
    const auto path = co_await coflux::blocking(look);
    if (!path) co_return co_await peer.write_all("HTTP/1.0 404 Not Found\r\n\r\n");
    coflux::file page = co_await coflux::file::open(path->string());
    const auto size = std::to_string(co_await page.size());
    co_await peer.write_all("HTTP/1.0 200 OK\r\nContent-Length: " + size + "\r\n\r\n");
    coflux::file_reader body(page);
    co_await coflux::copy(here, body, peer);
}

coflux::call<std::string> head_from(coflux::tcp_stream& peer) {
    auto&& here = co_await coflux::context();
    coflux::buffered_reader in(peer);
    const auto head = co_await in.read_until(here, "\r\n\r\n", 8192);
    co_return std::string(head.value_or(""));
}

coflux::fork<void, pool> visits(coflux::environment&, coflux::endpoint where, coflux::environment* server) {
    for (const char* name : {"page", "none", "../../etc/passwd"}) {
        coflux::tcp_stream peer = co_await coflux::tcp_stream::connect(where);
        co_await peer.write_all("GET /" + std::string(name) + " HTTP/1.0\r\n\r\n");
        const std::string got = co_await head_from(peer);
        std::printf("%s: %s\n", name, got.substr(0, got.find('\r')).c_str());
    }
    server->request_stop();
}

coflux::task<void, pool> program(coflux::environment&, fs::path root, bool visited) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto handler = [root = fs::canonical(root)](coflux::environment&, coflux::tcp_stream peer) -> coflux::call<void> {
        if (const auto request = co_await coflux::timeout(head_from(peer), 10s))             // all of it: no slow drip
            if (!co_await coflux::timeout(answer(peer, root, *request), 60s)) peer.abort();  // half is not all
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
