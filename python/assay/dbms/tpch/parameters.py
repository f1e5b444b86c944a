"""Substitution parameters: those of the specification's validation runs, and seeded ones by its rules (clause 2.4)."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

Parameters = dict[str, Any]

NATIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
REGION_OF = {nation: region for region, nations in NATIONS.items() for nation in nations}
SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
MODES = ("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK")
TYPES = (
    ("ECONOMY", "LARGE", "MEDIUM", "PROMO", "SMALL", "STANDARD"),
    ("ANODIZED", "BRUSHED", "BURNISHED", "PLATED", "POLISHED"),
    ("BRASS", "COPPER", "NICKEL", "STEEL", "TIN"),
)
CONTAINERS = (("JUMBO", "LG", "MED", "SM", "WRAP"), ("BAG", "BOX", "CAN", "CASE", "DRUM", "JAR", "PACK", "PKG"))
_COLOR_WORDS = """
almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse
chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest
frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light
lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale
papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky
slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow
"""
COLORS = tuple(_COLOR_WORDS.split())
WORDS = (("express", "pending", "special", "unusual"), ("accounts", "deposits", "packages", "requests"))


def months(first: dt.date, count: int) -> dt.date:
    """The first day of the month `count` months after that of `first`."""
    whole = first.year * 12 + first.month - 1 + count
    return dt.date(whole // 12, whole % 12 + 1, 1)


def _span(first: dt.date, count: int) -> Parameters:
    return {"first_day": first, "end_day": months(first, count)}


def _year(number: int) -> Parameters:
    return _span(dt.date(number, 1, 1), 12)


def _discount(middle: Decimal) -> Parameters:
    step = Decimal("0.01")
    return {"discount_low": str(middle - step), "discount_high": str(middle + step)}


def _fraction(scale: float) -> str:
    """As a plain decimal: an exponent would make it a floating-point literal."""
    return f"{Decimal('0.0001') / Decimal(str(scale)):.12f}"


def validation(scale: float) -> dict[int, Parameters]:
    """The parameters of the validation runs, by query (clauses 2.4.x.4; 11's fraction follows the scale factor)."""
    date = dt.date
    return {
        1: {"last_day": date(1998, 12, 1) - dt.timedelta(days=90)},
        2: {"size": 15, "type": "BRASS", "region": "EUROPE"},
        3: {"segment": "BUILDING", "day": date(1995, 3, 15)},
        4: _span(date(1993, 7, 1), 3),
        5: {"region": "ASIA", **_year(1994)},
        6: {**_year(1994), **_discount(Decimal("0.06")), "quantity": 24},
        7: {"nation1": "FRANCE", "nation2": "GERMANY"},
        8: {"nation": "BRAZIL", "region": "AMERICA", "type": "ECONOMY ANODIZED STEEL"},
        9: {"color": "green"},
        10: _span(date(1993, 10, 1), 3),
        11: {"nation": "GERMANY", "fraction": _fraction(scale)},
        12: {"mode1": "MAIL", "mode2": "SHIP", **_year(1994)},
        13: {"word1": "special", "word2": "requests"},
        14: _span(date(1995, 9, 1), 1),
        15: _span(date(1996, 1, 1), 3),
        16: {"brand": "Brand#45", "type": "MEDIUM POLISHED", "sizes": [49, 14, 23, 45, 19, 3, 36, 9]},
        17: {"brand": "Brand#23", "container": "MED BOX"},
        18: {"quantity": 300},
        19: {
            "quantity1": 1,
            "quantity2": 10,
            "quantity3": 20,
            "brand1": "Brand#12",
            "brand2": "Brand#23",
            "brand3": "Brand#34",
        },
        20: {"color": "forest", "nation": "CANADA", **_year(1994)},
        21: {"nation": "SAUDI ARABIA"},
        22: {"codes": [13, 31, 23, 29, 30, 18, 17]},
    }


def drawn(scale: float, seed: int) -> dict[int, Parameters]:
    """Parameters drawn by the rules of clauses 2.4.x.3. The same seed gives the same ones for a query, always."""
    return {query: rule(random.Random(f"{seed}/{query}"), scale) for query, rule in _RULES.items()}  # noqa: S311


def _brand(random_: random.Random) -> str:
    return f"Brand#{random_.randint(1, 5)}{random_.randint(1, 5)}"


def _month(random_: random.Random, first: dt.date, last: dt.date) -> dt.date:
    count = (last.year - first.year) * 12 + last.month - first.month
    return months(first, random_.randint(0, count))


def _any_year(random_: random.Random) -> Parameters:
    return _year(random_.randint(1993, 1997))


def _q01(random_: random.Random, _: float) -> Parameters:
    return {"last_day": dt.date(1998, 12, 1) - dt.timedelta(days=random_.randint(60, 120))}


def _q02(random_: random.Random, _: float) -> Parameters:
    return {"size": random_.randint(1, 50), "type": random_.choice(TYPES[2]), "region": random_.choice([*NATIONS])}


def _q03(random_: random.Random, _: float) -> Parameters:
    return {"segment": random_.choice(SEGMENTS), "day": dt.date(1995, 3, random_.randint(1, 31))}


def _q04(random_: random.Random, _: float) -> Parameters:
    return _span(_month(random_, dt.date(1993, 1, 1), dt.date(1997, 10, 1)), 3)


def _q05(random_: random.Random, _: float) -> Parameters:
    return {"region": random_.choice([*NATIONS]), **_any_year(random_)}


def _q06(random_: random.Random, _: float) -> Parameters:
    discount = Decimal(random_.randint(2, 9)) / 100
    return {**_any_year(random_), **_discount(discount), "quantity": random_.randint(24, 25)}


def _q07(random_: random.Random, _: float) -> Parameters:
    first, second = random_.sample(sorted(REGION_OF), 2)
    return {"nation1": first, "nation2": second}


def _q08(random_: random.Random, _: float) -> Parameters:
    nation = random_.choice(sorted(REGION_OF))
    words = " ".join(random_.choice(words) for words in TYPES)
    return {"nation": nation, "region": REGION_OF[nation], "type": words}


def _q09(random_: random.Random, _: float) -> Parameters:
    return {"color": random_.choice(COLORS)}


def _q10(random_: random.Random, _: float) -> Parameters:
    return _span(_month(random_, dt.date(1993, 2, 1), dt.date(1995, 1, 1)), 3)


def _q11(random_: random.Random, scale: float) -> Parameters:
    return {"nation": random_.choice(sorted(REGION_OF)), "fraction": _fraction(scale)}


def _q12(random_: random.Random, _: float) -> Parameters:
    first, second = random_.sample(MODES, 2)
    return {"mode1": first, "mode2": second, **_any_year(random_)}


def _q13(random_: random.Random, _: float) -> Parameters:
    return {"word1": random_.choice(WORDS[0]), "word2": random_.choice(WORDS[1])}


def _q14(random_: random.Random, _: float) -> Parameters:
    return _span(_month(random_, dt.date(1993, 1, 1), dt.date(1997, 12, 1)), 1)


def _q15(random_: random.Random, _: float) -> Parameters:
    return _span(_month(random_, dt.date(1993, 1, 1), dt.date(1997, 10, 1)), 3)


def _q16(random_: random.Random, _: float) -> Parameters:
    words = f"{random_.choice(TYPES[0])} {random_.choice(TYPES[1])}"
    return {"brand": _brand(random_), "type": words, "sizes": random_.sample(range(1, 51), 8)}


def _q17(random_: random.Random, _: float) -> Parameters:
    return {"brand": _brand(random_), "container": " ".join(random_.choice(words) for words in CONTAINERS)}


def _q18(random_: random.Random, _: float) -> Parameters:
    return {"quantity": random_.randint(312, 315)}


def _q19(random_: random.Random, _: float) -> Parameters:
    ranges = {1: (1, 10), 2: (10, 20), 3: (20, 30)}
    quantities = {f"quantity{n}": random_.randint(*ends) for n, ends in ranges.items()}
    return {**quantities, **{f"brand{n}": _brand(random_) for n in (1, 2, 3)}}


def _q20(random_: random.Random, _: float) -> Parameters:
    nation = random_.choice(sorted(REGION_OF))
    return {"color": random_.choice(COLORS), "nation": nation, **_any_year(random_)}


def _q21(random_: random.Random, _: float) -> Parameters:
    return {"nation": random_.choice(sorted(REGION_OF))}


def _q22(random_: random.Random, _: float) -> Parameters:
    return {"codes": random_.sample(range(10, 35), 7)}


_RULES: dict[int, Callable[[random.Random, float], Parameters]] = dict(
    enumerate(
        (
            *(_q01, _q02, _q03, _q04, _q05, _q06, _q07, _q08, _q09, _q10, _q11),
            *(_q12, _q13, _q14, _q15, _q16, _q17, _q18, _q19, _q20, _q21, _q22),
        ),
        1,
    )
)
