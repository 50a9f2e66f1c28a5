#include <coflux/combine/for_each_concurrent.hpp>

namespace coflux::detail {

outcome<void> for_each_outcome_awaiter::await_resume() const {
    return outcome_.await_resume();
}

}  // namespace coflux::detail
