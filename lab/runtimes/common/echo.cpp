#include "echo.hpp"

#include "pinning.hpp"

#include <bit>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace harness {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers go over the wire as they lie in memory");

constexpr std::string_view of_client = "from client";
constexpr std::string_view of_server = "from server";
static_assert(of_client.size() == of_server.size() && of_client.size() + sizeof(std::uint64_t) == echo_size);

echo_message message_of(std::string_view words, std::uint64_t number) noexcept {
    echo_message m;
    std::memcpy(m.data(), words.data(), words.size());
    std::memcpy(m.data() + words.size(), &number, sizeof number);
    return m;
}

// The number in it; throws where it is not of this side.
std::uint64_t number_in(std::span<const std::byte> message, std::string_view words) {
    if (message.size() != echo_size || std::memcmp(message.data(), words.data(), words.size()) != 0) {
        throw wrong_message{"a message of " + std::to_string(message.size()) + " bytes is not one " +
                            std::string{words}};
    }
    std::uint64_t number = 0;
    std::memcpy(&number, message.data() + words.size(), sizeof number);
    return number;
}

}  // namespace

echo_message echo_request(std::uint64_t number) noexcept {
    return message_of(of_client, number);
}

echo_message echo_answer(std::span<const std::byte> request) {
    return message_of(of_server, number_in(request, of_client));
}

void echo_client::received(std::span<const std::byte> answer) {
    const std::uint64_t number = number_in(answer, of_server);
    if (number != number_) {
        throw wrong_message{"the answer to request " + std::to_string(number) + " came for " + std::to_string(number_)};
    }
    sum_.add(number);
}

echo_work::echo_work(const request& r)
    : over{transport::tcp},
      two_processes{r.integer("processes") == 2},
      rounds{r.integer("rounds")} {
    constexpr std::array<std::string_view, 7> names{"tcp",  "udp",      "unix",   "unix_datagram",
                                                    "pipe", "shm_spin", "shm_sem"};
    const std::string name =
        r.choice("transport", {names[0], names[1], names[2], names[3], names[4], names[5], names[6]});
    while (names[static_cast<std::size_t>(over)] != name) {
        over = static_cast<transport>(static_cast<int>(over) + 1);
    }
    if (!two_processes && r.integer("processes") != 1) {
        throw usage_error{"--params needs processes, 1 or 2"};
    }
}

void echo_work::require_kernel(const char* runtime) const {
    if (over == transport::shm_spin || over == transport::shm_sem) {
        throw unsupported_params{std::string{runtime} +
                                 " has nothing for memory that processes share: the reference is bare"};
    }
}

std::string abstract_name(std::string_view who) {
    // In a child that is the server it is the parent's: it is made before.
    return std::string(1, '\0') + "coflux-lab-" + std::to_string(getpid()) + "-" + std::string{who};
}

server_process::server_process(const std::function<void(const publish&)>& serve) {
    std::array<int, 2> told{};
    if (pipe(told.data()) != 0) {
        throw std::runtime_error{"no pipe from the server"};
    }
    std::fflush(nullptr);
    const pid_t client = getpid();
    process_ = fork();
    if (process_ < 0) {
        throw std::runtime_error{"no process for the server"};
    }
    if (process_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        move_beside(client);
        close(told[0]);
        try {
            serve([&told](std::uint16_t port) {
                const auto sent = write(told[1], &port, sizeof port);
                close(told[1]);
                if (sent != sizeof port) {
                    throw std::runtime_error{"the client has ended"};
                }
            });
        } catch (const std::exception& e) {
            std::fprintf(stderr, "the server: %s\n", e.what());
        }
        _exit(1);
    }
    close(told[1]);
    const auto got = read(told[0], &port_, sizeof port_);
    close(told[0]);
    if (got != sizeof port_) {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
        throw std::runtime_error{"the server did not begin"};
    }
}

server_process::~server_process() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
}

}  // namespace harness
