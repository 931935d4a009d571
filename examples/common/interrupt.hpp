#pragma once

#include <csignal>

namespace examples {

/// The signal that asked the program to stop, 0 before.
inline volatile std::sig_atomic_t stop_signal = 0;

extern "C" inline void ask_to_stop(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);  // the second one does not wait
}

/// From now on Ctrl-C, or being told to terminate, sets `stop_signal` and lets the program finish what it is doing. A second
/// Ctrl-C ends it at once.
inline void stop_when_asked() {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
}

/// The exit code of a program that stopped early: 128 and the signal's number, as a shell has it. Without a signal, because of
/// --stop-after, it is that of Ctrl-C, 130.
inline int exit_code_of_stop() { return 128 + (stop_signal != 0 ? static_cast<int>(stop_signal) : SIGINT); }

}  // namespace examples
