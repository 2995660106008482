{# llama.cpp: ggml passes --compress-mode itself, from its own cache entry. #}
{% set definitions = cmake_definitions(compression="GGML_CUDA_COMPRESSION_MODE") %}
{% include "tools.j2" %}

{% include "toolkit.j2" %}

{% include "compile.j2" %}

{% include "collect.j2" %}
