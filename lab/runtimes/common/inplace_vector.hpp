// C++26's std::inplace_vector as far as the adapters need it: up to N elements in the object itself. All nodes of
// nqueens keep their children in one, so that no runtime pays for a vector that another does not have.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace harness {

template <typename T, std::size_t N>
class inplace_vector {
public:
    inplace_vector() noexcept {}
    inplace_vector(const inplace_vector&) = delete;
    inplace_vector& operator=(const inplace_vector&) = delete;
    ~inplace_vector() { std::destroy_n(elements_, size_); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T& back() noexcept { return elements_[size_ - 1]; }
    [[nodiscard]] T* begin() noexcept { return elements_; }
    [[nodiscard]] T* end() noexcept { return elements_ + size_; }

    // Pre: there are fewer than N elements.
    void push_back(T&& element) {
        std::construct_at(elements_ + size_, std::move(element));
        ++size_;
    }
    void pop_back() noexcept { std::destroy_at(elements_ + --size_); }

private:
    union {
        T elements_[N];
    };
    std::size_t size_ = 0;
};

}  // namespace harness
