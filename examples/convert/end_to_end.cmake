# Run by ctest: checks the output of gated_inspect. If a Python with torch was found, also checks that load_model() opens the
# files that convert.py writes for checkpoints of each origin.

# Runs a command. The exit code must be `expected`, and the output must match `pattern`.
function(expect expected pattern)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code STREQUAL expected OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "${ARGN}\nexit code ${code}, expected ${expected}; the output should match ${pattern}:\n${said}")
  endif()
endfunction()

expect(0 "blocks.\\*.norm.weight.*\\(4 times\\).*It is a GmlpImageClassifier of 43082 parameters.*load_model<gated::GmlpImageClassifier<float>>"
       ${PROGRAM} ${DIGITS})

# Each shipped model has a checksum, which loading verifies. (digits_expected and reference hold PyTorch's results.)
file(GLOB shipped ${HERE}/../*/*.safetensors)
list(FILTER shipped EXCLUDE REGEX "(digits_expected|reference)\\.safetensors$")
list(LENGTH shipped count)
foreach(file IN LISTS shipped)
  file(STRINGS ${file} sum REGEX "\"gated.checksum\":\"[0-9a-f]+\"")
  if(NOT sum OR count LESS 7)
    message(FATAL_ERROR "${file} has no checksum, or models are missing: ${shipped}")
  endif()
endforeach()

# A signed file: gated_inspect shows its signatures, and gated_signature compares them.
expect(0 "^$" ${COPY} ${DIGITS} right.safetensors wrong.safetensors)
expect(0 "Its signature is [0-9a-f]+. Run gated_signature.*Its signature_int8 is" ${PROGRAM} right.safetensors)
expect(0 "equal to the signatures in the file" ${SIGNATURE} right.safetensors)
expect(1 "wrong.safetensors: the model's signature is [0-9a-f]+, the file says 0123456789abcdef. The model differs"
       ${SIGNATURE} wrong.safetensors)
file(REMOVE ${FOLDER}/right.safetensors ${FOLDER}/wrong.safetensors)

# gated_inspect describes a stopped training run and prints the C++ that resumes it. It also names a type that it cannot open.
foreach(model IN ITEMS gmlp transformer)
  expect(130 "stopped +after step 2" ${TRAIN} ${HERE}/README.md --model ${model} --parameters 11000 --channels 16 --depth 2 --length 32
    --batch 2 --steps 4 --stop-after 2 --sample 0 --out ${model}.safetensors)
endforeach()
set(training "It is a training run with 2 of 4 steps done.\n\n +AdamW +{.learning_rate.:0.00[0-9]+,.*schedule +{.form.:.cosine..*learning rate +[0-9.e-]+ at the next step")
expect(0 "model.*${training}.*It is a GmlpLanguageModel of 1[0-9]+ parameters.*#include <gated/train.hpp>.*auto training = gated::load_model<gated::Training<gated::GmlpLanguageModel<float>>>[(].gmlp.training.safetensors.[)];.*training.result[(][)]"
       ${PROGRAM} gmlp.training.safetensors)
expect(0 "${training}.*It holds a gated.Training<gated.LanguageModel<.*cannot open. load_model<Type>[(].transformer.training.safetensors.[)]"
       ${PROGRAM} transformer.training.safetensors)
expect(0 "It holds a gated.LanguageModel<.*cannot open" ${PROGRAM} transformer.safetensors)
file(REMOVE ${FOLDER}/gmlp.safetensors ${FOLDER}/gmlp.training.safetensors ${FOLDER}/transformer.safetensors
  ${FOLDER}/transformer.training.safetensors)

# Sets ${model} and ${config} to the type and configuration that gated_inspect derives from a file's shapes.
function(read_off file)
  execute_process(COMMAND ${PROGRAM} ${file} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code EQUAL 0 OR NOT said MATCHES "It is a ([A-Za-z]+) of [0-9]+ parameters, with the configuration\n\n  ([^\n]+)\n")
    message(FATAL_ERROR "gated_inspect ${file}: exit code ${code}\n${said}")
  endif()
  set(model "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(config "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

# Cases of most origins, each as case|type|options. From each case's shapes, gated_inspect must derive the type, build the model
# and load all of its parameters. The options are passed to convert.py: they leave no trace in a file.
set(cases
  "timm_gmlp_small|GmlpImageClassifier"
  "timm_mixer_grad|MixerImageClassifier"
  "timm_gmixer_grad|GmixerImageClassifier"
  "timm_resmlp_grad|ResmlpImageClassifier"
  "lucid_gmlpvision|GmlpImageClassifier"
  "kwmlp_postnorm|GmlpImageClassifier"
  "lucid_gmlp_causal|GmlpLanguageModel|--set|trunk.causal=true"
  "lucid_amlp_noncausal|GmlpLanguageModel"
  "lucid_gmlp_circulant_noncausal|GmlpLanguageModel"
  "lucid_gmlp_noncausal_heads4_tanh|GmlpLanguageModel|--set|trunk.gate_activation=tanh"
  "lucid_gmlp_features_causal_grad|Gmlp|--set|causal=true"
  "lucid_flashtr_causal|FlashLanguageModel|--set|trunk.block.causal=true|--set|trunk.block.chunk=8"
  "lucid_flash_causal_rotary|MixedChunkAttention|--set|causal=true"
  "lucid_gau_causal|GatedAttentionUnit|--set|causal=true"
  "junnyu_flashquad_model|GauEncoder"
  "junnyu_flashquad_mlm|GauEncoder"
  "junnyu_flash_model|FlashLanguageModel"
  "gau_alpha_softmaxplus_mask|GauEncoder"
  "rtmcc_head|PoseHead"
  "rtmcc_self|GatedAttentionUnit"
  "rtmcc_self_relbias_small|GatedAttentionUnit"
  "labml_gmlp_block|GmlpBlock"
  "light_conv_encoder_postnorm|LightConvBlock"
  "light_conv_decoder_postnorm_grad|LightConvBlock"
  "dynamic_conv_encoder_prenorm_grad|LightConvBlock|--set|norm_position=pre"
  "dynamic_conv_decoder_today|LightConvBlock|--set|norm_position=pre"
  "fnet_model|Fnet"
  "fnet_mlm|Fnet"
  "fnet_pretraining_grad|Fnet"
  "fnet_encoder|FnetEncoder"
  "ttm_grad|TinyTimeMixer"
  "ttm_levels_disabled|TinyTimeMixer"
  "ttm_prefix_raw_residual_position|TinyTimeMixer"
  "ttm_grad_frozen_exogenous|TinyTimeMixer"
  "patchtsmixer_mix_channel|TinyTimeMixer"
  "llama_gqa_untied|TextTransformer"
  "llama_qwen2_tied|TextTransformer"
  "llama_qwen3_grad|TextTransformer"
  "gated_lm_headwise|TextTransformer"
  "modernbert_classifier_mean|TextTransformer"
  "modernbert_mlm_grad|TextTransformer"
  "roformer_transformer|Roformer"
  "mf2_se_masknet|MaskNetwork"
  "mf2_ss_separate|SpeechSeparator")
foreach(case IN LISTS cases)
  string(REGEX REPLACE "[|].*" "" name "${case}")
  string(REGEX REPLACE "^[^|]*[|]([^|]*).*" "\\1" expected "${case}")
  read_off(${CASES}/${name}.safetensors)
  if(NOT model STREQUAL expected)
    message(FATAL_ERROR "gated_inspect derives a ${model} from ${name}, expected a ${expected}")
  endif()
  set(config_of_${name} "${config}")
endforeach()
expect(0 "The names are those of g-mlp-pytorch.*names = gated::lucidrains_language_model_names[(]lucidrains_layout[(]file, .model[.].[)][)];.*names.prefix = .model[.].;.*names.ignored.insert[(]names.ignored.end[(][)], {.*.input."
       ${PROGRAM} ${CASES}/lucid_gmlp_causal.safetensors)
expect(0 "The names are those of Keyword-MLP.*.image.:{.height.:13,.width.:9},.patch.:{.height.:1,.width.:9}.*.norm_position.:.res_post."
       ${PROGRAM} ${CASES}/kwmlp_postnorm.safetensors)
expect(0 "It is a PoseHead of.*names = gated::rtmcc_head_names[(][)]" ${PROGRAM} ${CASES}/rtmcc_head.safetensors)
expect(0 "no known origin" ${PROGRAM} ${CASES}/components.safetensors)
include(${HERE}/../common/expect_run.cmake)
expect_no_file(FILE)
expect(2 "file is required" ${PROGRAM})
expect(2 "unexpected argument second" ${PROGRAM} ${DIGITS} second)
file(WRITE ${FOLDER}/pointer.safetensors "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n")
expect(1 "Git-LFS pointer" ${PROGRAM} pointer.safetensors)

if(NOT PYTHON)
  message("convert.py is not tested: no Python with torch was found.")
  return()
endif()

# convert.py derives the same configuration as gated_inspect, unless the case sets options that leave no trace in a file. It
# derives none for text transformers, which need their config.json: see below.
foreach(case IN LISTS cases)
  string(REPLACE "|" ";" case "${case}")
  list(POP_FRONT case name expected)
  if(expected STREQUAL "TextTransformer")
    expect(1 "${name}.safetensors: the tensors do not show the heads, the rotary bases and ε. Put the model's config.json beside them.\n$"
           ${PYTHON} ${HERE}/convert.py ${CASES}/${name}.safetensors ${name}.out.safetensors --part model.)
    continue()
  endif()
  expect(0 "${name}.out.safetensors: " ${PYTHON} ${HERE}/convert.py ${CASES}/${name}.safetensors ${name}.out.safetensors --part model. ${case})
  expect(0 "It is a ${expected} of .*load_model<gated::${expected}<float>>" ${PROGRAM} ${name}.out.safetensors)
  read_off(${name}.out.safetensors)
  if(NOT case AND NOT config STREQUAL "${config_of_${name}}")
    message(FATAL_ERROR "${name}: convert.py derives\n${config}\nbut gated_inspect derives\n${config_of_${name}}")
  endif()
endforeach()
expect(0 "\"causal\":true" ${PROGRAM} lucid_gmlp_causal.out.safetensors)
expect(0 "\"chunk\":8" ${PROGRAM} lucid_flashtr_causal.out.safetensors)

# A pickled checkpoint in a trainer's format, with labels. A pickle that contains objects other than tensors needs --trust.
file(WRITE ${FOLDER}/wrap.py "
import sys, torch
sys.path.insert(0, '${HERE}')
import pathlib, convert
tensors, _ = convert.read_safetensors(pathlib.Path('${CASES}/timm_gmlp_small.safetensors'))
state = {'module.' + name[len('model.'):]: tensor for name, tensor in tensors.items() if name.startswith('model.')}
torch.save({'state_dict': state, 'epoch': 3}, 'plain.pth')
pathlib.Path('wide.txt').write_text('a', encoding='utf-32')
torch.save({'state_dict': state, 'meta': pathlib.PurePosixPath('x')}, 'more.pth')

def state_of_case(name, prefix):
    tensors, _ = convert.read_safetensors(pathlib.Path('${CASES}/' + name + '.safetensors'))
    return {prefix + name[len('model.'):]: tensor for name, tensor in tensors.items() if name.startswith('model.')}

torch.save({'epoch': 3, 'model_state_dict': state_of_case('kwmlp_postnorm', '')}, 'kwmlp.pth')
torch.save({'state_dict': {'backbone.stem.0.conv.weight': torch.ones(2, 3, 1, 1), **state_of_case('rtmcc_head', 'head.')}},
           'rtmpose.pth')
")
expect(0 "" ${PYTHON} -B wrap.py)
expect(0 "kwmlp.safetensors: Keyword-MLP" ${PYTHON} ${HERE}/convert.py kwmlp.pth)
expect(0 "It is a GmlpImageClassifier of.*.norm_position.:.res_post." ${PROGRAM} kwmlp.safetensors)
expect(0 "rtmpose.safetensors: mmpose, RTMCCHead, [0-9,]+ elements in 12 tensors" ${PYTHON} ${HERE}/convert.py rtmpose.pth)
expect(0 "It is a PoseHead of.*load_model<gated::PoseHead<float>>" ${PROGRAM} rtmpose.safetensors)
file(WRITE ${FOLDER}/labels.txt "a\nb\nc\nd\ne\n")
expect(0 "plain.safetensors: timm" ${PYTHON} ${HERE}/convert.py plain.pth --labels labels.txt)
expect(0 "It names 5 classes: a.*It is a GmlpImageClassifier" ${PROGRAM} plain.safetensors)
expect(1 "wide.txt: the text is not in UTF-8. Convert it: iconv -f UTF-32 -t UTF-8." ${PYTHON} ${HERE}/convert.py plain.pth
  --labels wide.txt)
expect(1 "add --trust" ${PYTHON} ${HERE}/convert.py more.pth)
expect(0 "more.safetensors: timm" ${PYTHON} ${HERE}/convert.py more.pth --trust)
expect(0 "It is a GmlpImageClassifier" ${PROGRAM} more.safetensors)
expect(1 "ZIP archive" ${PROGRAM} plain.pth)
expect(1 "no such file; to fetch a model" ${PYTHON} -c "import sys\nsys.modules['timm'] = None\nsys.argv = ['convert.py', 'no_such_model']\nsys.path.insert(0, '${HERE}')\nsys.dont_write_bytecode = True\nimport convert\nconvert.main()")

# Origins without reference cases, and a model that convert.py fetches through timm. A stub module replaces timm.
file(WRITE ${FOLDER}/others.py "
import pathlib, sys, types, torch
sys.path.insert(0, '${HERE}')
import convert
tensors, _ = convert.read_safetensors(pathlib.Path('${CASES}/timm_resmlp_grad.safetensors'))
words = {'stem.': 'patch_embed.', 'linear_tokens': 'attn', 'mlp_channels': 'mlp', '.ls': '.gamma_'}
facebook = {}
for name, tensor in tensors.items():
    if name.startswith('model.'):
        name = name[len('model.'):]
        for theirs, ours in words.items():
            name = name.replace(theirs, ours)
        facebook[name] = tensor.reshape(-1) if name.endswith(('.alpha', '.beta')) else tensor
convert.write_safetensors('facebook.safetensors', facebook, {})
convert.write_safetensors('across.safetensors', {'head.' + name: torch.ones(shape) for name, shape in {
    'ln.g': [1], 'uv.weight': [7, 4], 'k_fc.weight': [3, 5], 'v_fc.weight': [4, 6], 'o.weight': [4, 4],
    'res_scale.scale': [4]}.items()}, {})

tensors, _ = convert.read_safetensors(pathlib.Path('${CASES}/ebf_wenet_layer.safetensors'))
layer = {name[len('model.'):]: tensor for name, tensor in tensors.items() if name.startswith('model.')}
speech = {'encoder.encoders.' + str(i) + '.' + name: tensor for i in range(2) for name, tensor in layer.items()}
speech.update({'encoder.after_norm.weight': torch.ones(12), 'encoder.after_norm.bias': torch.zeros(12),
               'decoder.embed.0.weight': torch.ones(3, 2)})
convert.write_safetensors('espnet.safetensors', speech, {})
convert.write_safetensors('wenet.safetensors', {**speech, 'encoder.embed.pos_enc.pe': torch.zeros(1, 9, 12)}, {})

tensors, _ = convert.read_safetensors(pathlib.Path('${CASES}/timm_gmlp_small.safetensors'))
class Model:
    num_classes = 5
    pretrained_cfg = {'input_size': (3, 32, 32), 'mean': (0.1, 0.2, 0.3), 'std': (0.4, 0.5, 0.6), 'crop_pct': 0.9,
                      'interpolation': 'bilinear', 'architecture': 'gmlp_small'}
    def state_dict(self):
        return {name[len('model.'):]: tensor for name, tensor in tensors.items() if name.startswith('model.')}
class Info:
    def __init__(self, subset):
        assert subset == 'imagenet-1k'
    def index_to_description(self, index):
        return 'class ' + str(index)
def create_model(name, pretrained):
    assert name == 'gmlp_small.fetched' and pretrained
    return Model()
data = types.SimpleNamespace(ImageNetInfo=Info, infer_imagenet_subset=lambda model: 'imagenet-1k')
sys.modules['timm'] = types.SimpleNamespace(create_model=create_model, data=data)
sys.argv = ['convert.py', 'gmlp_small.fetched', 'fetched.safetensors']
convert.main()
")
expect(0 "fetched.safetensors: timm" ${PYTHON} -B others.py)
expect(0 "It names 5 classes: class 0, .*\"pixel_mean\":\\[0.1,0.2,0.3\\].*\"crop_share\":0.9,\"interpolation\":\"bilinear\"" ${PROGRAM} fetched.safetensors)
foreach(case "facebook|ResmlpImageClassifier" "across|GatedCrossAttention" "espnet|Branchformer" "wenet|Branchformer")
  string(REPLACE "|" ";" case "${case}")
  list(POP_FRONT case name expected)
  read_off(${name}.safetensors)
  set(read_by_inspect "${config}")
  expect(0 "${name}.out.safetensors: " ${PYTHON} ${HERE}/convert.py ${name}.safetensors ${name}.out.safetensors)
  expect(0 "It is a ${expected} of .*load_model<gated::${expected}<float>>" ${PROGRAM} ${name}.out.safetensors)
  read_off(${name}.out.safetensors)
  if(NOT config STREQUAL read_by_inspect)
    message(FATAL_ERROR "${name}: convert.py derives\n${config}\nbut gated_inspect derives\n${read_by_inspect}")
  endif()
endforeach()

# Text transformers: convert.py packs a published folder, and gated reads the packed JSON files. publish() writes a case as such
# a folder.
file(WRITE ${FOLDER}/publish.py "
import json, pathlib, shutil, sys
sys.path.insert(0, '${HERE}')
import convert

def publish(folder, case, **fields):
    tensors, about = convert.read_safetensors(pathlib.Path('${CASES}/' + case + '.safetensors'))
    about, path = json.loads(about['config']), pathlib.Path(folder)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    tensors = {name[len('model.'):]: tensor for name, tensor in tensors.items() if name.startswith('model.')}
    convert.write_safetensors(path / 'model.safetensors', tensors, {'format': 'pt'})
    (path / 'config.json').write_text(json.dumps({'architectures': [about['class']], **about['config_full'], **fields}))
    return path

for case in ('llama_bias_headdim', 'llama_gqa_untied', 'llama_qwen2_tied', 'llama_qwen3_grad', 'llama_mistral_window', 'gated_lm_headwise',
             'modernbert_classifier_mean', 'modernbert_mlm_grad'):
    publish(case, case)
publish('null', 'llama_gqa_untied', architectures=None, rope_parameters=None)
publish('forecaster', 'ttm_grad_frozen_exogenous', fcm_prepend_past=False, fcm_prepend_past_offset=2)
publish('fnet', 'fnet_model', hidden_act='gelu', layer_norm_eps=1e-6)
publish('mixer', 'timm_mixer_grad', model_args={'act_layer': 'ReLU', 'global_pool': ''})
publish('bordered', 'timm_mixer_grad', pretrained_cfg={'crop_mode': 'border'})

embedder = publish('embedder', 'modernbert_mlm_grad', architectures=['ModernBertModel'])
(embedder / 'pooling').mkdir()
(embedder / 'modules.json').write_text(json.dumps([{'type': 'sentence_transformers.models.' + one, 'path': path}
    for one, path in (('Transformer', ''), ('Pooling', 'pooling'), ('Normalize', '2_Normalize'))]))
(embedder / 'pooling/config.json').write_text(json.dumps({'pooling_mode_mean_tokens': True}))

for name, case, fields in json.loads(sys.argv[1]):
    publish(name, case, **fields)

(publish('unpublished', 'llama_gqa_untied') / 'config.json').unlink()
(publish('malformed', 'llama_gqa_untied') / 'config.json').write_text('{')
(publish('listed', 'llama_gqa_untied') / 'config.json').write_text('[]')
(publish('modules', 'llama_gqa_untied') / 'modules.json').write_text('{}')
(publish('no_shard', 'llama_gqa_untied') / 'model.safetensors.index.json').write_text('{\"weight_map\": {\"x\": \"part.safetensors\"}}')
(publish('no_map', 'llama_gqa_untied') / 'model.safetensors.index.json').write_text('{\"weight_map\": {}}')
truncated = publish('truncated', 'llama_gqa_untied') / 'model.safetensors'
truncated.write_bytes(truncated.read_bytes()[:-8])
short = publish('short', 'llama_gqa_untied') / 'model.safetensors'
short.write_bytes(b'abc')
(publish('cut', 'llama_gqa_untied') / 'model.safetensors').unlink()
pathlib.Path('cut/pytorch_model.bin').write_bytes(pathlib.Path('plain.pth').read_bytes()[:999])
")

# Each case, and a part of its configuration that no shape shows.
set(published
  "llama_bias_headdim|\"heads\":3,\"key_value_heads\":1,\"head_width\":6.*\"rotary_base\":5e.05"
  "llama_gqa_untied|\"form\":\"untied\".*\"heads\":4,\"key_value_heads\":2"
  "llama_qwen2_tied|\"form\":\"tied\".*\"window\":0.*\"rotary_base\":1e.06.*\"window\":4.*\"kinds\":.0,1."
  "llama_qwen3_grad|\"head_width\":6.*\"rotary_base\":1e.06"
  "llama_mistral_window|\"window\":4"
  "gated_lm_headwise|\"heads\":4,\"key_value_heads\":2,\"head_width\":4.*\"gate\":\"per_head\""
  "modernbert_classifier_mean|\"pooling\":\"mean\".*\"classes\":3.*\"heads\":2.*\"rotary_base\":160000"
  "modernbert_mlm_grad|\"heads\":2.*\"rotary_base\":100"
  "null|\"form\":\"untied\""
  "embedder|\"pooling\":\"mean\".*\"unit_length\":true")
# Each refusal when a packed file is opened: folder|case|changed fields|message.
set(refused
  "gemma|llama_gqa_untied|{\"model_type\": \"gemma2\"}|model_type = \"gemma2\", expected one of "
  "swiglu|llama_gqa_untied|{\"hidden_act\": \"swiglu\"}|hidden_act = \"swiglu\", "
  "coded|llama_gqa_untied|{\"quantization_config\": {}}|quantization_config = {}, "
  "partial|llama_gqa_untied|{\"partial_rotary_factor\": 0.5}|partial_rotary_factor = 0.5, "
  "scaled|llama_gqa_untied|{\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0}}|rope_scaling: rope_type = \"llama3\", "
  "two_sided|llama_gqa_untied|{\"is_causal\": false}|is_causal = false, "
  "sideways|llama_mistral_window|{\"sliding_window\": -1}|sliding_window = -1, "
  "labels|llama_gqa_untied|{\"architectures\": [\"LlamaForTokenClassification\"]}|architectures = "
  "sizeless|llama_gqa_untied|{\"hidden_size\": null}|hidden_size is missing"
  "worded|llama_gqa_untied|{\"num_attention_heads\": \"four\"}|num_attention_heads is \"four\", "
  "flat|modernbert_mlm_grad|{\"rope_parameters\": {\"rope_theta\": 7}}|rope_parameters: rope_theta = 7, "
  "layers|modernbert_mlm_grad|{\"layer_types\": [\"full_attention\"]}|layer_types has 1 entries, ")
set(folders "")
foreach(row IN LISTS refused)
  string(REPLACE "|" ";" row "${row}")
  list(POP_FRONT row name case fields)
  string(APPEND folders ",[\"${name}\",\"${case}\",${fields}]")
endforeach()
string(SUBSTRING "${folders}" 1 -1 folders)
expect(0 "^$" ${PYTHON} -B publish.py "[${folders}]")

foreach(row IN LISTS published)
  string(REGEX REPLACE "[|].*" "" name "${row}")
  string(REGEX REPLACE "^[^|]*[|]" "" pattern "${row}")
  expect(0 "^${name}.safetensors: transformers, .*\na gated.LanguageModel<.*> with its config.json\n$" ${PYTHON} ${HERE}/convert.py ${name})
  expect(0 "It is a TextTransformer of.*${pattern}.*load_model<gated::TextTransformer<float>>" ${PROGRAM} ${name}.safetensors)
endforeach()
expect(0 "^signature " ${SIGNATURE} embedder.safetensors)
foreach(row IN LISTS refused)
  string(REGEX REPLACE "[|].*" "" name "${row}")
  string(REGEX REPLACE "^.*[|]" "" message "${row}")
  expect(0 "^${name}.safetensors: transformers" ${PYTHON} ${HERE}/convert.py ${name})
  expect(1 "(^|\n)gated_inspect: ${name}.safetensors: config.json: ${message}[^\n]*[.]\n" ${PROGRAM} ${name}.safetensors)
endforeach()

# For other origins, convert.py reads what leaves no trace in the tensors from config.json. Each case and its configuration:
foreach(row "forecaster|TinyTimeMixer of.*\"past\":false,\"past_offset\":2"
            "fnet|Fnet of.*\"embedding_norm_eps\":1e-06.*\"norm_eps\":1e-06.*\"activation\":\"gelu\""
            "mixer|MixerImageClassifier of.*\"pooling\":\"tokens\".*\"activation\":\"relu\".*\"activation\":\"relu\"")
  string(REGEX REPLACE "[|].*" "" name "${row}")
  string(REGEX REPLACE "^[^|]*[|]" "" pattern "${row}")
  expect(0 "^${name}.safetensors: " ${PYTHON} ${HERE}/convert.py ${name})
  expect(0 "It is a ${pattern}" ${PROGRAM} ${name}.safetensors)
endforeach()
expect(1 "^config.json: crop_mode = border, but gated crops the centre.\n$" ${PYTHON} ${HERE}/convert.py bordered)

# The config.json beside a single file counts. convert.py itself refuses, in one sentence, what it cannot read.
expect(0 "^one.safetensors: transformers" ${PYTHON} ${HERE}/convert.py null/model.safetensors one.safetensors)
expect(0 "\"heads\":4,\"key_value_heads\":2" ${PROGRAM} one.safetensors)
expect(1 "^--set trunk.depth=1: [^\n]*Edit that file instead.\n$" ${PYTHON} ${HERE}/convert.py null --set trunk.depth=1)
foreach(row "unpublished|unpublished: the tensors do not show the heads, " "malformed|malformed/config.json: this is not valid JSON: "
            "listed|listed/config.json: expected a JSON object." "modules|modules/modules.json: expected a JSON array."
            "no_shard|no_shard/part.safetensors: No such file or directory."
            "no_map|no_map/model.safetensors.index.json: expected an object \"weight_map\""
            "truncated|truncated/model.safetensors: this is not a complete safetensors file."
            "short|short/model.safetensors: this is not a complete safetensors file."
            "cut|cut/pytorch_model.bin: torch cannot read this file: ")
  string(REGEX REPLACE "[|].*" "" name "${row}")
  string(REGEX REPLACE "^.*[|]" "" message "${row}")
  expect(1 "^${message}[^\n]*\n$" ${PYTHON} ${HERE}/convert.py ${name})
endforeach()
