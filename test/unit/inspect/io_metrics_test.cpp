// Counts of what sockets do.
#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

constexpr std::size_t asked = 1000;
constexpr std::size_t answered = 10;

/// The values of `name`, by the value of its label; by "" if it has none.
std::map<std::string, double> values_of(std::string_view name) {
    std::map<std::string, double> all;
    coflux::inspect::for_each_metric([&](const coflux::inspect::metric& m) {
        if (m.family.name == name) all[m.labels.empty() ? std::string() : m.labels.back().value] = m.value;
    });
    return all;
}

/// How much more they are than when it was made.
class growth {
public:
    double of(std::string_view name, const std::string& label = {}) const {
        const auto before = all_.find(std::string(name));
        const auto now = values_of(name);
        const auto found = now.find(label);
        if (found == now.end()) return -1;
        return found->second -
               (before == all_.end() || before->second.count(label) == 0 ? 0 : before->second.at(label));
    }

private:
    static std::map<std::string, std::map<std::string, double>> read() {
        std::map<std::string, std::map<std::string, double>> all;
        for (const char* name : {"coflux_io_bytes", "coflux_io_transfers", "coflux_io_datagrams",
                                 "coflux_io_connections", "coflux_io_waits"})
            all[name] = values_of(name);
        return all;
    }
    const std::map<std::string, std::map<std::string, double>> all_ = read();
};

template <typename E>
coflux::fork<void, E> answers(coflux::environment&, coflux::tcp_listener* at) {
    coflux::tcp_stream peer = co_await at->accept();
    std::array<std::byte, asked> buffer{};
    co_await peer.read_exactly(buffer);
    co_await peer.write_all(std::span(buffer).first(answered));
}
template <typename E>
coflux::task<void, E> asks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));
    auto server = answers<E>(here, &listener);
    coflux::tcp_stream peer = co_await coflux::tcp_stream::connect(listener.local_endpoint());
    std::array<std::byte, asked> buffer{};
    co_await peer.write_all(buffer);
    co_await peer.read_exactly(std::span(buffer).first(answered));
    co_await std::move(server);
}
template <typename E>
coflux::task<void, E> sends_to_itself(coflux::environment&) {
    coflux::udp_socket socket(coflux::endpoint::loopback(0));
    std::array<std::byte, 4> buffer{};
    for (int i = 0; i < 3; ++i) {
        co_await socket.send_to(buffer, socket.local_endpoint());
        (void)co_await socket.receive_from(buffer);
    }
}

template <typename E>
class io_metrics : public testing::Test {};
using executors = testing::Types<coflux::worker_executor, coflux::thread_pool_executor>;
TYPED_TEST_SUITE(io_metrics, executors);

TYPED_TEST(io_metrics, count_bytes_and_connections_also_of_threads_that_have_ended) {
    const growth since;
    {
        TypeParam threads;
        auto env = coflux::make_environment(threads);
        asks<TypeParam>(env).get();
    }
    EXPECT_EQ(since.of("coflux_io_connections", "accepted"), 1);
    EXPECT_EQ(since.of("coflux_io_connections", "connected"), 1);
    EXPECT_EQ(since.of("coflux_io_bytes", "in"), asked + answered);
    EXPECT_EQ(since.of("coflux_io_bytes", "out"), asked + answered);
    EXPECT_GE(since.of("coflux_io_transfers", "in"), 2);
    EXPECT_GE(since.of("coflux_io_transfers", "out"), 2);
    EXPECT_GE(since.of("coflux_io_waits"), 1) << "the server waits for a connection";
}

TYPED_TEST(io_metrics, count_datagrams) {
    const growth since;
    TypeParam threads;
    auto env = coflux::make_environment(threads);
    sends_to_itself<TypeParam>(env).get();
    EXPECT_EQ(since.of("coflux_io_datagrams", "in"), 3);
    EXPECT_EQ(since.of("coflux_io_datagrams", "out"), 3);
}

TYPED_TEST(io_metrics, are_none_of_an_operation_that_fails) {
    const growth since;
    TypeParam threads;
    auto env = coflux::make_environment(threads);
    const auto connects_to_nothing = [](coflux::environment&) -> coflux::task<bool, TypeParam> {
        coflux::endpoint gone;
        {
            coflux::tcp_listener listener(coflux::endpoint::loopback(0));
            gone = listener.local_endpoint();
        }
        const auto refused = co_await coflux::as_result(coflux::tcp_stream::connect(gone));
        co_return !refused;
    };
    EXPECT_TRUE(connects_to_nothing(env).get());
    EXPECT_LE(since.of("coflux_io_connections", "connected"), 0);
}

}  // namespace
