// endpoint: where a socket is, or is to go.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coflux {

/// Which addresses of a host are asked for.
enum class address_family : std::uint8_t {
    any,  ///< all, in the order of the system
    v4,   ///< of IPv4
    v6    ///< of IPv6
};

/// An address of the Internet protocols with a port, or a path of the local ones.
///
/// Shapes: a value of 116 bytes. Those of two sockets are equal if the system says the same of them.
class endpoint {
public:
    /// None: of a socket that has no name.
    endpoint() noexcept = default;

    /// `ip("127.0.0.1", 80)`, `ip("::1", 80)`, and of a network that an interface is at, `ip("fe80::1%eth0", 80)`,
    /// `ip("fe80::1%2", 80)`.
    /// Errors: std::invalid_argument with the text for what is no numeric address, or names no interface; a number is
    /// taken as it is, because the interface may come later. An interface is a part of link-local addresses only. Names
    /// are resolved elsewhere.
    [[nodiscard]] static endpoint ip(std::string_view address, std::uint16_t port);
    /// All addresses of this machine, IPv4.
    [[nodiscard]] static endpoint any(std::uint16_t port);
    /// All addresses of this machine, IPv6. A listener there takes connections over IPv4, too, whose peers are written
    /// `[::ffff:127.0.0.1]:80`, unless the system was told otherwise (net.ipv6.bindv6only).
    [[nodiscard]] static endpoint any_v6(std::uint16_t port);
    /// This machine alone, IPv4. Port 0: the system chooses one.
    [[nodiscard]] static endpoint loopback(std::uint16_t port);
    /// This machine alone, IPv6.
    [[nodiscard]] static endpoint loopback_v6(std::uint16_t port);
    /// A socket in the file system; a path that begins with a zero byte is an abstract name: `local("\0name"sv)`. As a
    /// mere literal it would end at that byte.
    /// Errors: std::invalid_argument for a path that is too long, empty, or has a zero byte elsewhere.
    [[nodiscard]] static endpoint local(std::string_view path);

    /// 0 where there is none.
    [[nodiscard]] std::uint16_t port() const noexcept;
    /// `127.0.0.1:80`, `[::1]:80`, `[fe80::1%eth0]:80`, the path, or `nowhere`. An interface that is gone is written by
    /// its number.
    [[nodiscard]] std::string to_string() const;
    [[nodiscard]] bool operator==(const endpoint& other) const noexcept;

    /// As the system knows it: a sockaddr, and its size.
    [[nodiscard]] const void* data() const noexcept { return bytes_.data(); }
    [[nodiscard]] void* data() noexcept { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    void resize(std::size_t size) noexcept { size_ = static_cast<std::uint32_t>(size); }
    [[nodiscard]] static constexpr std::size_t capacity() noexcept { return most; }
    /// AF_INET and so on; 0 for none.
    [[nodiscard]] int family() const noexcept;

private:
    static constexpr std::size_t most = 112;

    alignas(8) std::array<std::byte, most> bytes_{};
    std::uint32_t size_ = 0;
};

}  // namespace coflux
