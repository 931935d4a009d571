#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "gated/core/parameters.hpp"
#include "gated/core/random.hpp"
#include "gated/train/rank_visit.hpp"
#include "gated/train/training.hpp"

// Only MPI's C interface is used. Some MPI headers also include the old C++ interface, which must be linked separately.
#if !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif
#if !defined(MPICH_SKIP_MPICXX)
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

/// @file
/// Data-parallel training over MPI: each process takes a share of the batch.
///
/// Optional: no other header includes this one. Find and link MPI yourself:
///
///     find_package(MPI REQUIRED COMPONENTS CXX)
///     target_link_libraries(program PRIVATE gated::gated MPI::MPI_CXX)

namespace gated {

/// An MPI call failed.
class MpiError : public Error {
 public:
  using Error::Error;
};

namespace detail {

inline void check_mpi(const char* call, int code) {
  if (code != MPI_SUCCESS) {
    std::array<char, MPI_MAX_ERROR_STRING> reason{};
    int length = 0;
    MPI_Error_string(code, reason.data(), &length);
    raise<MpiError>(call, ": ", reason.data(), ".");
  }
}

template <class T>
MPI_Datatype mpi_type() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  return std::is_same_v<T, float> ? MPI_FLOAT : MPI_DOUBLE;
}

/// Two hashes: one of settings, steps and generator, one of parameters, moments and average. Different inputs collide with
/// probability 2⁻⁶⁴.
template <class Model>
std::array<std::uint64_t, 2> fingerprint(const Training<Model>& training) {
  std::array<std::uint64_t, 2> result{};
  const auto mix = [](std::uint64_t& sum, std::uint64_t bits) { sum = random_bits_at(sum, bits); };
  mix(result[0], static_cast<std::uint64_t>(running_kernels()));  // SSE2 rounds otherwise than AVX2
  for (const char c : shown_setting(training.config())) {
    mix(result[0], static_cast<unsigned char>(c));
  }
  for_each_parameter(
      [&](const ParameterInfo&, auto values) {
        using Bits = std::conditional_t<sizeof(typename Model::Scalar) == 4, std::uint32_t, std::uint64_t>;
        mix(result[1], values.size());
        for (const auto value : values) {
          mix(result[1], std::bit_cast<Bits>(value));
        }
      },
      training);
  return result;
}

}  // namespace detail

/// The processes of a job, called ranks, that train one model together. Each rank has a copy of the whole Training and computes
/// a share of every batch. Once per step, in all_reduce_mean(), the ranks average their gradients: all apply the same update.
///
///     int main(int argc, char** argv) {
///       return gated::run_mpi(argc, argv, [](gated::MpiWorld& world) {
///         Training<Model> training(config, Random(1));                     // or load_model(): the same on every rank
///         world.expect_same(training);
///         while (training.steps_done() < 2000) {
///           training.step([&](const Model& model, Model& gradient) {
///             …                                                            // draw the whole batch with training.random
///             const auto [first, count] = world.share(batch);              // this rank's sequences of the batch
///             …                                                            // add the gradient of a mean over `counted` terms
///             return world.all_reduce_mean(gradient, loss, counted);
///           });
///           if (world.rank() == 0) {
///             save_model(training, "run.safetensors");                     // one rank saves for all
///           }
///         }
///       });
///     }
///
///     mpirun -n 2 ./program
///
/// Every rank draws the whole batch with `training.random`. So all generators stay equal, all ranks can resume from a file
/// saved by rank 0, and the batch does not depend on the number of ranks. For dropout, give each rank masks of its own:
///
///     Random noise(random_bits_at(training.random.bits(), static_cast<std::uint64_t>(world.rank())));  // on every rank
///     tape.begin(model, gradient, noise);
///
/// All ranks must call all_reduce_mean() the same number of times. If a rank destroys its MpiWorld early, the next call on the
/// other ranks raises an error.
///
/// A non-finite loss or gradient on one rank makes the sums non-finite on all ranks: each Training::step() raises the same
/// TrainingError. If only one rank fails before all_reduce_mean(), the others wait forever: the job must be ended, as run_mpi()
/// does. Only the thread that started MPI may use an MpiWorld.
///
/// All ranks stay equal bit for bit if they use the same kernels, which expect_same() checks, and if the MPI library gives all
/// ranks the same bits in a reduction.
/// Errors: MpiError if an MPI call fails; MPI itself does not abort.
class MpiWorld {
 public:
  /// A world of all ranks of `communicator`, which is duplicated.
  /// Errors: MpiError unless MPI is initialized.
  explicit MpiWorld(MPI_Comm communicator = MPI_COMM_WORLD) {
    int running = 0;
    MPI_Initialized(&running);
    require<MpiError>(running != 0, "MpiWorld: MPI is not initialized. Call run_mpi() or MPI_Init_thread() first.");
    detail::check_mpi("MPI_Comm_dup", MPI_Comm_dup(communicator, &communicator_));
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(communicator_, &rank_);
    MPI_Comm_size(communicator_, &size_);
    visits_.resize(static_cast<std::size_t>(size_));
  }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;
  ~MpiWorld() {
    int over = 0;
    MPI_Finalized(&over);
    if (over == 0) {
      if (!parted_ && std::uncaught_exceptions() == exceptions_) {  // a regular exit: tells the other ranks
        gather({Visit::leaves, {static_cast<std::uint64_t>(steps_), 0}});
      }
      MPI_Comm_free(&communicator_);
    }
  }

