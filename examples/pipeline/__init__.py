"""A small compiler in five steps: parse, lower, optimise, generate, compile.

`python -m examples.pipeline` builds a program, edits one pass after the other in a copy of this
package, and shows which steps each edit has redone.
"""
