// A payload that the model finds by its address.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

#include "../../support/model.hpp"

namespace coflux::model {

/// A model of plain memory: each address at which a traced value ever was has one of Relacy's variables, which
/// outlives the value. So Relacy sees when a slot is filled again before it was emptied, and not only when a value is
/// read too early.
class places {
public:
    places() noexcept { current_ = this; }
    ~places() {
        for (std::size_t i = 0; i != used_; ++i) variable(i).~variable_type();
    }
    places(const places&) = delete;
    places& operator=(const places&) = delete;

    static void written(const void* at, int value, const std::source_location& where) {
        current_->find(at)(model::at(where)).store(value);
    }
    static void looked_at(const void* at, int expected, const std::source_location& where) {
        const int is = current_->find(at)(model::at(where)).load();
        if (is != expected) fail_here("a value that is not where it should be", where);
    }

private:
    using variable_type = rl::var<int>;
    static constexpr std::size_t most = 192;

    variable_type& variable(std::size_t i) noexcept {
        return *std::launder(reinterpret_cast<variable_type*>(bytes_[i]));
    }
    variable_type& find(const void* at) {
        for (std::size_t i = 0; i != used_; ++i) {
            if (addresses_[i] == at) return variable(i);
        }
        if (used_ == most) std::abort();  // a scenario that is too large
        addresses_[used_] = at;
        return *::new (static_cast<void*>(bytes_[used_++])) variable_type();
    }

    static inline places* current_ = nullptr;
    const void* addresses_[most]{};
    alignas(variable_type) std::byte bytes_[most][sizeof(variable_type)];
    std::size_t used_ = 0;
};

/// A number in slots. Copyable and movable; a move leaves 0. Needs `places` among the bases of the scenario.
class traced {
    using where = std::source_location;

public:
    explicit traced(int value, where w = where::current()) noexcept : value_(value) { places::written(this, value, w); }
    traced(const traced& other) noexcept : value_(other.value_) {
        places::looked_at(&other, value_, where::current());
        places::written(this, value_, where::current());
    }
    traced(traced&& other) noexcept : value_(other.value_) {
        places::looked_at(&other, value_, where::current());
        places::written(this, value_, where::current());
        other.become(0);
    }
    traced& operator=(const traced& other) noexcept {
        places::looked_at(&other, other.value_, where::current());
        become(other.value_);
        return *this;
    }
    traced& operator=(traced&& other) noexcept {
        *this = static_cast<const traced&>(other);
        other.become(0);
        return *this;
    }
    ~traced() { become(-1); }

    [[nodiscard]] int value(where w = where::current()) const {
        places::looked_at(this, value_, w);
        return value_;
    }

private:
    void become(int value) noexcept {
        value_ = value;
        places::written(this, value, where::current());
    }
    int value_;
};

}  // namespace coflux::model
