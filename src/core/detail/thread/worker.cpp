#include <coflux/core/detail/thread/worker.hpp>

namespace coflux::detail {

void worker::ask_for_help() noexcept {
    call_for_help();
}

bool worker::owes_a_turn() noexcept {
    return others_wait();
}

}  // namespace coflux::detail
