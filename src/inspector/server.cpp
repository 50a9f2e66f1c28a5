#include <coflux/inspector/serve.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/inspect/deadlocks.hpp>
#include <coflux/inspect/dump.hpp>
#include <coflux/inspect/dump_on_signal.hpp>
#include <coflux/inspect/metrics.hpp>
#include <coflux/inspect/profile.hpp>
#include <coflux/inspect/trace.hpp>

#include "inspector/bounded_queue.hpp"
#include "inspector/page.hpp"
#include "os/process/process.hpp"
#include "os/process/quiet_signals.hpp"
#include "os/thread/thread.hpp"

namespace coflux::inspect {
namespace {

constexpr std::size_t answering = 2;       // threads: one client that is slow does not keep the other out
constexpr std::size_t most_accepted = 32;  // connections
constexpr std::size_t most_text = std::size_t{64} * 1024 * 1024;
constexpr std::size_t usual_json = std::size_t{1024} * 1024;
constexpr std::size_t most_trace = 3'600'000;  // ms
constexpr std::size_t usual_profile = 5;       // s
constexpr std::size_t most_profile = 600;      // s
constexpr std::chrono::seconds patience(1);    // with a client that is silent

bool is_loopback(std::string_view name) {
    // Digits alone behind it: 127.0.0.1.evil.example is a name.
    const bool is_address = name.find_first_not_of("0123456789.") == std::string_view::npos;
    return name == "localhost" || name == "::1" || (name.starts_with("127.") && is_address);
}

/// A browser names the host that the user asked for. One that leads here by a name of its own reads nothing.
bool is_asked_for(std::string_view host) {
    if (host.empty()) return true;
    if (host.starts_with('[')) return is_loopback(host.substr(1, host.find(']') - 1));
    return is_loopback(host.substr(0, host.find(':')));
}

void refuse(httplib::Response& to, int status, const std::string& why) {
    to.status = status;
    to.set_content(why + "\n", "text/plain; charset=utf-8");
}

std::optional<std::size_t> number_in(std::string_view text) {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return n;
}

/// The limit that is asked for; without one `usual`. Nothing: it was refused.
std::optional<std::size_t> limit_of(const httplib::Request& asked, std::size_t usual, httplib::Response& to) {
    if (!asked.has_param("limit")) return usual;
    const std::string text = asked.get_param_value("limit");
    if (const auto limit = number_in(text); limit && *limit <= most_text) return limit;
    refuse(to, 400, "limit is a number of bytes, at most " + std::to_string(most_text) + ", and not \"" + text + "\"");
    return std::nullopt;
}

void answer_dump(const httplib::Request& asked, httplib::Response& to) {
    const std::string name = asked.has_param("format") ? asked.get_param_value("format") : "grouped";
    if (name != "grouped" && name != "tree")
        return refuse(to, 400, "format is grouped or tree, and not \"" + name + "\"; /dump.json is JSON");
    const format as = name == "tree" ? format::tree : format::grouped;
    if (const auto limit = limit_of(asked, dump_options{}.limit, to))
        to.set_content(dump({.format = as, .limit = *limit}), "text/plain; charset=utf-8");
}

void answer_json(const httplib::Request& asked, httplib::Response& to) {
    if (const auto limit = limit_of(asked, usual_json, to))
        to.set_content(dump({.format = format::json, .limit = *limit}), "application/json");
}

void answer_deadlocks(const httplib::Request&, httplib::Response& to) {
    std::string text;
    for (const std::string& cycle : deadlocks()) text += cycle + "\n";
    to.set_content(text.empty() ? "coflux: no deadlock\n" : text, "text/plain; charset=utf-8");
}

/// The last `ms` of it, or all that is kept.
void answer_trace(const httplib::Request& asked, httplib::Response& to) {
    trace_options options;
    const std::string form = asked.has_param("format") ? asked.get_param_value("format") : "perfetto";
    if (form != "perfetto" && form != "chrome")
        return refuse(to, 400, "format is perfetto or chrome, and not \"" + form + "\"");
    const bool is_chrome = form == "chrome";
    if (is_chrome) options.format = trace_format::chrome;
    if (asked.has_param("ms")) {
        const std::string text = asked.get_param_value("ms");
        const auto ms = number_in(text);
        if (!ms || *ms > most_trace)
            return refuse(to, 400, "ms is at most " + std::to_string(most_trace) + ", and not \"" + text + "\"");
        options.last = std::chrono::milliseconds(*ms);
    }
    to.set_header("Content-Disposition",
                  is_chrome ? "attachment; filename=coflux.json" : "attachment; filename=coflux.pftrace");
    to.set_content(trace(options), is_chrome ? "application/json" : "application/octet-stream");
}

/// Answers that take their time wait here; the end of the server ends them.
class end_of_server {
public:
    void wait_for(std::chrono::seconds time) {
        detail::unique_lock lock(mutex_);
        came_.wait_for(lock, time, [this] { return is_here_; });
    }
    void come() {
        const detail::lock_guard lock(mutex_);
        is_here_ = true;
        came_.notify_all();
    }

private:
    detail::mutex mutex_;
    detail::condition_variable came_;
    bool is_here_ = false;  // guarded by mutex_
};

/// A profile of the next `s` seconds.
void answer_profile(const httplib::Request& asked, httplib::Response& to, end_of_server& end) {
    const std::string of = asked.has_param("of") ? asked.get_param_value("of") : "processor";
    if (of != "processor" && of != "waits") return refuse(to, 400, "of is processor or waits, and not \"" + of + "\"");
    std::size_t seconds = usual_profile;
    if (asked.has_param("s")) {
        const std::string text = asked.get_param_value("s");
        const auto s = number_in(text);
        if (!s || *s > most_profile)
            return refuse(to, 400, "s is at most " + std::to_string(most_profile) + ", and not \"" + text + "\"");
        seconds = *s;
    }
    try {
        profiler p;
        end.wait_for(std::chrono::seconds(seconds));
        const profile_result r = p.stop();
        to.set_content(folded(of == "waits" ? r.waits : r.processor), "text/plain; charset=utf-8");
    } catch (const std::system_error& e) {
        refuse(to, 503, e.what());
    }
}

void answer_metrics(const httplib::Request&, httplib::Response& to) {
    to.set_content(openmetrics_text(), "application/openmetrics-text; version=1.0.0; charset=utf-8");
}

void answer_page(const httplib::Request&, httplib::Response& to) {
    to.set_header("Content-Security-Policy",
                  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'");
    to.set_content(detail::inspector_page.data(), detail::inspector_page.size(), "text/html; charset=utf-8");
}

void check_name(const serve_options& options) {
    if (options.socket.empty() && !is_loopback(options.address))
        throw std::invalid_argument("coflux: inspect::serve: \"" + options.address +
                                    "\" is not of the loopback; any client would see the whole program");
}

}  // namespace

struct server::state {
    explicit state(const serve_options& options) : socket(options.socket) {
        check_name(options);
        if (options.dump_signal != 0) on_signal.emplace(options.dump_signal);
        http.set_keep_alive_timeout(patience.count());
        http.set_read_timeout(patience);
        http.set_write_timeout(patience);
        // Without SO_REUSEPORT, which the library sets: two programs of one port would share its requests.
        http.set_socket_options([](socket_t s) {
            const int yes = 1;
            (void)::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        });
        http.set_default_headers({{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}});
        http.new_task_queue = [] { return new detail::bounded_queue(answering, most_accepted); };
        http.set_pre_routing_handler([local = !socket.empty()](const httplib::Request& asked, httplib::Response& to) {
            if (!local && !is_asked_for(asked.get_header_value("Host"))) {
                refuse(to, 403, "this host is not the loopback");
            } else if (asked.method != "GET" && asked.method != "HEAD") {
                to.set_header("Allow", "GET, HEAD");
                refuse(to, 405, "only GET and HEAD");
            } else {
                return httplib::Server::HandlerResponse::Unhandled;
            }
            return httplib::Server::HandlerResponse::Handled;
        });
        http.Get("/", answer_page);
        http.Get("/metrics", answer_metrics);
        http.Get("/dump", answer_dump);
        http.Get("/dump.json", answer_json);
        http.Get("/deadlocks", answer_deadlocks);
        http.Get("/trace", answer_trace);
        http.Get("/profile",
                 [this](const httplib::Request& asked, httplib::Response& to) { answer_profile(asked, to, end); });
        bind(options);
        thread = detail::thread([this] {
            detail::os::block_signals_of_this_thread();
            detail::os::name_this_thread("coflux-inspect");
            http.listen_after_bind();
            ended.store(true, detail::memory_order_release);  // pairs with stop()
        });
    }

