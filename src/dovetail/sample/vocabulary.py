"""The words the sample corpus is made of: invented places, people's names and streets."""

COUNTIES: dict[str, tuple[str, ...]] = {
    "Riverside": ("Riverside", "Millbrook", "Fernhollow"),
    "Lakeshore": ("Port Alder", "Saltmere", "Heron Bay"),
    "Stonefield": ("Stonefield", "Quarry Hill", "Greywall"),
    "Northmoor": ("Northmoor", "Elkridge", "Windle"),
    "Cedar Valley": ("Cedar Cross", "Oakhurst", "Thornby"),
}

CITIES: tuple[str, ...] = tuple(city for cities in COUNTIES.values() for city in cities)

STREETS: tuple[str, ...] = (
    "Mill Lane", "Harbour Road", "Station Street", "Orchard Way", "Bridge Street", "Kiln Row",
    "Chapel Hill", "Willow Avenue", "Market Square", "Lantern Court", "Foundry Road", "Heath Drive",
    "Saddler's Walk", "Beacon Street", "Weir Lane", "Juniper Close", "Tannery Yard", "Long Acre",
)  # fmt: skip

GIVEN_NAMES: tuple[str, ...] = (
    "Adela", "Anselm", "Beatrix", "Bram", "Calla", "Casimir", "Delphine", "Dorian", "Edda", "Emrys",
    "Fenna", "Florian", "Greta", "Gideon", "Hadley", "Henrik", "Imogen", "Ivo", "Jorun", "Jasper",
    "Kerstin", "Kaspar", "Linnea", "Lorcan", "Maren", "Milo", "Nerys", "Nils", "Odile", "Oswin",
    "Petra", "Piers", "Quilla", "Quentin", "Rosalind", "Rufus", "Saskia", "Silas", "Tamsin",
    "Tobias", "Ulla", "Ulric", "Verena", "Viggo", "Wilma", "Wendell", "Yara", "Yorick", "Zelda",
    "Zeno",
)  # fmt: skip

FAMILY_NAMES: tuple[str, ...] = (
    "Alderbrook", "Ambersley", "Barrowmead", "Birchell", "Bramblecote", "Carrowick", "Cindermoor",
    "Clayhanger", "Copperthwaite", "Dapplegrey", "Dunmarrow", "Eddowater", "Elmstrand", "Fallowell",
    "Farthingdale", "Fennimoor", "Gallowglen", "Gorsefield", "Greenhythe", "Harrowgate",
    "Hathersedge", "Hollinbeck", "Inglebright", "Ironwell", "Kestrelwood", "Kettlewick",
    "Lambswold", "Larkendale", "Lindenmere", "Maplethorn", "Marrowby", "Merriwold", "Nettlefold",
    "Netherwick", "Oakenholt", "Otterbourne", "Pebblestone", "Pennyfeather", "Pinderwick",
    "Quarrendon", "Quillfeather", "Ravensmoor", "Redfallow", "Rookhurst", "Rushmere", "Saltonby",
    "Sedgeworth", "Silverlock", "Starlingway", "Tanglewood", "Thistledown", "Thornquist",
    "Underhay", "Vellacombe", "Warblington", "Wetherell", "Whinfield", "Willowbank", "Wrenfield",
    "Yarrowdale",
)  # fmt: skip
