// A coroutine that owns its data and answers questions: they come through a bounded queue, and each brings the channel
// for its answer. Nothing is locked.
#include <coflux/coflux.hpp>

#include <array>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

using pool = coflux::thread_pool_executor;

struct question {
    std::string word;
    coflux::oneshot_sender<int> answer;
};

// Counts how often it was asked for each word. Ends when all that could ask are gone.
coflux::fork<int, pool> counter(coflux::environment&, coflux::mpsc_receiver<question> from) {
    auto questions = std::move(from);  // a local dies with the body, a parameter when the result is taken
    std::map<std::string, int> counts;
    int all = 0;
    while (auto q = co_await questions.receive()) {
        (void)q->answer.send(++counts[q->word]);
        ++all;
    }
    co_return all;
}

coflux::fork<int, pool> asks(coflux::environment&, coflux::mpsc_sender<question> to, std::string word, int times) {
    auto counter = std::move(to);
    int last = 0;
    for (int i = 0; i < times; ++i) {
        auto [answer, result] = coflux::make_oneshot<int>();
        question q{word, std::move(answer)};
        const bool sent = co_await counter.send(std::move(q));
        if (!sent) break;
        const auto count = co_await result.receive();
        last = count.value_or(0);
    }
    co_return last;
}

coflux::task<void, pool> counts(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = coflux::make_mpsc<question>(4);
    auto all = counter(here, std::move(rx));
    auto apples = asks(here, tx, "apple", 1000);
    auto pears = asks(here, std::move(tx), "pear", 10);  // the last sender: the queue closes when both are done
    const auto [a, p, n] = co_await coflux::when_all(std::move(apples), std::move(pears), std::move(all));
    std::printf("%d apples and %d pears are %d\n", a, p, n);
}

// One sender and one receiver: less to agree on, so it is the fastest. A batch takes what is there.
coflux::fork<void, pool> squares(coflux::environment&, coflux::spsc_sender<int> tx) {
    for (int i = 1; i <= 1000; ++i) {
        const bool sent = co_await tx.send(i * i);
        if (!sent) co_return;
    }
}

coflux::task<long, pool> sum_of_squares(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [tx, rx] = coflux::make_spsc<int>(64);
    squares(here, std::move(tx)).attach();
    long sum = 0;
    std::array<int, 64> batch;
    while (const std::size_t n = co_await rx.receive_some(batch)) {
        for (std::size_t i = 0; i != n; ++i) sum += batch[i];
    }
    co_return sum;
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    counts(env).get();
    std::printf("the sum of a thousand squares is %ld\n", sum_of_squares(env).get());
}
