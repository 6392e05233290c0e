"""The Python API: open or build a catalog, ask it, and read what it answers.

`import dovetail` offers all of this, and loads each of these modules when it is needed: to ask a
catalog takes none of what builds one.
"""
