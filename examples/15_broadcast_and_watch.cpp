// Two ways to inform many: a broadcast gives each receiver every message, a watch gives each the latest state.
#include <coflux/coflux.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

using pool = coflux::thread_pool_executor;

struct settings {
    std::string level;
    int limit;
};

/// Every message, or how many were overwritten before this receiver came for them.
coflux::fork<std::uint64_t, pool> listens(coflux::environment&, coflux::broadcast_receiver<std::string> rx) {
    std::uint64_t heard = 0;
    while (const auto message = co_await rx.receive()) heard += message.missed() + 1;
    co_return heard;
}

/// The state that counts is the last one; those between may pass by unseen.
coflux::fork<std::string, pool> follows(coflux::environment&, coflux::watch_receiver<settings> rx) {
    for (bool more = co_await rx.changed(); more; more = co_await rx.changed()) {
        const auto now = rx.borrow();  // stays as it is while a newer one is sent
        if (now->limit < 0) std::printf("never printed: limits are positive\n");
    }
    co_return rx.borrow()->level;
}

coflux::task<void, pool> tells(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [news, listener] = coflux::make_broadcast<std::string>(16);
    auto [state, follower] = coflux::make_watch(settings{"quiet", 1});

    auto first = listens(here, listener.subscribe());
    auto second = listens(here, std::move(listener));
    auto third = follows(here, follower);
    auto fourth = follows(here, std::move(follower));

    for (int i = 1; i <= 1000; ++i) {
        (void)news.send("message " + std::to_string(i));
        (void)state.send(settings{i == 1000 ? "loud" : "normal", i});
        if (i % 100 == 0) co_await coflux::yield();
    }
    news.close();
    state.close();

    const auto [a, b, x, y] =
        co_await coflux::when_all(std::move(first), std::move(second), std::move(third), std::move(fourth));
    std::printf("heard or missed: %d and %d\n", static_cast<int>(a), static_cast<int>(b));
    std::printf("last seen: %s and %s\n", x.c_str(), y.c_str());
}

// A receiver that comes late learns how much it has missed.
void shows_lag() {
    auto [tx, rx] = coflux::make_broadcast<int>(3);
    for (int i = 1; i <= 10; ++i) (void)tx.send(i);
    const auto message = rx.try_receive();
    std::printf("missed %d, then got %d\n", static_cast<int>(message.missed()), *message);
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    tells(env).get();
    shows_lag();
}
