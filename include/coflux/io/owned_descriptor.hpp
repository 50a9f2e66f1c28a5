// owned_descriptor: a descriptor of the system with an owner; bytes_and_descriptors.
#pragma once

#include <cstddef>
#include <utility>

namespace coflux {

/// Owns a descriptor of the system, of whatever kind, and closes it.
///
/// Shapes: a value of 4 bytes; movable. Converting what it owns into a stream: tcp_stream::adopt().
/// Threads: one at a time.
class owned_descriptor {
public:
    owned_descriptor() noexcept = default;
    /// Takes over an open descriptor; -1: none.
    explicit owned_descriptor(int opened) noexcept : number_(opened) {}
    owned_descriptor(owned_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    owned_descriptor& operator=(owned_descriptor&& other) noexcept {
        if (this != &other) {
            close();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    ~owned_descriptor() { close(); }

    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return number_ >= 0; }
    /// The system's number; -1 if there is none. It stays the owner's.
    [[nodiscard]] int native_handle() const noexcept { return number_; }
    /// Gives it to the caller, who closes it.
    [[nodiscard("the descriptor is the caller's from now on")]] int release() noexcept {
        return std::exchange(number_, -1);
    }

private:
    int number_ = -1;
};

/// The result of unix_stream::receive_descriptors().
struct bytes_and_descriptors {
    std::size_t bytes = 0;        ///< 0: the end of the stream
    std::size_t descriptors = 0;  ///< how many came with them
};

}  // namespace coflux
