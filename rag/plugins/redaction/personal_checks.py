"""Check digits and ranges of numbers that point to a person; the functions of python-stdnum, and the plans of phonenumbers."""

import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

DIGIT = re.compile(r"\d")
SEPARATORS, EXTENSION = re.compile(r"[ ./()-]+"), re.compile(r" ?(?:x|ext)")
NOT_PHONE = re.compile(
    r"\(?(?:1[5-9]|20)\d\d ?[-/.] ?(?:1[5-9]|20)?\d\d\)?.{0,2}|\(?\d{1,4}([-/.])\d{1,2}\1\d{1,4}"
    r"|.*(?:19|20)\d\d-\d\d-\d\d.*|[\d ]*\d\.\d+(?:[- /]+\d+\.\d+)*|.*\)/.*"
)
"""Spans of years, dates, decimal numbers, and quotients."""

BRACKETS = re.compile(r"(?:\d\) ?)?[^()]*(?:\([\d ]{1,6}\)[^()]*)?")
"""One pair of brackets around digits: an area code, or a prefix that is left out abroad."""

NO_SEPARATORS = str.maketrans("", "", "+ ./()-")
LAST_SMALL_OCTET = 31
"""Dotted numbers with no part above it are rather versions and sections than addresses."""


def is_card(value: str) -> bool:
    """Whether a number has 13 to 19 digits, or 12 as cards of Maestro may, and Luhn's check digit."""
    from stdnum import luhn

    digits = "".join(DIGIT.findall(value))
    return 13 - (digits[0] in "056") <= len(digits) <= 19 and len(set(digits)) > 1 and bool(luhn.is_valid(digits))


def is_iban(value: str) -> bool:
    """Whether a text is an IBAN: ISO 7064 mod 97 first, and then the form of its country."""
    from stdnum import iban

    compact = value.replace(" ", "").replace("-", "").upper()
    if int("".join(str(int(character, 36)) for character in compact[4:] + compact[:4])) % 97 != 1:
        return False
    return bool(iban.is_valid(compact, check_country=False))


def is_public_address(value: str) -> bool:
    """Whether a text is an IP address that others can reach."""
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    is_version = address.version == 4 and all(part <= LAST_SMALL_OCTET for part in address.packed)
    return not is_version and address.is_global


CHECKS: Mapping[str, Callable[[str], bool]] = {"": bool, "credit-card": is_card, "ip": is_public_address, "iban": is_iban}
"""Checks by the name that personal.toml gives them; names with a dot are modules of stdnum."""


@lru_cache(maxsize=8192)
def passes(check: str, value: str) -> bool:
    """Whether a value passes a check."""
    from stdnum import get_cc_module

    if "." not in check:
        return CHECKS[check](value)
    country, _, kind = check.partition(".")
    module = get_cc_module(country, kind)
    return bool(module.is_valid(value) or module.is_valid(SEPARATORS.sub("", value)))


@lru_cache(maxsize=512)
def _plan(region: str) -> tuple[re.Pattern[str], str, re.Pattern[str]]:
    """The numbers of a region, its national prefix, and those of its numbers that are services: free, shared, premium."""
    from phonenumbers import PhoneMetadata

    data: Any = PhoneMetadata.metadata_for_region(region)
    services = (
        each and each.national_number_pattern for each in (data.toll_free, data.shared_cost, data.premium_rate, data.uan)
    )
    numbers, none = data.general_desc.national_number_pattern, "(?!)"
    return re.compile(numbers), data.national_prefix or "", re.compile("|".join(filter(None, services)) or none)


class PhonePlan:
    """Telephone numbers: international ones, and those of some regions as they are written there.

    With `keep_services`, numbers that are free or of shared or premium cost are left out.
    """

    def __init__(self, regions: Sequence[str], keep_services: bool) -> None:
        self.regions, self.keep_services = tuple(regions), keep_services
        self.form = lru_cache(maxsize=8192)(self._form)

    def has(self, value: str, is_alone: bool, near_word: Callable[[], bool]) -> bool:
        """Whether a text is a telephone number: alone and in a form that numbers have, or near a word for one."""
        found = self.form(value)
        if isinstance(found, bool) and (is_alone or not found):
            return found
        return near_word() and (found != "plain" or self._known(value))

    def _form(self, value: str) -> bool | str:
        """Whether the form decides; else `grouped` or `plain`, which need a word near them."""
        number = EXTENSION.split(value, 1)[0]
        number = number[number.startswith("(") and ")" not in number :]  # a bracket around more than the number
        digits = number.translate(NO_SEPARATORS)
        if len(set(digits)) < 3 or not 7 <= len(digits.lstrip("0")) <= 15 or not BRACKETS.fullmatch(number):
            return False
        if number.startswith(("+", "00")) and (known := self._international(digits.removeprefix("00"))) is not None:
            return known
        if NOT_PHONE.fullmatch(number):
            return False
        groups = SEPARATORS.split(number.strip("() "))
        typical = [len(group) for group in groups[-3:]] == [3, 3, 4] or number[0] in "(0"
        if len(groups) == 1:
            return "plain"
        return (typical and self._known(number)) or "grouped"

    def _known(self, value: str) -> bool:
        digits = EXTENSION.split(value, 1)[0].translate(NO_SEPARATORS)
        found = [_national(region, digits) for region in self.regions]
        return None not in found and True in found if self.keep_services else found != [False] * len(found)

    def _international(self, digits: str) -> bool | None:
        from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

        for length in (1, 2, 3):
            regions = COUNTRY_CODE_TO_REGION_CODE.get(int(digits[:length] or 0))
            if regions and regions[0] != "001":
                found = {_national(regions[0], rest) for rest in (digits[length:], digits[length:].lstrip("0"))}
                return True in found or (None in found and not self.keep_services)
        return None


def _national(region: str, digits: str) -> bool | None:
    """Whether digits are a number of a region, and None for that of a service."""
    numbers, prefix, services = _plan(region)
    digits = digits.removeprefix(prefix) if prefix else digits
    return None if services.fullmatch(digits) else bool(numbers.fullmatch(digits))
