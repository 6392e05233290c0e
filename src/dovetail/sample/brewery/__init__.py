"""A second bundled corpus, a company's pile as it grows: one brewery in three places.

Where the first corpus has odd tables, this one has too many: of 44 tables a question should get
few, because most are copies, parts or versions of another. Invented throughout, CC0.

======================  =======================================================================
source                  what is in it
======================  =======================================================================
brewery.sqlite          the brewery's own system: masters, orders by year, deliveries by year,
                        backups, loading tables, price history, brewing and quality
taprooms.duckdb         a chain of taprooms that the brewery bought: customers, orders and order
                        lines of the same shape and of other people
exports/                what people saved: contacts three times, a survey in two versions, budgets
                        by year, and the tanks' readings in folders by year and month
======================  =======================================================================

`QUESTIONS` (questions.toml) says for each question which tables answer it; some nothing answers.
"""

from dovetail.sample.brewery.corpus import write_brewery
from dovetail.sample.brewery.questions import brewery_questions

__all__ = ["brewery_questions", "write_brewery"]
