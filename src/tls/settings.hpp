// The contents of a tls_context.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "openssl.hpp"
#include "sessions.hpp"

namespace coflux::detail {

class tls_settings {
public:
    owned_ssl_ctx openssl;
    std::vector<owned_ssl_ctx> further;  // a server's: like `openssl`, with other certificates
    bool is_server = false;
    bool verifies_peer = false;
    std::shared_ptr<tls_sessions> sessions;  // a client's, if it resumes any
    std::string alpn;                        // a server's: each name after a byte with its length
};

}  // namespace coflux::detail
