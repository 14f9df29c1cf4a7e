include(${SOURCE}/project.cmake)
set(strict -std=c11 -Wall -Wextra -Werror)
execute(${CC} ${strict} -fsyntax-only -DETX_CORE_ONLY ${FILES}/etx.c)
execute(${CC} ${strict} -fsyntax-only -DETX_WITH_THREADS ${FILES}/etx.c)
# The build has already compiled etx.c with -O2.
if(OBJECT)
  execute(${CC} ${strict} "-DETX_HEADER=\"etx.h\"" -I${FILES} ${SOURCE}/app.c
    ${OBJECT} -lm -o ${WORK}/app)
  expect_same(${WORK}/app)
endif()
