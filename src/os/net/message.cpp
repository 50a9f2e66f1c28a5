#include "message.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "os/system_call.hpp"

namespace coflux::detail::os {
namespace {

static_assert(sizeof(buffer) == sizeof(iovec) && offsetof(buffer, size) == offsetof(iovec, iov_len));

msghdr header_of(const buffer* buffers, std::size_t count) noexcept {
    msghdr h{};
    h.msg_iov = const_cast<iovec*>(reinterpret_cast<const iovec*>(buffers));
    h.msg_iovlen = count;
    return h;
}
msghdr header_of(const datagram_message& m) noexcept {
    msghdr h = header_of(&m.bytes, 1);
    h.msg_name = m.name;
    h.msg_namelen = m.name == nullptr ? 0 : static_cast<socklen_t>(m.name_size);
    return h;
}

/// The header of a message, with its one buffer.
struct laid_out {
    msghdr header;
    buffer bytes;
};
static_assert(sizeof(laid_out) <= laid_out_size && alignof(laid_out) <= alignof(void*));

constexpr std::size_t room_for_descriptors = CMSG_SPACE(most_descriptors * sizeof(int));

int enable(int descriptor, int option) noexcept {
    const int on = 1;
    return result_of([&] { return setsockopt(descriptor, SOL_SOCKET, option, &on, sizeof on); });
}
int change_group(int descriptor, int what, const_socket_name group) noexcept {
    group_req request{};
    if (group.size > sizeof request.gr_group) return -EINVAL;
    std::memcpy(&request.gr_group, group.data, group.size);
    const int level = request.gr_group.ss_family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP;
    return result_of([&] { return setsockopt(descriptor, level, what, &request, sizeof request); });
}

// --- one message that the system cuts --------------------------------------------------------------------------------

/// The most bytes of a message over IP.
constexpr std::size_t most_bytes = 65'507;

bool have_one_name(const datagram_message& a, const datagram_message& b) noexcept {
    return a.name_size == b.name_size && (a.name_size == 0 || std::memcmp(a.name, b.name, a.name_size) == 0);
}
/// How many of the messages, from the first on, can be cut from one: they go to one endpoint, and each is as long as
/// the first, but the last may be shorter.
std::size_t could_be_cut(const datagram_message* messages, std::size_t count) noexcept {
    const datagram_message& first = messages[0];
    std::size_t n = 1;
    std::size_t bytes = first.bytes.size;
    while (n < count) {
        const datagram_message& m = messages[n];
        bytes += m.bytes.size;
        if (m.bytes.size == 0 || m.bytes.size > first.bytes.size || bytes > most_bytes) break;
        if (!have_one_name(m, first)) break;
        ++n;
        if (m.bytes.size < first.bytes.size) break;
    }
    return n;
}
/// False for a local socket, and where the system is too old.
bool cuts_messages(int descriptor) noexcept {
    int segment = 0;
    socklen_t size = sizeof segment;
    return getsockopt(descriptor, IPPROTO_UDP, UDP_SEGMENT, &segment, &size) == 0;
}
/// The messages would be sent one by one: they are longer than the network's, or its device does not count their sums.
bool is_of_cutting(int error) noexcept {
    return error == -EINVAL || error == -EMSGSIZE || error == -EIO;
}

int send_all(int descriptor, mmsghdr* all, std::size_t count) noexcept {
    return result_of(
        [&] { return sendmmsg(descriptor, all, static_cast<unsigned>(count), MSG_DONTWAIT | MSG_NOSIGNAL); });
}
constexpr std::size_t room_for_size = CMSG_SPACE(sizeof(std::uint16_t));

void cut_into(std::size_t bytes, msghdr& h, char* control) noexcept {
    h.msg_control = control;
    h.msg_controllen = room_for_size;
    cmsghdr* const cut = CMSG_FIRSTHDR(&h);
    cut->cmsg_level = IPPROTO_UDP;
    cut->cmsg_type = UDP_SEGMENT;
    cut->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto size = static_cast<std::uint16_t>(bytes);
    std::memcpy(CMSG_DATA(cut), &size, sizeof size);
}
/// A batch in which what can be cut from one is one.
class united_batch {
public:
    united_batch(const datagram_message* messages, std::size_t count) noexcept {
        for (std::size_t i = 0; i < count; ++i) bytes_[i] = messages[i].bytes;
        for (std::size_t at = 0; at < count; ++size_) {
            const std::size_t n = could_be_cut(messages + at, count - at);
            msghdr h = header_of(bytes_ + at, n);
            h.msg_name = messages[at].name;
            h.msg_namelen = static_cast<socklen_t>(messages[at].name_size);
            if (n > 1) cut_into(bytes_[at].size, h, control_[size_]);
            at += n;
            all_[size_] = {h, 0};
            ends_[size_] = at;
        }
    }
    united_batch(const united_batch&) = delete;
    united_batch& operator=(const united_batch&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// How many messages.
    int send(int descriptor) noexcept {
        const int sent = send_all(descriptor, all_, size_);
        return sent <= 0 ? sent : static_cast<int>(ends_[sent - 1]);
    }

private:
    alignas(cmsghdr) char control_[most_messages][room_for_size]{};
    buffer bytes_[most_messages];
    mmsghdr all_[most_messages];
    std::size_t ends_[most_messages];  // how many messages there are up to and with each of all_
    std::size_t size_ = 0;
};

}  // namespace

std::ptrdiff_t receive_buffers(int descriptor, const buffer* into, std::size_t buffers) noexcept {
    msghdr h = header_of(into, buffers);
    return result_of([&] { return recvmsg(descriptor, &h, MSG_DONTWAIT); });
}
std::ptrdiff_t send_buffers(int descriptor, const buffer* from, std::size_t buffers) noexcept {
    const msghdr h = header_of(from, buffers);
    return result_of([&] { return sendmsg(descriptor, &h, MSG_DONTWAIT | MSG_NOSIGNAL); });
}

// --- descriptors -----------------------------------------------------------------------------------------------------

std::ptrdiff_t send_descriptors(int descriptor, buffer from, const int* numbers, std::size_t count) noexcept {
    alignas(cmsghdr) char control[room_for_descriptors]{};
    msghdr h = header_of(&from, 1);
    h.msg_control = control;
    h.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&h);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(rights), numbers, count * sizeof(int));
    return result_of([&] { return sendmsg(descriptor, &h, MSG_DONTWAIT | MSG_NOSIGNAL); });
}

