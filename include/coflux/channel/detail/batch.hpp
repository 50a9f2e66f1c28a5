// Where a batch of received values goes.
#pragma once

#include <iterator>
#include <span>
#include <utility>

namespace coflux::detail {

/// Moves values one by one to where `Out` points.
template <typename T, typename Out>
class batch_into {
public:
    explicit batch_into(Out out) : out_(std::move(out)) {}
    void operator()(T&& value) {
        *out_ = std::move(value);
        ++out_;
    }

private:
    Out out_;
};

}  // namespace coflux::detail
