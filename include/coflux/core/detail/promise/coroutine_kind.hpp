// How a coroutine begins, suspends and ends: what its type says, and what its awaiter chooses.
#pragma once

namespace coflux::detail {

/// The start of a coroutine, by its type: in the call that makes it, through a queue, or as the
/// environment has it.
enum class start_kind { inline_start, queued, inherited };
/// Its end, by its type.
enum class ending_kind { call, queued, may_be_inline };
/// The fate of a frame whose coroutine ends nested on its awaiter's stack: the awaiter has it, with the result in
/// it; or it is freed at once, and the result is in thread_result.
enum class nested_frame { kept, freed };
/// The next step of a coroutine that was about to suspend.
enum class suspension : bool { proceed, stop };

}  // namespace coflux::detail
