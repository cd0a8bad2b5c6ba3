// Markup that a web site's source has for its tools: tags, attributes, link targets, comments, fences of notes and tabs.
// Readers of the site do not see it. Offsets are UTF-16 units.

const TAGS = "a|abbr|article|aside|b|big|blockquote|br|button|center|code|dd|del|details|div|dl|dt|em|figcaption|figure|font|footer|form|h[1-6]|header|hr|i|iframe|img|input|ins|kbd|label|li|link|main|mark|meta|nav|ol|p|picture|pre|s|samp|section|small|source|span|strike|strong|sub|summary|sup|svg|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|video";
const MARKUP = new RegExp([
  /(?<fence>^[ \t]*(?<ticks>`{3,20}|~{3,20})[^\n]*\n[^]*?(?:^[ \t]*\k<ticks>[^\n]*$|(?![^])))/,
  /(?<code>(?<!`)(?<tick>`+)(?!`)(?:(?!\n[ \t]*\n)[^]){1,2000}?(?<!`)\k<tick>(?!`))/,
  /(?<aside><!--[^]*?(?:-->|(?![^]))|<(?<name>style|script)\b[^]*?(?:<\/\k<name>>|(?![^])))/,
  new RegExp(`(?<tag></?(?:${TAGS})\\b[^<>]{0,1000}>)`),
  /(?<link>!?\[(?=(?:[^[\]]|!?\[[^[\]]*\](?:\([^()\n]*\))?){0,1000}\][([]))/,
  /(?<target>\]\((?:[^()\n]|\([^()\n]*\)){0,1000}\)|\]\[[^[\]\n]{0,200}\])/,
  /(?<attributes>\{(?:[ \t]*:?[ \t]*[#.][\w\\]|:[ \t]|:?[ \t]*[\w-]+=["'])[^{}\n]*\})/,
  /(?<icon>(?<!\w):(?:material|octicons|fontawesome|simple)-[\w-]+:)/,
  /(?<quoted>^ {0,3}>[ \t]?)/,
  /(?<line>^[ \t]*;?-+8<-+[^\n]*$|^\[TOC\]$|^ {0,3}\[[^\]^\n]+\]:[ \t]*\S[^\n]*$|^ {0,3}(?<rule>[-*_])(?:[ \t]*\k<rule>){2,}[ \t]*$)/,
  /(?<entity>&(?:amp|lt|gt|quot|nbsp|mdash|ndash|hellip|copy|rarr|larr|#39);)/,
  /(?<escape>\\(?=[!-/:-@[-`{-~]))/,
].map(one => one.source).join("|"), "gim");
const FRONT = /^---[ \t]*\n\w[\w-]*:[^]*?\n---[ \t]*(?:\n|$)/;
const SAID = { amp: "&", lt: "<", gt: ">", quot: '"', nbsp: " ", mdash: "—", ndash: "–", hellip: "…", copy: "©", rarr: "→", larr: "←", "#39": "'" };
const KINDS = /^(?:abstract|attention|bug|caution|danger|error|example|failure|hint|important|info|new|note|question|quote|seealso|success|summary|tip|todo|warning)$/i;
const NOTE = /^[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+(?<kind>[\w-]+)[^"\n]*(?:"(?<title>[^\n]*)")?|===[!+]?[ \t]+["'](?<tab>[^\n]*)["']|\/{3,}(?:[ \t]+(?<block>[\w-]+)[ \t]*(?:\|[ \t]*(?<named>[^\n]*?))?)?|:{3,}(?:[ \t]*\{?(?<colons>[\w.-]+)\}?[ \t]*(?:\[(?<called>[^\]\n]*)\]|[^\n]*))?)[ \t]*$/d;
const OPTION = /^ {4,}[\w-]+:(?: |$)/;

/** The hidden parts of `text` in order, [{ start, end, aside, said }]: an `aside` can be opened, `said` replaces the part. */
export function hiddenIn(text, marks = []) {
  const front = FRONT.exec(text)?.[0].length ?? 0, found = front ? [{ start: 0, end: front }] : [];
  for (const one of text.slice(front).matchAll(MARKUP)) {
    const { fence, code, aside, entity } = one.groups, start = front + one.index;
    if (!fence && !code) found.push({ start, end: start + one[0].length, aside: Boolean(aside), said: entity ? SAID[entity.slice(1, -1).toLowerCase()] : "" });
  }
  // A part that a finding or a quote marks is shown.
  const edges = marks.flatMap(mark => [mark.start, mark.end]);
  return found.filter(one => !edges.some(edge => edge > one.start && edge < one.end));
}

/** The line that begins or ends a note or a tab: its name, [start, end) in the line, and its number of lines. */
export function note(lines, at) {
  const found = NOTE.exec(lines[at].text);
  if (!found) return null;
  const { block } = found.groups, named = found.indices.groups;
  const type = ["kind", "block", "colons"].find(name => KINDS.test(found.groups[name] ?? ""));
  const called = ["title", "tab", "named", "called"].map(name => named[name]).find(range => range && range[1] > range[0]);
  let end = at + 1;
  while (block && end < lines.length && OPTION.test(lines[end].text)) end++;
  return { called: block === "html" ? null : called ?? (type ? named[type] : null), end };
}
