"""The bundled sample: a company's pile in seven sources, which `company.zip` holds as files.

The content is ours and dedicated to the public domain (CC0): persons, firms and places are made up,
and any likeness is chance. Keys are real in the data and declared nowhere.

======================  =======================================================================
source                  tables
======================  =======================================================================
brewery.sqlite          the brewery's own system: masters, orders and deliveries by year, backups,
                        loading tables, price history, brewing and quality
taprooms.duckdb         a chain of taprooms that the brewery bought: customers, orders and order
                        lines of the same shape and of other people
exports/                what people saved: contacts three times, a survey in two versions, budgets
                        by year, the tanks' readings in folders by year and month; shop_customers
shop.sqlite             accounts group products orders order_items status
warehouse.duckdb        items suppliers map_07 warehouses stock shipments shipment_lines orders
                        recalls
civic.sqlite            districts schools buildings test_scores meal_programs staff events
                        school_profile closure_orders
events.jsonl            the shop's events, with nested values
======================  =======================================================================

Joins lead from one source to another: the warehouse's orders to schools, the shop's products to
items and its orders to shipments, shop_customers to accounts.
"""

from importlib.resources import files
from pathlib import Path
from zipfile import ZipFile


def write_company(into: Path) -> tuple[Path, ...]:
    """Write the pile below `into` and return the sources (files and a folder) to index."""
    with files(__name__).joinpath("company.zip").open("rb") as packed, ZipFile(packed) as pile:
        pile.extractall(into)
    return tuple(sorted(into.iterdir()))
