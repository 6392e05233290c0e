"""The weights of the scoring `foreign_key`: what each feature adds to the logit, and why."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Weights:
    """Log-odds in nats, each with its reason; everything else is an equation."""

    prior: float = -4.5  # an inclusion with nothing else for it: one in ninety is a key
    name: float = 6.0  # a child named after the parent outweighs the prior, with something to spare
    value: float = 3.0  # values that no chance puts together; doubled where the names say nothing
    key: float = 2.0  # the parent stands where keys stand: first, id-word, named after its table
    own: float = 4.0  # the child is its own table's key: undoes most of a matching name
    measure: float = 3.0  # the child is a number without an id-word: rank, year, count
    orphan: float = 10.0  # per unit of rows without a parent: 5% of noise cost half a nat
    repeat: float = 5.0  # per unit of key rows entered twice: 10% cost half a nat
    cover: float = 0.5  # per e-fold of the parent's values unused: prefer the one in use
    convention: float = 2.0  # the same naming convention, one nat either way around neutral
    exact: float = 0.5  # the same column name to the letter: breaks ties between competitors only
    copy: float = 2.0  # nobody refers to a backup or a staging table by its name
    source: float = 1.0  # both tables are of one source: of look-alikes, the one next to it
    transform: float = 1.0  # values match only after a transform: below an equal match as they are
    sharp: float = 6.0  # a competitor weighs 1/e for every sixth of a nat it is weaker
    competitor: float = 0.693  # every equal competitor halves the odds
    clear: float = 0.7  # an edge may found a database while its competitors together weigh less
    clash: float = 6.0  # two tables of one name in one database: as good as excluded
    proof: float = 5.0  # nats at which a chance inclusion is out of the question
    least: float = -1.0  # the logit below which a candidate neither becomes an edge nor competes


DEFAULT_WEIGHTS = Weights()
