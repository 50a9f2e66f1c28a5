// A server's knowledge of a client that resumes a session, as `openssl s_client` does.
#include <coflux/tls/stream.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "openssl_command.hpp"
#include "support/temporary_folder.hpp"
#include "tls_scenes.hpp"

namespace {

using namespace coflux_test;

struct visit {
    std::string name;  // that the server was asked for
    std::string told;  // by the client, of the session
};
coflux::call<visit> visits(coflux::environment&, coflux::tls_context server, const temporary_folder* folder,
                           std::vector<std::string> with) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    std::vector<std::string> arguments{"s_client", "-connect",    listener.local_endpoint().to_string(),
                                       "-ign_eof", "-servername", "example.org"};
    arguments.insert(arguments.end(), with.begin(), with.end());
    const openssl_command client(arguments, "/dev/null", folder->path("out"));
    tls_stream stream(server, co_await listener.accept());
    co_await stream.handshake(here);
    visit v{stream.server_name(), {}};
    co_await stream.write_all(here, "bye\n");
    (void)co_await stream.shutdown(here, late());
    for (int i = 0; i < 2000 && v.told.find("bye\n") == std::string::npos; ++i) {
        co_await 10ms;
        v.told = coflux_test::text_of(folder->path("out"));
    }
    co_return v;
}
coflux::call<void> resumes(coflux::environment&, coflux::tls_context server, std::string version) {
    auto&& here = co_await coflux::context();
    const temporary_folder folder;
    const std::string session = folder.path("session");
    const std::vector<std::string> out{version, "-sess_out", session};
    const std::vector<std::string> in{version, "-sess_in", session};
    const visit first = co_await visits(here, server, &folder, out);
    EXPECT_EQ(first.name, "example.org") << version;
    expect_in(first.told, "New, ");
    const visit second = co_await visits(here, server, &folder, in);
    EXPECT_EQ(second.name, "example.org") << version;
    expect_in(second.told, "Reused, ");
}
/// The server has a certificate for the name, or none.
coflux::call<void> resumes_with_each(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const certificate other = make_certificate("example.org", &root());
    coflux::tls_server_options several{.identity = localhost().identity()};
    several.further_identities.push_back(other.identity());
    const auto of_both = coflux::tls_context::server(several);
    for (const char* const version : {"-tls1_2", "-tls1_3"}) {
        co_await resumes(here, localhost_server(), version);
        co_await resumes(here, of_both, version);
    }
}
TEST(tls_resumed, knows_the_name_that_the_client_asked_for) {
    if (!has_openssl_command()) GTEST_SKIP() << "there is no command openssl";
    on_worker(resumes_with_each);
}

}  // namespace
