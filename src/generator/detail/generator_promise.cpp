#include <exception>
#include <utility>

#include <coflux/generator/generator.hpp>

namespace coflux::detail {

void generator_base::go_on() {
    while (state_ == generator_state::switched) {
        state_ = generator_state::element;
        leaf_->resume();
    }
    if (state_ == generator_state::ended && error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
}

void generator_base::fail() {
    std::exception_ptr error = std::exchange(error_, nullptr);
    handle().destroy();
    std::rethrow_exception(std::move(error));
}

}  // namespace coflux::detail
