"""Words of several languages, and abbreviations, for the things that most companies keep tables of.

Systems of one company are named in several languages and by several generations of people: what one
calls a customer is a Kunde in the next. Only words that mean one thing in such names are here.
"""

from __future__ import annotations

from functools import lru_cache

# One thing a line: English first, then German, French, Spanish, Portuguese, Italian, Dutch,
# Norwegian, Swedish, Danish and Polish where people write them in names, singular, without accents.
_THINGS = """
employee emp staff personnel pers personal mitarbeiter employe salarie empleado funcionario
    dipendente medewerker ansatt anstalld medarbejder medarbeider pracownik colaborador
    collaborateur collaboratore
customer cust client kunde kunden cliente klant kund klient
supplier vendor lieferant kreditor fournisseur proveedor fornecedor fornitore leverancier
    leverandor leverantor dostawca
order auftrag bestellung commande pedido encomenda ordine bestelling ordre zamowienie
invoice inv rechnung facture factura fatura fattura factuur faktura
payment zahlung paiement pago pagamento betaling betalning platnosc
product prod article artikel producto produit produto prodotto articolo articulo artigo vare
    produkt varenr sku
account acct konto compte cuenta conta conto rekening
contract vertrag contrat contrato contratto avtale kontrakt umowa
policy police polise poliza apolice polizza polis
claim schaden sinistre siniestro sinistro schade skade szkoda
patient paciente paziente pasient pacjent
department dept abteilung departement departamento dipartimento reparto afdeling avdeling avdelning
branch filiale succursale agence sucursal filial vestiging oddzial
store shop laden magasin boutique tienda loja negozio winkel butikk butik sklep
warehouse lager entrepot almacen armazem magazzino magazijn magazyn
plant werk usine fabrica stabilimento fabriek anlegg fabrikk
machine maschine equipo maquina macchina maskin maszyna
vehicle fahrzeug vehicule vehiculo veiculo veicolo voertuig kjoretoy fordon
agent makler vermittler courtier agente mediador megler broker intermediary
country land pays pais paese kraj
currency curr waehrung devise moneda moeda valuta
meter zaehler compteur contador contatore maler
batch charge lote lotto parti partia
member mitglied membre socio membro medlem lid czlonek
course kurs cours curso corso cursus
student etudiant estudiante alumno aluno studente elev
teacher lehrer professeur profesor docente leraar larer
project projekt projet proyecto projeto progetto prosjekt
ship schiff navire buque navio nave schip skip fartyg statek
email mail courriel correo epost
flight flug vol vuelo voo volo vlucht
"""


def _numbers() -> dict[str, int]:
    """The number of the thing that each word is for."""
    lines = _THINGS.strip().replace("\n    ", " ").split("\n")
    return {word: number for number, line in enumerate(lines) for word in line.split()}


_THING_OF = _numbers()
# What makes one of many, in languages other than English: endings, and what they stand for.
_PLURALS = (("en", ""), ("n", ""), ("es", ""), ("er", ""), ("i", "o"), ("i", "e"), ("e", "a"))


@lru_cache(maxsize=1 << 17)
def thing_of(word: str) -> int | None:
    """The number of the thing that a word is for, in the singular or the plural; None for others.

    >>> thing_of("kunden") == thing_of("customer") == thing_of("clienti")
    True
    """
    if word in _THING_OF:
        return _THING_OF[word]
    for ending, instead in _PLURALS:
        one = word.removesuffix(ending) + instead
        if len(word) > 4 and word.endswith(ending) and one in _THING_OF:
            return _THING_OF[one]
    return None


def same_thing(one: str, other: str) -> bool:
    """Whether two words are for the same thing, whatever the language.

    >>> same_thing("customer", "kunde"), same_thing("customer", "order")
    (True, False)
    """
    thing = thing_of(one)
    return thing is not None and thing == thing_of(other)
