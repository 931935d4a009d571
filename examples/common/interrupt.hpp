#pragma once

#include <csignal>
#include <initializer_list>

namespace examples {

/// The signal that asked the program to stop; 0 until one arrives.
inline volatile std::sig_atomic_t stop_signal = 0;

extern "C" inline void ask_to_stop(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);  // the same signal again ends the program at once
}

/// Makes `handler` receive SIGINT (Ctrl-C) and SIGTERM.
inline void handle_stops(void (*handler)(int)) {
  for (const int signal : {SIGINT, SIGTERM}) {
#if defined(__unix__) || defined(__APPLE__)
    struct sigaction action = {};
    action.sa_handler = handler;  // unlike std::signal(), without SA_RESTART
    sigaction(signal, &action, nullptr);
#else
    std::signal(signal, handler);
#endif
  }
}

/// Makes SIGINT and SIGTERM set `stop_signal`, so the program can save its work before it exits. A read that waits for input
/// ends with an error.
inline void stop_when_asked() { handle_stops(ask_to_stop); }

/// Ends the effect of stop_when_asked(): once the work is saved, SIGINT and SIGTERM end the program at once.
inline void stop_at_once() { handle_stops(SIG_DFL); }

/// The exit code after an early stop: 128 plus the signal's number, as in a shell; 130, as for Ctrl-C, after --stop-after.
inline int exit_code_of_stop() { return 128 + (stop_signal != 0 ? static_cast<int>(stop_signal) : SIGINT); }

}  // namespace examples
