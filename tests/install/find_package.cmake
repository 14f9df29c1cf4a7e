include(${SOURCE}/project.cmake)
execute(${CMAKE_COMMAND} -S ${SOURCE}/find_package -B ${WORK} -G ${GENERATOR}
  -DCMAKE_C_COMPILER=${CC} -DCMAKE_PREFIX_PATH=${STAGE} -DCMAKE_BUILD_TYPE=Release)
execute(${CMAKE_COMMAND} --build ${WORK})
expect_same(${WORK}/app)
expect_same(${WORK}/app_static)
