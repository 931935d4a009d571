@ Files in memory. FOLDER is examples/spot_words. The model lies in flash. The sound lies outside it: on a device, it comes from a
@ microphone.

#include "file.inc"

        .section .rodata
        file    words_begin, words_end, FOLDER/ten_words.safetensors

        .section .sound, "a"
        file    sound_begin, sound_end, FOLDER/three_words.wav
