"""Words that questions use whatever they are about: that no table says them, says nothing.

The first list is counted: words that the questions of MMQA and of Spider's training set use over
eight databases or more, and that the tables which answer them mostly do not say. The second are
words of the same kinds that these questions happen not to use: times, counts, comparisons. The
third say how an answer is to be written.
"""

from __future__ import annotations

from dovetail.search.query import stem

_COUNTED = """number average highest distinct different both maximum largest greater descending sort
ascending minimum alphabetical either corresponding between common among contain record
across above used list unique greatest lowest words under made over include belong oldest
never time earliest lower substring small older receive january result using recent
information recently without serve share smallest fewest according live available living
during provided large biggest involved frequently expensive alphabetically participate young
longest hold exactly related called youngest well equal currently about use table respective
categorized letter latest data together old offer exist earn compute spent produce
responsible popular create make work twice shortest often long classified operate took taken
owned given except exceed come based take perform"""
_OF_THE_SAME_KINDS = """per total percentage percent share month monthly year yearly annual
annually quarter quarterly week weekly day daily date today yesterday february march april
may june july august september october november december count sum mean median ratio rate
compare compared comparison trend develop development last first next current previous past
cheapest higher larger fewer top bottom best worst good bad group grouped calculate
determine state mention name value amount level type kind one two three four five six seven
eight nine ten hundred thousand million half many still also even just yet same other
another us actual overall each within since until before after below ever always already
almost around least most want need know see look like happen mainly usually appear occur
specific respectively along including excluding exclude regardless represent indicate consider part
portion proportion fraction instead whether now ago end too"""
_OF_ANSWERS = """answer round rounded decimal format formatted comma separator integer digit row
output id detail subtotal grand numerical numeric string"""

GENERIC = frozenset(stem(word) for word in f"{_COUNTED} {_OF_THE_SAME_KINDS} {_OF_ANSWERS}".split())
