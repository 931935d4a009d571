# cmake -DLIBRARY=… -DCHECK=… -DPYTHON=… -DFOLDER=… -P end_to_end.cmake
#
# Runs demo.py with the library, and compares its results with C++'s.

include(${CMAKE_CURRENT_LIST_DIR}/../common/expect_run.cmake)
set(ENV{GATED_LIBRARY} ${LIBRARY})
set(ENV{PYTHONDONTWRITEBYTECODE} 1)

set(PROGRAM ${PYTHON})
expect_run(0 "digits +353 of 359 right.*births of the next week.*And Noah opened the gate of the city"
  ${CMAKE_CURRENT_LIST_DIR}/demo.py ${FOLDER})
set(PROGRAM ${CHECK})
expect_run(0 "scores.npy +the same bits.*forecast.npy +the same bits.*logits.npy +the same bits" ${FOLDER})

# Errors, odd shapes, ragged sequences, branches of a stream, and the attribute `about` of a temporary model.
file(WRITE ${FOLDER}/calls.py "
import sys
sys.path.insert(0, '${CMAKE_CURRENT_LIST_DIR}')
import numpy as np
import gated
try:
    gated.Model('missing.safetensors')
except gated.Error as error:
    print(error)
model = gated.Model('${CMAKE_CURRENT_LIST_DIR}/../generate_text/bible.int8.safetensors')
try:
    model.run([1, 2, 300])
except gated.Error as error:
    print(error)
try:
    model.run([1, 2, 3], mask=[1])
except gated.Error as error:
    print(error)
try:
    gated.Model('model', weights=8)
except TypeError:
    print('no format')
a, b = list(b'In the'), list(b'beginning')
print('shapes', (model.run([a, a]) == model.run(a + a, lengths=[6, 6])).all())
for refused in ([1.7],), ([1, 2, 3], [1.5, 1.5]), ([[a]],):
    try:
        print('accepted', model.run(*refused))
    except gated.Error as error:
        print(error)
digits = '${CMAKE_CURRENT_LIST_DIR}/../classify_digits/digits_gmlp.safetensors'
about = gated.Model(digits).about
print(about.architecture.decode(), gated.Model(digits).run(np.zeros((0, 64))).shape)
try:
    gated.Model(digits).run(np.zeros((3, 0)))
except gated.Error as error:
    print(error)
both = model.run(a + b, lengths=[6, 9])
print('ragged', (both[6:] == model.run(b)).all())
state = model.start()
state.extend(a)
branch = state.copy()
print('branch', (state.extend(b) == branch.extend(b)).all())
for refused in -1, 2**64:
    try:
        state.rewind(refused)
    except gated.Error as error:
        print(error)
")
set(PROGRAM ${PYTHON})
expect_run(0 "missing.safetensors.*300.*mask has 1 entries.*no format.*shapes True.*x has elements of type float64.*\
lengths has elements.*x has 3 dimensions.*gated.ImageClassifier.*\\(0, 10\\).*3 rows without columns.*\
ragged True.*branch True.*position = -1.*position = 18446744073709551616" ${FOLDER}/calls.py)
