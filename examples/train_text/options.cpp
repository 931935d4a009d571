#include "options.hpp"

#include <limits>

namespace text {

const char* const usage =
    "usage: train_text [FILE|FOLDER ...] [options]\n"
    "       train_text --resume MODEL.training.safetensors [FILE|FOLDER ...] [options]\n"
    "\n"
    "Trains a language model over bytes on texts; without any on gated's own and, where they are, on the licences of Debian.\n"
    "The last tenth of every file is held out. Ctrl-C saves and stops.\n"
    "\n"
    "a new training\n"
    "  --model gmlp|amlp|flash  its architecture (gmlp)\n"
    "  --parameters N           how many it has, about: the inner width of its layers follows from that (500000)\n"
    "  --channels C             the width between its layers (128)\n"
    "  --depth L                layers (6)\n"
    "  --length N               bytes of a sequence (256)\n"
    "  --batch B                sequences of a step (16)\n"
    "  --rate R                 the highest learning rate (0.004)\n"
    "  --seed S                 of the first parameters and the batches (1)\n"
    "\n"
    "a training that goes on\n"
    "  --resume FILE            with all settings of that training; give the same texts\n"
    "\n"
    "both\n"
    "  --steps N                steps of the whole training (2000)\n"
    "  --minutes M              instead: as many more as fit into this time\n"
    "  --stop-after N           stop after step N, as Ctrl-C does\n"
    "  --threads T              threads to use (1)\n"
    "  --out FILE               where the model goes (text.safetensors, or beside the file that is resumed)\n"
    "  --sample-every SECONDS   measure, save and show a sample this often (60)\n"
    "  --sample N               bytes of a sample, 0 for none (200)\n"
    "  --help                   show this text\n";

using examples::CommandLine, examples::UsageError, gated::Index, gated::raise, gated::require;

namespace {

/// Reads an option of a new training, if the current word is one.
bool read_description(CommandLine& line, Options& options) {
  constexpr Index large = 1 << 20;
  const std::string_view option = line.word();
  if (option == "--model") {
    options.model = line.value();
    require<UsageError>(options.model == "gmlp" || options.model == "amlp" || options.model == "flash", option, " ",
                        options.model, ": expected gmlp, amlp or flash.");
  } else if (option == "--parameters") {
    options.parameters = line.number(Index{1}, Index{2000000000});
  } else if (option == "--channels") {
    options.channels = line.number(Index{1}, large);
  } else if (option == "--depth") {
    options.depth = line.number(Index{1}, large);
  } else if (option == "--length") {
    options.length = line.number(Index{2}, large);
  } else if (option == "--batch") {
    options.batch = line.number(Index{1}, large);
  } else if (option == "--rate") {
    options.rate = line.number(1e-9, 1.0);
  } else if (option == "--seed") {
    options.seed = line.number(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
  } else {
    return false;
  }
  return true;
}

}  // namespace

Options parse_options(int count, char** arguments) {
  Options options;
  std::string described;  // an option that was given and describes a new training
  bool out_given = false;
  for (CommandLine line(count, arguments); line.next();) {
    const std::string_view option = line.word();
    if (read_description(line, options)) {
      described = option;
    } else if (option == "--resume") {
      options.resume = line.value();
    } else if (option == "--steps") {
      options.steps = line.number(Index{1}, Index{1} << 40);
    } else if (option == "--minutes") {
      options.minutes = line.number(0.01, 1e6);
    } else if (option == "--stop-after") {
      options.stop_after = line.number(Index{1}, Index{1} << 40);
    } else if (option == "--threads") {
      options.threads = line.number(1, examples::most_threads);
    } else if (option == "--out") {
      options.out = line.value();
      out_given = true;
    } else if (option == "--sample-every") {
      options.sample_every = line.number(0.1, 1e9);
    } else if (option == "--sample") {
      options.sample = line.number(Index{0}, Index{1} << 30);
    } else if (option == "--help" || option == "-h") {
      options.help = true;
    } else if (option.starts_with("-") || option.empty()) {
      raise<UsageError>("unknown option ", option, ".");
    } else {
      options.texts.emplace_back(option);
    }
  }
  require<UsageError>(options.steps == 0 || options.minutes == 0, "--steps and --minutes exclude each other.");
  if (options.resume.empty()) {
    options.steps = options.steps == 0 && options.minutes == 0 ? 2000 : options.steps;
    return options;
  }
  require<UsageError>(described.empty(), described, " describes a new training; the one to resume has settings of its own.");
  if (!out_given) {
    const auto stem = options.resume.stem();  // text.training
    require<UsageError>(stem.extension() == ".training",
                        "--out FILE is needed, because the file to resume is not called MODEL.training.safetensors.");
    options.out = options.resume.parent_path() / stem.stem();
    options.out += options.resume.extension();
  }
  return options;
}

std::filesystem::path training_file(const std::filesystem::path& out) {
  auto path = out;
  path.replace_extension(".training");
  path += out.extension();
  return path;
}

}  // namespace text
