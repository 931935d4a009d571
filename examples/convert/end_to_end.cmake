# ctest runs this: gated_inspect says what files are, and, where there is torch, convert.py makes a file that load_model() opens
# of a checkpoint of each origin.

# Runs a command, which must exit with code `expected` and say something that matches `pattern`.
function(expect expected pattern)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE code OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(NOT code STREQUAL expected OR NOT said MATCHES "${pattern}")
    message(FATAL_ERROR "${ARGN}\nexit code ${code}, expected ${expected}; this should match ${pattern}:\n${said}")
  endif()
endfunction()

expect(0 "blocks.\\*.norm.weight.*\\(4 times\\).*It is a GmlpImageClassifier of 43082 parameters.*load_model<gated::GmlpImageClassifier<float>>"
       ${PROGRAM} ${DIGITS})
expect(0 "The names are those of lucidrains|The names are those of g-mlp-pytorch" ${PROGRAM} ${CASES}/lucid_gmlp_causal.safetensors)
expect(0 "no known origin" ${PROGRAM} ${CASES}/components.safetensors)
expect(1 "cannot open" ${PROGRAM} missing.safetensors)
expect(2 "file is required" ${PROGRAM})
expect(2 "one too many: second" ${PROGRAM} ${DIGITS} second)
file(WRITE ${FOLDER}/pointer.safetensors "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n")
expect(1 "Git-LFS pointer" ${PROGRAM} pointer.safetensors)

if(NOT PYTHON)
  message("convert.py is not tried: no Python here has torch.")
  return()
endif()

# A case file, what it is here, and options that leave no trace in it.
set(cases
  "timm_gmlp_small|GmlpImageClassifier"
  "lucid_gmlpvision|GmlpImageClassifier"
  "lucid_gmlp_causal|GmlpLanguageModel|--set|trunk.causal=true"
  "lucid_amlp_noncausal|GmlpLanguageModel"
  "lucid_gmlp_circulant_noncausal|GmlpLanguageModel"
  "lucid_gmlp_noncausal_heads4_tanh|GmlpLanguageModel|--set|trunk.gate_activation=tanh"
  "lucid_flashtr_causal|FlashLanguageModel|--set|trunk.block.causal=true|--set|trunk.block.chunk=8"
  "lucid_flash_causal_rotary|MixedChunkAttention|--set|causal=true"
  "lucid_gau_causal|GatedAttentionUnit|--set|causal=true"
  "junnyu_flashquad_model|GauEncoder"
  "junnyu_flashquad_mlm|GauEncoder"
  "junnyu_flash_model|FlashLanguageModel"
  "gau_alpha_softmaxplus_mask|GauEncoder"
  "rtmcc_self|GatedAttentionUnit"
  "rtmcc_self_relbias_small|GatedAttentionUnit"
  "labml_gmlp_block|GmlpBlock")
foreach(case IN LISTS cases)
  string(REPLACE "|" ";" case "${case}")
  list(POP_FRONT case name model)
  expect(0 "${name}.out.safetensors: " ${PYTHON} ${HERE}/convert.py ${CASES}/${name}.safetensors ${name}.out.safetensors --part model. ${case})
  expect(0 "It is a ${model} of .*load_model<gated::${model}<float>>" ${PROGRAM} ${name}.out.safetensors)
endforeach()
expect(0 "\"causal\":true" ${PROGRAM} lucid_gmlp_causal.out.safetensors)
expect(0 "\"chunk\":8" ${PROGRAM} lucid_flashtr_causal.out.safetensors)

# A pickle, wrapped as trainers wrap them, with labels; one with more than tensors must be trusted.
file(WRITE ${FOLDER}/wrap.py "
import sys, torch
sys.path.insert(0, '${HERE}')
import pathlib, convert
tensors, _ = convert.read_safetensors(pathlib.Path('${CASES}/timm_gmlp_small.safetensors'))
state = {'module.' + name[len('model.'):]: tensor for name, tensor in tensors.items() if name.startswith('model.')}
torch.save({'state_dict': state, 'epoch': 3}, 'plain.pth')
torch.save({'state_dict': state, 'meta': pathlib.PurePosixPath('x')}, 'more.pth')
")
expect(0 "" ${PYTHON} -B wrap.py)
file(WRITE ${FOLDER}/labels.txt "a\nb\nc\nd\ne\n")
expect(0 "plain.safetensors: timm" ${PYTHON} ${HERE}/convert.py plain.pth --labels labels.txt)
expect(0 "It names 5 classes: a.*It is a GmlpImageClassifier" ${PROGRAM} plain.safetensors)
expect(1 "add --trust" ${PYTHON} ${HERE}/convert.py more.pth)
expect(0 "more.safetensors: timm" ${PYTHON} ${HERE}/convert.py more.pth --trust)
expect(0 "It is a GmlpImageClassifier" ${PROGRAM} more.safetensors)
expect(1 "ZIP archive" ${PROGRAM} plain.pth)
expect(1 "no such file; to fetch a model" ${PYTHON} -c "import sys\nsys.modules['timm'] = None\nsys.argv = ['convert.py', 'no_such_model']\nsys.path.insert(0, '${HERE}')\nsys.dont_write_bytecode = True\nimport convert\nconvert.main()")
