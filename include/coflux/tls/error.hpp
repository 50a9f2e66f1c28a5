// tls_error: what went wrong in TLS itself; errors of the socket below stay std::system_error.
#pragma once

#include <string>
#include <system_error>
#include <type_traits>

namespace coflux {

/// Errors of TLS that programs tell apart. All others have OpenSSL's own number in tls_category().
enum class tls_errc {
    truncated = 1,        ///< the connection ended, and the peer had not said that its stream does (close_notify)
    certificate_refused,  ///< the peer's certificate is not trusted, is out of date, or names another host
    no_common_version,    ///< the peer speaks none of the versions between `least` and `most`
};

/// The category of tls_errc, and of OpenSSL's packed error numbers.
[[nodiscard]] const std::error_category& tls_category() noexcept;
[[nodiscard]] std::error_code make_error_code(tls_errc e) noexcept;

/// An error of TLS: the text has the operation, the peer, and OpenSSL's reason.
class tls_error : public std::system_error {
public:
    using std::system_error::system_error;
};

}  // namespace coflux

template <>
struct std::is_error_code_enum<coflux::tls_errc> : std::true_type {};
