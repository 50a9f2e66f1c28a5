// select: one coroutine serves two channels until a message says quit; a call that loses is stopped and joined; one of
// many channels.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using numbers = coflux::channel<int[8]>;
using words = coflux::channel<std::string[8]>;
using signal = coflux::channel<bool[1]>;

coflux::fork<void, pool> serves(coflux::environment&, borrowed<numbers> in, borrowed<words> text,
                                borrowed<signal> quit) {
    int sum = 0;
    std::size_t letters = 0;
    for (;;) {
        // Exactly one case wins; what the other cases would have received stays in its channel.
        auto got = co_await coflux::select(in->receive(), text->receive(), quit->receive());
        switch (got.index()) {
        case 0: sum += get<0>(got).value_or(0); break;
        case 1: letters += get<1>(got)->size(); break;
        default: std::printf("numbers: %d, letters: %zu\n", sum, letters); co_return;
        }
    }
}

coflux::call<std::string> answers_late(words& never) {
    auto v = co_await never.receive();
    co_return v ? *v : "nothing";
}

coflux::task<void, pool> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    numbers in;
    words text;
    signal quit;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(serves, borrowed(in), borrowed(text), borrowed(quit));
        for (int i = 1; i <= 100; ++i) {
            (void)co_await in.send(i);
            if (i % 10 == 0) (void)co_await text.send("ten");
        }
        while (in.size() != 0 || text.size() != 0) co_await coflux::yield();
        (void)co_await quit.send(true);
    });  // the server has ended here

    // A case may be anything that can be awaited. `otherwise` wins where nothing can be done at once.
    words never;
    auto raced = co_await coflux::select(answers_late(never), quit.send(false));
    std::printf("the %s won\n", raced.index() == 0 ? "answer" : "signal");
    auto polled = co_await coflux::select(never.receive(), coflux::otherwise);
    std::printf("%s\n", polled.index() == 0 ? "a word" : "no word yet");

    // A range of channels, or of handles, is as many cases as it has elements.
    std::vector<numbers> lanes(100);
    (void)lanes[42].try_send(7);
    auto [lane, value] = co_await coflux::select(lanes);
    std::printf("lane %zu: %d\n", lane, value.value_or(0));
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    root(env).get();
}
