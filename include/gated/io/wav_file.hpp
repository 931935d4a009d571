#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

#include "gated/io/open_file.hpp"
#include "gated/io/wav.hpp"

/// @file
/// Reads and writes WAV files in blocks, for recordings that do not fit in memory or are still in progress.

namespace gated {

/// A WAV file that is read in parts.
///
///     const WavFile file("meeting.wav");
///     const Matrix<float> second = file.read(60 * file.rate(), file.rate());   // after a minute
///
/// Errors: those of read_wav(), but samples that are NaN or infinite raise an error only in read().
class WavFile {
 public:
  explicit WavFile(const std::filesystem::path& path)
      : name_(path.string()), file_(path), layout_(detail::WavParser(file_.bytes(), name_).parse()) {}

  Index frames() const { return layout_.frames; }
  Index channels() const { return layout_.channels; }
  /// Frames per second.
  Index rate() const { return layout_.rate; }

  /// Frames first … first + count - 1, as frames × channels.
  /// Errors: ArgumentError for frames beyond the file's end; FileError for a sample that is NaN or infinite.
  Matrix<float> read(Index first, Index count) const {
    require<ArgumentError>(first >= 0 && count >= 0 && first <= frames() && count <= frames() - first, "WavFile::read: ", count,
                           " frames from frame ", first, " on, but ", name_, " has ", frames(), " frames.");
    Matrix<float> samples = detail::wav_samples(file_.bytes(), layout_, first, count, name_);
    const std::size_t frame = layout_.frame_bytes();
    file_.release(file_.bytes().subspan(layout_.begin + static_cast<std::size_t>(first) * frame,
                                        static_cast<std::size_t>(count) * frame));
    return samples;
  }

 private:
  std::string name_;
  MappedFile file_;
  detail::WavLayout layout_;
};

/// A WAV file that is written in parts.
///
///     WavWriter file("clean.wav", 1, 16000);
///     while (…) file.write(block);          // frames × channels
///
/// After each call the file on disk is valid and holds everything written so far, so the program can stop at any time. If the
/// disk is full, the file holds the frames that fit; if not even the header fits, there is no file.
///
/// Errors: FileError, starting with the path, if the file cannot be created or written; ArgumentError for channels or a rate
/// that encode_wav() refuses, for NaN and infinity, and for more than 4 GB; ShapeError for a block with the wrong number of
/// channels. A refused block is not written.
/// Cost: one write of the block and one of the header per call.
class WavWriter {
 public:
  WavWriter(std::filesystem::path path, Index channels, Index rate, WavFormat format = WavFormat::pcm16)
      : path_(std::move(path)), channels_(channels), rate_(rate), format_(format) {
    require<ArgumentError>((channels == 1 || channels == 2) && rate >= least_rate && rate <= greatest_rate,
                           "WavWriter: ", channels, " channels at ", rate, " frames per second, expected 1 or 2 channels at ",
                           least_rate, " to ", greatest_rate, ".");
    file_.reset(detail::open_file(path_, "wb"));
    require_written(file_ != nullptr);
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);  // unbuffered, so a full disk leaves no data in a buffer
    if (!finish()) {
      const int reason = errno;
      file_.reset();
      if (std::error_code ignored; std::filesystem::is_regular_file(path_, ignored)) {  // not /dev/full
        std::filesystem::remove(path_, ignored);
      }
      errno = reason;
      require_written(false);
    }
  }

  Index frames() const { return frames_; }

  /// Appends `samples`, which is frames × channels.
  void write(ConstView<float> samples) {
    require<ShapeError>(samples.cols() == channels_, "WavWriter::write: the samples have ", samples.cols(),
                        " channels, expected ", channels_, ".");
    detail::wav_data_bytes(path_.string(), frames_ + samples.rows(), channels_, format_);
    if (samples.rows() == 0) {
      return;
    }
    std::vector<std::byte> bytes;
    detail::append_wav_samples("WavWriter::write", samples, format_, bytes);
    const Index before = frames_;
    const bool placed = std::fseek(file_.get(), data_bytes() % 2 == 1 ? -1 : 0, SEEK_END) == 0;  // overwrites the padding
    if (placed && std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) == bytes.size()) {
      frames_ += samples.rows();
      if (finish()) {
        return;
      }
    }
    const int reason = errno;
    frames_ = before;
    keep_what_fits();
    errno = reason;
    require_written(false);
  }

 private:
  std::uint64_t frame_bytes() const { return static_cast<std::uint64_t>(channels_ * detail::bytes_of(format_)); }
  std::uint64_t data_bytes() const { return static_cast<std::uint64_t>(frames_) * frame_bytes(); }
  std::vector<std::byte> header() const {
    return detail::wav_header(format_, channels_, rate_, static_cast<std::uint32_t>(data_bytes()));
  }
  void require_written(bool done) const {
    require<FileError>(done, path_.string(), ": cannot be written: ", std::generic_category().message(errno), ".");
  }

  /// Writes the header for the frames so far, and a padding byte if their samples have an odd number of bytes. False if that
  /// fails; `errno` then says why.
  bool finish() {
    const std::vector<std::byte> begin = header();
    const bool padded = data_bytes() % 2 == 0 || (std::fseek(file_.get(), 0, SEEK_END) == 0 && std::fputc(0, file_.get()) == 0);
    return padded && std::fseek(file_.get(), 0, SEEK_SET) == 0 &&
           std::fwrite(begin.data(), 1, begin.size(), file_.get()) == begin.size();
  }
  /// After a failed write: keeps the whole frames that were written, and cuts the rest.
  void keep_what_fits() {
    std::clearerr(file_.get());
    std::error_code ignored;
    const std::uint64_t size = std::filesystem::file_size(path_, ignored), begin = header().size();
    if (ignored || size < begin) {
      return;
    }
    const auto fits = static_cast<Index>((size - begin) / frame_bytes());
    frames_ = std::max(frames_, fits - (fits * static_cast<Index>(frame_bytes()) % 2));  // there may be no room for padding
    std::filesystem::resize_file(path_, begin + data_bytes(), ignored);
    require_written(finish());
  }

  std::filesystem::path path_;
  Index channels_, rate_;
  WavFormat format_;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
  Index frames_ = 0;
};

}  // namespace gated