  int rank() const { return rank_; }  ///< this process: 0 … size() - 1
  int size() const { return size_; }

  /// A range of sequences.
  struct Share {
    Index first, count;
  };

  /// This rank's share of `count` sequences. Shares differ by at most one sequence; a share may be empty.
  Share share(Index count) const {
    const Index first = rank_ * count / size_;
    return {first, (rank_ + 1) * count / size_ - first};
  }

  /// Replaces `gradient` by Σ w_r gradient_r / Σ w_r over all ranks r. Returns the mean of the losses with the same weights.
  ///
  /// `weight`, w_r on rank r, is the number of terms in the rank's mean loss: for cross_entropy(), the number of targets not
  /// ignored. The result is then the mean over the targets of all ranks. The default, equal weights, suits shares of equal
  /// size. A rank with an empty share passes weight 0; its loss and gradient are then ignored.
  ///
  /// The loss and the weight are sent with the gradient, in the model's scalar type.
  /// Errors: ArgumentError, the same on every rank, if a weight is negative or not finite, if all weights are 0, or if ranks
  /// call all_reduce_mean() at different steps or with gradients of different sizes.
  /// Cost: an MPI_Allgather of three integers, one MPI_Allreduce of all parameters and two more scalars, and two passes over
  /// the gradient; allocates on the first call only.
  template <class Model>
  double all_reduce_mean(Model& gradient, double loss, double weight = 1) {
    using T = typename Model::Scalar;
    auto& buffer = std::get<std::vector<T>>(buffers_);
    const Index count = parameter_count(gradient) + 2;
    require<ArgumentError>(count <= std::numeric_limits<int>::max(), "MpiWorld::all_reduce_mean: ", count - 2,
                           " parameters, expected at most 2^31 - 3, because MPI counts in int.");
    meet("all_reduce_mean", {Visit::reduces, {static_cast<std::uint64_t>(++steps_), static_cast<std::uint64_t>(count - 2)}});
    buffer.resize(static_cast<std::size_t>(count));
    const T w = weight >= 0 ? static_cast<T>(weight) : std::numeric_limits<T>::quiet_NaN();  // NaN: all ranks raise the error
    const auto weighted = [w](T value) { return w == 0 ? T{0} : w * value; };
    auto at = buffer.begin();
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          if (info.role != Role::constant) {
            at = std::transform(values.begin(), values.end(), at, weighted);
          }
        },
        gradient);
    at[0] = weighted(static_cast<T>(loss));
    at[1] = w;
    detail::check_mpi("MPI_Allreduce", MPI_Allreduce(MPI_IN_PLACE, buffer.data(), static_cast<int>(count),
                                                     detail::mpi_type<T>(), MPI_SUM, communicator_));
    const T sum = buffer.back();
    require<ArgumentError>(sum > 0 && std::isfinite(sum), "MpiWorld::all_reduce_mean: the weights of the ", size_,
                           " ranks add up to ", std::isnan(sum) ? std::string("nan") : text(sum),
                           ", expected finite weights, none negative and at least one positive.");
    at = buffer.begin();
    for_each_parameter(
        [&](const ParameterInfo& info, auto values) {
          if (info.role != Role::constant) {
            const auto end = at + static_cast<std::ptrdiff_t>(values.size());
            std::transform(at, end, values.begin(), [sum](T value) { return value / sum; });
            at = end;
          }
        },
        gradient);
    return static_cast<double>(at[0] / sum);
  }

  /// Raises ArgumentError on every rank unless all hold the same Training, bit for bit: settings, steps, generator, parameters,
  /// moments, average. Call it once, before the first step.
  /// Cost: one pass over the Training.
  template <class Model>
  void expect_same(const Training<Model>& training) {
    const auto own = detail::fingerprint(training);
    meet("expect_same", {Visit::compares, own});
    std::string list;
    for (int rank = 1; rank < size_; ++rank) {
      for (std::size_t i = 0; i < own.size(); ++i) {
        if (visits_[static_cast<std::size_t>(rank)].numbers[i] != visits_[0].numbers[i]) {
          list += text(list.empty() ? "" : "; ", "rank ", rank, " differs in ",
                       i == 0 ? "settings, kernels, steps or generator" : "parameters, moments or average");
        }
      }
    }
    require<ArgumentError>(list.empty(),
                           "MpiWorld::expect_same: the ranks hold different training runs. Compared with rank 0, ", list,
                           ". Start all from the same configuration and seed, or from copies of one file.");
  }

 private:
  using Visit = detail::RankVisit;

  /// Tells every rank which operation each rank is about to enter (visits_).
  int gather(const Visit& own) {
    constexpr int bytes = sizeof(Visit);
    static_assert(bytes == 3 * sizeof(std::uint64_t));
    return MPI_Allgather(&own, bytes, MPI_BYTE, visits_.data(), bytes, MPI_BYTE, communicator_);
  }

  /// Waits for the other ranks. Raises ArgumentError on every rank unless all enter the same operation: expect_same(), or the
  /// same step with the same number of parameters.
  void meet(const char* call, const Visit& own) {
    detail::check_mpi("MPI_Allgather", gather(own));
    const std::string parted = detail::parted_ranks(visits_);
    parted_ = !parted.empty();
    require<ArgumentError>(!parted_, "MpiWorld::", call, ": the ranks are out of step: ", parted,
                           ". Let every rank take the same number of steps with the same model.");
  }

  MPI_Comm communicator_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  Index steps_ = 0;
  bool parted_ = false;  // the ranks were out of step
  const int exceptions_ = std::uncaught_exceptions();
  std::vector<Visit> visits_;                                    // the last operation that each rank entered
  std::tuple<std::vector<float>, std::vector<double>> buffers_;  // the flattened gradient, in the model's scalar type
};

/// Initializes MPI, calls `f(world)` and finalizes MPI: all that main() needs. Returns 0.
///
/// An exception that leaves `f` on any rank ends the whole job: the rank writes "rank 1 of 2: " and the message to stderr, then
/// MPI_Abort() ends the other ranks, which would otherwise wait forever. mpirun then returns 1. If a signal kills a rank,
/// mpirun also ends the job. Files written by save_model() are never left incomplete.
template <class F>
int run_mpi(int& argc, char**& argv, F&& f) {
  int level = 0;
  detail::check_mpi("MPI_Init_thread", MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level));
#if GATED_HAS_EXCEPTIONS
  const auto end_job = [](const char* message) {
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::fprintf(stderr, "rank %d of %d: %s\n", rank, size, message);
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();  // unreachable: MPI_Abort() does not return
  };
  try {
    MpiWorld world;
    f(world);
  } catch (const std::exception& error) {
    end_job(error.what());
  } catch (...) {
    end_job("an exception that is not a std::exception");
  }
#else
  {
    MpiWorld world;
    f(world);
  }
#endif
  MPI_Finalize();
  return 0;
}

}  // namespace gated
