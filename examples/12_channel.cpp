// A pipeline of channels with backpressure: files are read, packed and written; it ends because each stage closes the next.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using text = std::unique_ptr<std::string>;       // move-only: a channel never copies what it carries
using texts = coflux::channel<text[4]>;          // holds four; who sends a fifth waits
using answers = coflux::channel<std::size_t[]>;  // holds none: a send lasts until somebody has received

coflux::fork<void, pool> reads(auto&&, borrowed<texts> out, int count) {
    for (int i = 1; i <= count; ++i) {
        // A permit before the work: what is read can be sent for sure, and is never left over.
        auto place = co_await out->reserve();
        if (!place) co_return;
        place->send(std::make_unique<std::string>(static_cast<std::size_t>(i), 'x'));
    }
    out->close();
}

coflux::fork<void, pool> packs(auto&&, borrowed<texts> in, borrowed<texts> out) {
    while (auto next = co_await in->receive()) {
        text t = std::move(*next);
        *t = std::to_string(t->size());
        const bool sent = co_await out->send(std::move(t));
        if (!sent) co_return;  // the channel is closed: nobody wants more
    }
    out->close();
}

coflux::fork<void, pool> writes(auto&&, borrowed<texts> in, borrowed<answers> done) {
    std::size_t sum = 0;
    while (auto next = co_await in->receive()) sum += std::stoul(**next);
    (void)co_await (*done << sum);
}

coflux::task<void, pool> pipeline(auto&&) {
    auto&& here = co_await coflux::context();
    texts raw;
    texts packed;
    answers done;
    auto a = reads(here, borrowed(raw), 100);
    auto b = packs(here, borrowed(raw), borrowed(packed));
    auto c = writes(here, borrowed(packed), borrowed(done));
    std::size_t sum = 0;
    const bool received = co_await (done >> sum);
    if (received) std::printf("100 texts, %zu letters\n", sum);
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    std::printf("all closed: %s\n", raw.drained() && packed.drained() ? "yes" : "no");
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    pipeline(env).get();
}
