// Forward declarations of the types that users name.
#pragma once

#include <coflux/base/config.hpp>

namespace coflux {

class blocking_pool;
class environment;
struct inherit_executor;
class noop_executor;
class task_scope;
struct run_options;
class thread_pool_executor;
class shard;
class shard_group;
template <typename T>
class sharded;
class topology;
class worker_executor;
class run_loop;

class drain_token;
class endpoint;
class resolver;
struct serve_options;
struct serve_report;
class file;
class process;
class signal_set;
class tcp_listener;
class tcp_stream;
class byte_reader;
class byte_stream;
class byte_writer;
class owned_descriptor;
class pipe_reader;
class pipe_writer;
class udp_socket;
class unix_datagram;
class unix_listener;
class unix_stream;

class mutex;
class shared_mutex;
class semaphore;
class latch;
class manual_reset_event;
class auto_reset_event;
class condition_variable;
class once;
template <typename Completion>
class barrier;

template <typename T>
class limited;
class timer;
class rate_limiter;
template <typename T>
class delay_queue;

template <typename T, typename Executor = inherit_executor>
class COFLUX_NAMED_SO task;
template <typename T, typename Executor = inherit_executor>
class COFLUX_NAMED_SO fork;
template <typename T>
class fork_view;
template <typename T>
class COFLUX_NAMED_SO call;
template <typename T>
class outcome;
template <typename T>
class generator;
template <typename T>
class async_generator;

template <typename T>
class channel;
template <typename T>
class dynamic_channel;
template <typename T>
class basic_channel;
template <typename T>
class permit;
template <typename Channel>
class channel_sender;
template <typename Channel>
class channel_receiver;

}  // namespace coflux
