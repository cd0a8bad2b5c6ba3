"""Letters that look like Latin letters, the commonest of Unicode's confusables (UTS 39), and digits used as letters."""

import unicodedata

_DRAWN = {
    "a": "аαɑᴀ", "b": "ЬʙƄ", "c": "сϲᴄ", "d": "ԁɗđᴅ", "e": "еєɛεᴇ", "f": "ƒꜰ", "g": "ɡցɢ", "h": "һհʜ", "i": "іιɩıɪ",
    "j": "јϳᴊ", "k": "кκᴋ", "l": "ӏłʟ", "m": "мᴍ", "n": "ոηпɴ", "o": "оοօøσᴏ", "p": "рρᴘ", "q": "ԛզ", "r": "гʀ",
    "s": "ѕꜱ", "t": "тτᴛ", "u": "υսцᴜ", "v": "νѵᴠ", "w": "ԝωѡшᴡ", "x": "хχ", "y": "уγүʏ", "z": "ᴢʐ",
    "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "H": "НΗ", "I": "ІΙӀ", "J": "Ј", "K": "КΚ", "M": "МΜ", "N": "Ν",
    "O": "ОΟ", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "X": "ХΧ", "Y": "УΥ", "Z": "Ζ",
}  # fmt: skip
LETTERS = {ord(drawn): plain for plain, alike in _DRAWN.items() for drawn in alike}
DIGITS = {ord(digit): letter for digit, letter in zip("013457@$!", "oieastasi", strict=True)}


def latin_letter(character: str) -> str:
    """The Latin letter that a character looks like, without accents; other characters stay as they are."""
    if character.isascii():
        return character
    bare = unicodedata.normalize("NFD", character)[0]
    return LETTERS.get(ord(bare), bare)
