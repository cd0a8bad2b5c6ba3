"""Chromium without a screen: the one of this machine, or the one that `playwright install chromium` left."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, expect, sync_playwright

# A page may take its time on a machine that has much to do; what never comes is found all the same.
expect.set_options(timeout=60_000)

CONTRAST = """() => {
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const ground = element => {
    for (let at = element; at; at = at.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(at).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || !element.checkVisibility({ opacityProperty: true })) continue;
    if (element.closest("script, style, title, desc, option, .skip, .unseen")) continue;
    const style = getComputedStyle(element), paint = element.closest("svg") ? style.fill : style.color;
    const pair = [light(parse(paint)), light(ground(element))].sort((a, b) => b - a);
    const ratio = (pair[0] + .05) / (pair[1] + .05);
    if (ratio < 4.5) low.push([ratio.toFixed(2), node.textContent.trim().slice(0, 40), element.outerHTML.slice(0, 80)]);
  }
  return low;
}"""
"""Texts whose contrast with their background is below 4.5 : 1 (WCAG 2.2, level AA)."""
NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser that ends with the block."""
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
