"""One file per rule: a pure function from facts and declaration to findings; its docstring is its documentation."""
