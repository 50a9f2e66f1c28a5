#include "unix_socket.hpp"

#include <cerrno>
#include <cstddef>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "message.hpp"
#include "os/system_call.hpp"
#include "socket_name.hpp"

namespace coflux::detail::os {
namespace {

/// nullptr where there is no file. write_local_name() ends it by a zero byte.
const char* path_of(const_socket_name name) noexcept {
    constexpr std::size_t before = offsetof(sockaddr_un, sun_path);
    if (family_of_name(name.data, name.size) != AF_UNIX || name.size <= before) return nullptr;
    const char* const path = static_cast<const char*>(name.data) + before;
    return *path == '\0' ? nullptr : path;
}

int open_pair(int type, int (&ends)[2]) noexcept {
    return result_of([&] { return socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends); });
}

}  // namespace

int open_stream_pair(int (&ends)[2]) noexcept {
    return open_pair(SOCK_STREAM, ends);
}
int open_datagram_pair(int (&ends)[2]) noexcept {
    return open_pair(SOCK_DGRAM, ends);
}

int peer_credentials(int descriptor, credentials& of) noexcept {
    ucred peer{};
    socklen_t size = sizeof peer;
    const int e = result_of([&] { return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size); });
    if (e >= 0) of = {peer.pid, peer.uid, peer.gid};
    return e;
}

file_identity file_of_name(const_socket_name name) noexcept {
    struct stat status{};
    const char* const path = path_of(name);
    if (path == nullptr || lstat(path, &status) != 0) return {};
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino)};
}

void remove_file_of_name(const_socket_name name, const file_identity& which) noexcept {
    const file_identity now = file_of_name(name);
    if (now.number != 0 && now.number == which.number && now.device == which.device) (void)unlink(path_of(name));
}

void remove_stale_socket(const_socket_name name, socket_type type) noexcept {
    const char* const path = path_of(name);
    struct stat status{};
    if (path == nullptr || lstat(path, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
    const int asks = type == socket_type::stream ? open_stream(AF_UNIX) : open_datagram(AF_UNIX);
    if (asks < 0) return;
    if (begin_connect(asks, name) == -ECONNREFUSED) (void)unlink(path);
    close_descriptor(asks);
}

int stop_blocking(int descriptor) noexcept {
    const int flags = result_of([&] { return fcntl(descriptor, F_GETFL); });
    if (flags < 0 || (flags & O_NONBLOCK) != 0) return flags < 0 ? flags : 0;
    return result_of([&] { return fcntl(descriptor, F_SETFL, flags | O_NONBLOCK); });
}
int peer_name(int descriptor, socket_name& name) noexcept {
    auto size = static_cast<socklen_t>(name.size);
    const int e = result_of([&] { return getpeername(descriptor, static_cast<sockaddr*>(name.data), &size); });
    if (e >= 0) name.size = size;
    return e;
}

}  // namespace coflux::detail::os
