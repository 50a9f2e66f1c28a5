// What options own that are written inside a co_await.
#pragma once

#include <utility>

namespace coflux::detail {

/// Owns a T, or nothing. Of an aggregate inside a co_await g++ 12 makes a second one byte by byte, and destroys both:
/// such a twin knows by its address that what it has is not its own.
template <typename T>
class twin_owner {
public:
    twin_owner() noexcept = default;
    explicit twin_owner(T owned) : owned_(new T(std::move(owned))) {}
    twin_owner(const twin_owner& other) : owned_(other.owned_ == nullptr ? nullptr : new T(*other.owned_)) {}
    // NOLINTNEXTLINE(performance-noexcept-move-constructor): it copies what is a twin's
    twin_owner(twin_owner&& other)
        : owned_(other.is_twin() && other.owned_ != nullptr ? new T(*other.owned_)
                                                            : std::exchange(other.owned_, nullptr)) {}
    twin_owner& operator=(twin_owner other) noexcept {
        std::swap(owned_, other.owned_);
        return *this;
    }
    ~twin_owner() {
        if (!is_twin()) delete owned_;
    }

    [[nodiscard]] const T* get() const noexcept { return owned_; }

private:
    [[nodiscard]] bool is_twin() const noexcept { return self_ != this; }

    T* owned_ = nullptr;
    const twin_owner* self_ = this;
};

}  // namespace coflux::detail
