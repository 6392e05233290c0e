"""Self-information of values: how unlikely chance is to put a column's values into another column.

Ids 1..n are in many columns; sparse numbers and text that few tables hold are not. Measured in nats
and scaled, so that 1 settles the matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dovetail.arrays import Flags, Floats
from dovetail.joins.columns import ColumnArrays
from dovetail.joins.scoring.weights import Weights
from dovetail.joins.sketches import commonness

# Twice the sparsity above which values are distinctive.
_DISTINCTIVE = 0.05


@dataclass(frozen=True, slots=True)
class ValueInformation:
    """Per column, how informative it is that another column has its values."""

    sparsity: Floats  # self-information of a number's being in it, over `Weights.proof`
    rarity: Floats  # how few tables hold its values, by those sampled from it
    common: Floats  # ln of how many tables hold one of them, on average

    @property
    def distinctive(self) -> Flags:
        """Columns whose values may prove something, if few tables hold them."""
        return 2 * self.sparsity > _DISTINCTIVE


def value_information(arrays: ColumnArrays, weights: Weights) -> ValueInformation:
    """The self-information of each column's values, from its range and from who else holds them."""
    common = commonness(arrays.values, arrays.table)
    live = int((arrays.rows > 0).sum())
    rarity = np.where(arrays.distinct > 0, np.log(max(live, 1)) - common, 0.0)
    rarity /= np.log(max(live / 2, 2))
    return ValueInformation(value_sparsity(arrays, weights), rarity, common)


def value_sparsity(arrays: ColumnArrays, weights: Weights) -> Floats:
    """The self-information of a number's being in each column, over `Weights.proof`."""
    largest = np.maximum(np.abs(arrays.low), np.abs(arrays.high))
    whole = arrays.number & np.isfinite(largest)
    # Chance puts a number into a key of n values up to m with n/m; text is never dense.
    share = np.where(whole, arrays.distinct / (np.where(whole, largest, 0) + 1), 0.0)
    nats: Floats = -np.log(np.clip(share, np.exp(-weights.proof), 1))
    return nats / weights.proof
