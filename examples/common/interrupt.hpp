#pragma once

#include <csignal>

namespace examples {

/// The signal that asked the program to stop; 0 until one arrives.
inline volatile std::sig_atomic_t stop_signal = 0;

extern "C" inline void ask_to_stop(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);  // the same signal again ends the program at once
}

/// Makes SIGINT (Ctrl-C) and SIGTERM set `stop_signal`, so the program can save its work before it exits.
inline void stop_when_asked() {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
}

/// The exit code after an early stop: 128 plus the signal's number, as in a shell; 130, as for Ctrl-C, after --stop-after.
inline int exit_code_of_stop() { return 128 + (stop_signal != 0 ? static_cast<int>(stop_signal) : SIGINT); }

}  // namespace examples
