// The coroutine that messages name while code of users runs for the end of a coroutine.
#pragma once

#include <utility>

#include <coflux/core/detail/thread/thread_state.hpp>

namespace coflux::detail {

/// While it lives, code of users runs for the end of `c`, child of `parent`: messages name it.
class end_for_messages {
public:
    end_for_messages(const frame_control& c, const environment* parent) noexcept
        : ends_(std::exchange(this_thread.ends, &c)),
          ends_in_(std::exchange(this_thread.ends_in, parent)) {}
    ~end_for_messages() {
        this_thread.ends = ends_;
        this_thread.ends_in = ends_in_;
    }
    end_for_messages(const end_for_messages&) = delete;
    end_for_messages& operator=(const end_for_messages&) = delete;

private:
    const frame_control* ends_;
    const environment* ends_in_;
};

}  // namespace coflux::detail
