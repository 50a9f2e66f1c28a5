// echo on epoll, and over memory that both sides see.
#include "echo.hpp"

#include "io.hpp"
#include "pinning.hpp"
#include "poller.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <sched.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bare {
namespace {

using harness::echo_buffer;
using harness::echo_client;
using harness::echo_end;
using harness::echo_message;
using harness::echo_work;

constexpr std::uint64_t of_client = 0;
constexpr std::uint64_t of_server = 1;

void serve(poller& poll, const echo_end& server) {
    for (echo_buffer buffer;;) {
        for (const epoll_event& event : poll.wait()) {
            (void)event;
            if (buffer.receive(server)) {
                buffer.send(server, harness::echo_answer(buffer.message()));
                buffer.clear();
            }
        }
    }
}

// The client's rounds, and the server's beside them where it is in the same loop.
std::uint64_t run(poller& poll, const echo_end& client, const echo_end& server, std::uint64_t rounds) {
    echo_client asks;
    echo_buffer to_client;
    echo_buffer to_server;
    to_client.send(client, asks.next());
    for (std::uint64_t left = rounds; left != 0;) {
        for (const epoll_event& event : poll.wait()) {
            const bool at_client = event.data.u64 == of_client;
            echo_buffer& buffer = at_client ? to_client : to_server;
            if (!buffer.receive(at_client ? client : server)) {
                continue;
            }
            if (!at_client) {
                buffer.send(server, harness::echo_answer(buffer.message()));
            } else {
                asks.received(buffer.message());
                if (--left != 0) {
                    buffer.send(client, asks.next());
                }
            }
            buffer.clear();
        }
    }
    return asks.answer();
}

harness::measured over_descriptors(const harness::request& r, const echo_work& work) {
    harness::echo_pair ends = harness::make_echo_pair(work.over, SOCK_NONBLOCK);
    std::optional<harness::server_process> other;
    if (work.two_processes) {
        other.emplace([&ends](const harness::server_process::publish& publish) {
            ends.client = {};
            poller poll;
            poll.add(ends.server.in(), of_server);
            publish(0);
            serve(poll, ends.server);
        });
        ends.server = {};
    }
    poller poll;
    poll.add(ends.client.in(), of_client);
    if (!work.two_processes) {
        poll.add(ends.server.in(), of_server);
    }
    return harness::measure(r, [&](harness::stopwatch& watch) {
        watch.start();
        const std::uint64_t answer = run(poll, ends.client, ends.server, work.rounds);
        watch.stop();
        return answer;
    });
}

// One message in memory, and whose turn it is. Both sides read and write the message in their turn alone.
struct shared_line {
    // Even: the client's turn. Odd: the server's. Release pairs with the other side's acquire.
    alignas(128) std::atomic<std::uint64_t> turn{0};
    echo_message message{};
    alignas(128) sem_t request{};
    alignas(128) sem_t answer{};
};

class shared_memory {
public:
    shared_memory() {
        void* const at = mmap(nullptr, sizeof(shared_line), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) {
            harness::fail("mmap");
        }
        line_ = ::new (at) shared_line;
        harness::checked(sem_init(&line_->request, 1, 0), "sem_init");
        harness::checked(sem_init(&line_->answer, 1, 0), "sem_init");
    }
    ~shared_memory() { munmap(line_, sizeof(shared_line)); }
    shared_memory(const shared_memory&) = delete;
    shared_memory& operator=(const shared_memory&) = delete;
    shared_line* operator->() const noexcept { return line_; }

private:
    shared_line* line_;
};

// Spins until the turn is odd, or even.
std::uint64_t await_turn(const shared_memory& line, std::uint64_t parity) noexcept {
    std::uint64_t now = 0;
    while ((now = line->turn.load(std::memory_order_acquire)) % 2 != parity) {}
    return now;
}

void wait_for(sem_t& semaphore) {
    while (sem_wait(&semaphore) != 0) {
        if (errno != EINTR) {
            harness::fail("sem_wait");
        }
    }
}

void serve_once(const shared_memory& line, bool spins) {
    std::uint64_t turn = 0;
    if (spins) {
        turn = await_turn(line, 1);
    } else {
        wait_for(line->request);
    }
    line->message = harness::echo_answer(line->message);
    if (spins) {
        line->turn.store(turn + 1, std::memory_order_release);
    } else {
        harness::checked(sem_post(&line->answer), "sem_post");
    }
}

std::uint64_t run_shared(const shared_memory& line, const echo_work& work, bool spins) {
    echo_client asks;
    for (std::uint64_t i = 0; i < work.rounds; ++i) {
        line->message = asks.next();
        if (spins) {
            line->turn.store(line->turn.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        } else {
            harness::checked(sem_post(&line->request), "sem_post");
        }
        if (!work.two_processes) {
            serve_once(line, spins);
        }
        if (spins) {
            (void)await_turn(line, 0);
        } else {
            wait_for(line->answer);
        }
        asks.received(line->message);
    }
    return asks.answer();
}

// Two that spin on one CPU would wait for each other's time slices.
void require_two_cpus(const echo_work& work) {
    cpu_set_t before;
    sched_getaffinity(0, sizeof before, &before);
    const bool alone = !harness::move_beside(getpid());
    sched_setaffinity(0, sizeof before, &before);
    if (alone && CPU_COUNT(&before) < 2 && work.two_processes) {
        throw harness::unsupported_params{"both sides spin, and there is one CPU"};
    }
}

harness::measured over_memory(const harness::request& r, const echo_work& work) {
    const bool spins = work.over == harness::transport::shm_spin;
    if (spins) {
        require_two_cpus(work);
    }
    const shared_memory line;
    std::optional<harness::server_process> other;
    if (work.two_processes) {
        other.emplace([&](const harness::server_process::publish& publish) {
            publish(0);
            for (;;) {
                serve_once(line, spins);
            }
        });
    }
    return harness::measure(r, [&](harness::stopwatch& watch) {
        watch.start();
        const std::uint64_t answer = run_shared(line, work, spins);
        watch.stop();
        return answer;
    });
}

}  // namespace

harness::measured echo(const harness::request& r) {
    const echo_work work{r};
    const bool in_memory = work.over == harness::transport::shm_spin || work.over == harness::transport::shm_sem;
    return in_memory ? over_memory(r, work) : over_descriptors(r, work);
}

}  // namespace bare
