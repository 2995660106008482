"""Walk an artifact into members, each claimed by exactly one format, within budgets that hold against bombs."""

from pipeline.inventory.digest import digest_of
from pipeline.inventory.take import take_inventory

__all__ = ["digest_of", "take_inventory"]
