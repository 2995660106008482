"""How often a healthy released library is called failing, by which rule, and whether that can be defended."""
