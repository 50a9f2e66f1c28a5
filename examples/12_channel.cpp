// A pipeline of channels with backpressure: files are read, packed and written. Each stage holds ends of its channels,
// and the last end closes its channel when it dies: so the pipeline ends however a stage ends.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

using pool = coflux::thread_pool_executor;
using text = std::unique_ptr<std::string>;       // move-only: a channel never copies what it carries
using texts = coflux::channel<text[4]>;          // holds four; the sender of a fifth waits
using answers = coflux::channel<std::size_t[]>;  // holds none: a send lasts until a receiver has the value

coflux::fork<void, pool> reads(coflux::environment&, coflux::channel_sender<texts> out, int count) {
    for (int i = 1; i <= count; ++i) {
        // A permit before the work: what is read can be sent for sure, and is never left over.
        auto slot = co_await out.reserve();
        if (!slot) co_return;  // closed: all receivers are gone
        slot->send(std::make_unique<std::string>(static_cast<std::size_t>(i), 'x'));
    }
}  // the last sender dies: the packers receive what is left, and then nothing

coflux::fork<void, pool> packs(coflux::environment&, coflux::channel_receiver<texts> in,
                               coflux::channel_sender<texts> out) {
    while (auto next = co_await in.receive()) {
        text t = std::move(*next);
        *t = std::to_string(t->size());
        const bool sent = co_await out.send(std::move(t));
        if (!sent) co_return;
    }
}

coflux::fork<void, pool> writes(coflux::environment&, coflux::channel_receiver<texts> in,
                                coflux::channel_sender<answers> done) {
    std::size_t sum = 0;
    while (auto next = co_await in.receive()) sum += std::stoul(**next);
    (void)co_await (done << sum);
}

coflux::task<void, pool> pipeline(coflux::environment&) {
    auto&& here = co_await coflux::context();
    texts raw;
    texts packed;
    answers done;
    // The stages borrow the channels, so they live in a block that joins them; an error in one stops the rest.
    co_await coflux::with_scope(here, [&](coflux::task_scope& stages) -> coflux::call<void> {
        stages.spawn(reads, raw.sender(), 100);
        stages.spawn(packs, raw.receiver(), packed.sender());
        stages.spawn(packs, raw.receiver(), packed.sender());  // two share the work: the last of them closes `packed`
        stages.spawn(writes, packed.receiver(), done.sender());
        std::size_t sum = 0;
        const bool received = co_await (done >> sum);
        if (received) std::printf("100 texts, %zu letters\n", sum);
    });
    std::printf("all closed: %s\n", raw.drained() && packed.drained() ? "yes" : "no");
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    pipeline(env).get();
}
