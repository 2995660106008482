{# Any CMake project: the lane's compression mode goes to nvcc directly. #}
{% set definitions = cmake_definitions(compression="") %}
{% include "tools.j2" %}

{% include "toolkit.j2" %}

{% include "compile.j2" %}

{% include "collect.j2" %}
