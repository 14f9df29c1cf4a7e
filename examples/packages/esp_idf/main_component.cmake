idf_component_register(SRCS main.c)
