"""Check digits and ranges of numbers that point to a person; the functions of python-stdnum, and the plans of phonenumbers."""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

DIGIT = re.compile(r"\d")
SEPARATORS = re.compile(r"[ ./()-]+")
LAST_SMALL_OCTET = 31
"""Dotted numbers with no part above it are rather versions and sections than addresses."""


def is_card(value: str) -> bool:
    """Whether a number has 13 to 19 digits and Luhn's check digit."""
    from stdnum import luhn

    digits = "".join(DIGIT.findall(value))
    return 13 <= len(digits) <= 19 and len(set(digits)) > 2 and bool(luhn.is_valid(digits))


def is_iban(value: str) -> bool:
    """Whether a text is an IBAN: ISO 7064 mod 97 first, and then the form of its country."""
    from stdnum import iban

    compact = value.replace(" ", "").replace("-", "").upper()
    if int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 != 1:
        return False
    return bool(iban.is_valid(compact, check_country=False))


def is_address(value: str, keep_private: bool = True) -> bool:
    """Whether a text is an IP address, and with `keep_private` a public one."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    is_version = address.version == 4 and all(part <= LAST_SMALL_OCTET for part in address.packed)
    return not is_version and (address.is_global or not keep_private)


def is_us_ssn(value: str) -> bool:
    """Whether the areas, groups and serials of a US social security number exist."""
    from stdnum.us import ssn

    digits = "".join(DIGIT.findall(value))
    return bool(ssn.is_valid(digits)) and len(set(digits)) > 1


def is_us_itin(value: str) -> bool:
    """Whether a number is one of the US taxpayer identifications."""
    from stdnum.us import itin

    return bool(itin.is_valid(value))


def is_national_id(name: str, value: str) -> bool:
    """Whether a number has the check digits that a module of stdnum, such as `de.idnr`, asks for."""
    from stdnum import get_cc_module

    country, _, kind = name.partition(".")
    return bool(get_cc_module(country.rstrip("_"), kind).is_valid(value))


CHECKS: Mapping[str, Callable[[str], bool]] = {
    "credit-card": is_card,
    "iban": is_iban,
    "us-ssn": is_us_ssn,
    "us-itin": is_us_itin,
}
"""Checks by the name that conf/redaction/personal.toml gives them; names with a dot are modules of stdnum."""


@lru_cache(maxsize=512)
def _plan(region: str) -> tuple[re.Pattern[str], str, re.Pattern[str] | None]:
    """The numbers of a region, its national prefix, and those of its numbers that are services: free, shared, premium."""
    from phonenumbers import PhoneMetadata

    data = PhoneMetadata.metadata_for_region(region)
    services = (data.toll_free, data.shared_cost, data.premium_rate, data.uan)
    patterns = [each.national_number_pattern for each in services if each and each.national_number_pattern]
    return (
        re.compile(data.general_desc.national_number_pattern),
        data.national_prefix or "",
        re.compile("|".join(patterns)) if patterns else None,
    )


class PhonePlan:
    """Telephone numbers: international ones of any country, and those of some regions as they are written there."""

    def __init__(self, regions: Sequence[str], keep_services: bool) -> None:
        self.regions, self.keep_services = tuple(regions), keep_services

    def has(self, value: str, near_word: bool) -> bool:
        """Whether a text is a telephone number; without a word for one near it, only in the forms that numbers have."""
        number = re.split(r" ?(?:x|ext)", value)[0]
        digits = "".join(DIGIT.findall(number))
        international = number.startswith(("+", "00"))
        if len(set(digits)) < 3 or not 7 <= len(digits.lstrip("0")) <= 15:
            return False
        if international and (known := self._international(digits.removeprefix("00"))) is not None:
            return known
        groups = SEPARATORS.split(number.strip("() "))
        typical = number.startswith(("(", "0")) and len(groups) > 1 or [len(group) for group in groups[-3:]] == [3, 3, 4]
        if not (near_word or typical) or (len(groups) == 1 and not near_word):
            return False
        return (near_word and len(groups) > 1) or any(self._national(region, digits) for region in self.regions)

    def _international(self, digits: str) -> bool | None:
        from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

        for length in (1, 2, 3):
            regions = COUNTRY_CODE_TO_REGION_CODE.get(int(digits[:length] or 0))
            if regions and regions[0] != "001":
                return self._national(regions[0], digits[length:]) or self._national(regions[0], digits[length:].lstrip("0"))
        return None

    def _national(self, region: str, digits: str) -> bool:
        numbers, prefix, services = _plan(region)
        digits = digits.removeprefix(prefix) if prefix else digits
        if not numbers.fullmatch(digits):
            return False
        return not (self.keep_services and services and services.fullmatch(digits))
