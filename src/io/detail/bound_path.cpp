#include <coflux/io/detail/bound_path.hpp>

#include "os/net/unix_socket.hpp"

namespace coflux::detail {

bound_path::bound_path(const endpoint& at) noexcept : at_(at) {
    const os::file_identity file = os::file_of_name({at.data(), at.size()});
    device_ = file.device;
    number_ = file.number;
}
bound_path& bound_path::operator=(bound_path&& other) noexcept {
    if (this != &other) {
        remove();
        at_ = other.at_;
        device_ = other.device_;
        number_ = std::exchange(other.number_, 0);
    }
    return *this;
}
void bound_path::remove() noexcept {
    if (const auto number = std::exchange(number_, 0); number != 0)
        os::remove_file_of_name({at_.data(), at_.size()}, {device_, number});
}

}  // namespace coflux::detail
