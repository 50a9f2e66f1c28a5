// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using coflux::borrowed;
using coflux::endpoint;
using coflux::udp_socket;
using worker = coflux::worker_executor;

constexpr std::size_t batch = 32;
constexpr std::size_t longest = 1200;

enum class sending { singly, in_batches, in_batches_of_odd_lengths };

/// 32 messages are sent, and received in one batch.
template <sending How, std::size_t Size>
coflux::task<void, worker> sends(coflux::environment&, borrowed<benchmark::State> state) {
    udp_socket to(endpoint::loopback(0));
    udp_socket from(endpoint::loopback(0));
    const std::array<std::byte, longest> bytes{};
    std::vector<coflux::outgoing_datagram> messages;
    for (std::size_t i = 0; i < batch; ++i) {
        // Each is longer than the one before: none can be cut from one with it.
        const std::size_t size = How == sending::in_batches_of_odd_lengths ? Size - batch + i : Size;
        messages.push_back({std::span(bytes).first(size), to.local_endpoint()});
    }
    std::vector<std::array<std::byte, longest>> buffers(batch);
    std::vector<coflux::incoming_datagram> incoming;
    for (auto& b : buffers) incoming.push_back({b, {}});

    for (auto _ : *state) {
        if constexpr (How == sending::singly) {
            for (const auto& m : messages) co_await from.send_to(m.bytes, m.to);
        } else {
            std::size_t sent = 0;
            while (sent < batch) sent += co_await from.send_batch(std::span(messages).subspan(sent));
        }
        std::size_t received = 0;
        while (received < batch) received += co_await to.receive_batch(std::span(incoming).subspan(received));
    }
}

template <coflux::task<void, worker> (*Program)(coflux::environment&, borrowed<benchmark::State>)>
void on_a_worker(benchmark::State& state) {
    worker one;
    auto env = coflux::make_environment(one);
    Program(env, borrowed(state)).get();
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
}
BENCHMARK(on_a_worker<sends<sending::singly, 64>>)->Name("send_to/64")->UseRealTime();
BENCHMARK(on_a_worker<sends<sending::in_batches_of_odd_lengths, 64>>)->Name("send_batch/64_at_most")->UseRealTime();
BENCHMARK(on_a_worker<sends<sending::in_batches, 64>>)->Name("send_batch/64")->UseRealTime();
BENCHMARK(on_a_worker<sends<sending::singly, longest>>)->Name("send_to/1200")->UseRealTime();
BENCHMARK(on_a_worker<sends<sending::in_batches_of_odd_lengths, longest>>)
    ->Name("send_batch/1200_at_most")
    ->UseRealTime();
BENCHMARK(on_a_worker<sends<sending::in_batches, longest>>)->Name("send_batch/1200")->UseRealTime();

}  // namespace