    void bind(const serve_options& options) {
        errno = 0;
        bool bound = false;
        if (!socket.empty()) {
            http.set_address_family(AF_UNIX);
            bound = http.bind_to_port(socket, 80);
            if (bound)
                std::filesystem::permissions(socket,
                                             std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
            url = socket;
        } else {
            const int given = options.port == 0 ? http.bind_to_any_port(options.address)
                              : http.bind_to_port(options.address, options.port) ? options.port
                                                                                 : -1;
            bound = given > 0;
            port = bound ? static_cast<std::uint16_t>(given) : std::uint16_t{0};
            const bool is_ipv6 = options.address.find(':') != std::string::npos;
            url = "http://" + (is_ipv6 ? "[" + options.address + "]" : options.address) + ":" + std::to_string(port) +
                  "/";
        }
        if (!bound) {
            throw std::system_error(
                errno != 0 ? errno : EADDRNOTAVAIL, std::system_category(),
                "coflux: inspect::serve: " +
                    (socket.empty() ? options.address + ":" + std::to_string(options.port) : socket));
        }
    }

    /// The library stops one that runs, and nothing else.
    void stop() {
        while (!http.is_running() && !ended.load(detail::memory_order_acquire)) std::this_thread::yield();
        end.come();
        http.stop();
        thread.join();
        if (!socket.empty()) {
            std::error_code ignored;
            std::filesystem::remove(socket, ignored);
        }
    }

    /// Its constructor has SIGPIPE ignored, of which the program may think otherwise.
    static std::unique_ptr<httplib::Server> make_http() {
        const detail::os::kept_sigpipe kept;
        return std::make_unique<httplib::Server>();
    }

    const std::string socket;
    std::string url;
    std::uint16_t port = 0;
    std::optional<dump_on_signal> on_signal;
    const std::unique_ptr<httplib::Server> http_ = make_http();
    httplib::Server& http = *http_;
    end_of_server end;
    detail::atomic<bool> ended{false};
    detail::os::process_mark process;
    detail::thread thread;
};

server::server(const serve_options& options) : state_(std::make_unique<state>(options)) {}

server::~server() {
    if (state_->process.is_here()) {
        state_->stop();
    } else {
        // A child of fork(): the threads of the server are not there, and may have held its locks.
        detail::os::keep_thread_of_parent(std::move(state_->thread));
        (void)state_.release();
    }
}

std::uint16_t server::port() const noexcept {
    return state_->port;
}

const std::string& server::url() const noexcept {
    return state_->url;
}

}  // namespace coflux::inspect