std::ptrdiff_t receive_descriptors(int descriptor, buffer into, std::size_t most, received_descriptors& came) noexcept {
    alignas(cmsghdr) char control[room_for_descriptors];
    msghdr h = header_of(&into, 1);
    came.count = 0;
    came.is_cut = false;
    const std::ptrdiff_t got = result_of([&] {
        h.msg_control = most == 0 ? nullptr : control;
        // Not CMSG_SPACE, whose padding is room for one more.
        h.msg_controllen = most == 0 ? 0 : CMSG_LEN(most * sizeof(int));
        return recvmsg(descriptor, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    });
    if (got < 0) return got;
    came.is_cut = (h.msg_flags & MSG_CTRUNC) != 0;
    for (cmsghdr* c = CMSG_FIRSTHDR(&h); c != nullptr; c = CMSG_NXTHDR(&h, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        std::memcpy(came.numbers + came.count, CMSG_DATA(c), count * sizeof(int));
        came.count += count;
    }
    return got;
}

// --- datagrams -------------------------------------------------------------------------------------------------------

int open_datagram(int family) noexcept {
    return result_of([&] { return socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}
int bind_to(int descriptor, const_socket_name at) noexcept {
    const auto* const name = static_cast<const sockaddr*>(at.data);
    return result_of([&] { return bind(descriptor, name, static_cast<socklen_t>(at.size)); });
}
int connect_datagram(int descriptor, const_socket_name to) noexcept {
    const auto* const name = static_cast<const sockaddr*>(to.data);
    return result_of([&] { return connect(descriptor, name, static_cast<socklen_t>(to.size)); });
}

std::ptrdiff_t receive_datagram(int descriptor, datagram_message& m) noexcept {
    // Not recvmsg, which has its header and its buffer's description to fetch.
    auto* const name = static_cast<sockaddr*>(m.name);
    socklen_t name_size = 0;
    const std::ptrdiff_t whole = result_of([&] {
        name_size = static_cast<socklen_t>(m.name_size);
        return recvfrom(descriptor, m.bytes.data, m.bytes.size, MSG_DONTWAIT | MSG_TRUNC, name, &name_size);
    });
    if (whole < 0) return whole;
    m.name_size = name_size;
    m.whole = static_cast<std::size_t>(whole);
    return m.whole < m.bytes.size ? whole : static_cast<std::ptrdiff_t>(m.bytes.size);
}
std::ptrdiff_t send_datagram(int descriptor, const datagram_message& m) noexcept {
    const auto* const name = static_cast<const sockaddr*>(m.name);
    const socklen_t name_size = name == nullptr ? 0 : static_cast<socklen_t>(m.name_size);
    return result_of(
        [&] { return sendto(descriptor, m.bytes.data, m.bytes.size, MSG_DONTWAIT | MSG_NOSIGNAL, name, name_size); });
}

void* lay_out(const datagram_message& m, std::byte* room) noexcept {
    auto* const at = ::new (static_cast<void*>(room)) laid_out{.header = {}, .bytes = m.bytes};
    at->header = header_of(&at->bytes, 1);
    at->header.msg_name = m.name;
    at->header.msg_namelen = static_cast<socklen_t>(m.name_size);
    return at;
}
std::size_t name_size_of(const std::byte* room) noexcept {
    return std::launder(reinterpret_cast<const laid_out*>(room))->header.msg_namelen;
}

int receive_datagrams(int descriptor, datagram_message* messages, std::size_t count) noexcept {
    mmsghdr all[most_messages];
    for (std::size_t i = 0; i < count; ++i) all[i] = {header_of(messages[i]), 0};
    const int got = result_of(
        [&] { return recvmmsg(descriptor, all, static_cast<unsigned>(count), MSG_DONTWAIT | MSG_TRUNC, nullptr); });
    for (int i = 0; i < got; ++i) {
        messages[i].name_size = all[i].msg_hdr.msg_namelen;
        messages[i].whole = all[i].msg_len;
    }
    return got;
}
int send_datagrams(int descriptor, const datagram_message* messages, std::size_t count) noexcept {
    if (count > 1) {
        united_batch united(messages, count);
        if (united.size() < count && cuts_messages(descriptor)) {
            const int sent = united.send(descriptor);
            if (!is_of_cutting(sent)) return sent;
        }
    }
    mmsghdr all[most_messages];
    for (std::size_t i = 0; i < count; ++i) all[i] = {header_of(messages[i]), 0};
    return send_all(descriptor, all, count);
}

int share_port(int descriptor) noexcept {
    return enable(descriptor, SO_REUSEPORT);
}
int allow_broadcast(int descriptor) noexcept {
    return enable(descriptor, SO_BROADCAST);
}
int join_group(int descriptor, const_socket_name group) noexcept {
    return change_group(descriptor, MCAST_JOIN_GROUP, group);
}
int leave_group(int descriptor, const_socket_name group) noexcept {
    return change_group(descriptor, MCAST_LEAVE_GROUP, group);
}

int local_family() noexcept {
    return AF_UNIX;
}
bool is_local(int family) noexcept {
    return family == AF_UNIX;
}

}  // namespace coflux::detail::os
