interface Entry {
  readonly key: string
  readonly first: string
  /** Indented lines below it. */
  readonly rest: string[]
}

/**
 * The texts by key between the first line `---` and the next one: plain, quoted, over several lines, or as a block (`|`,
 * `>`). What is nested is left empty. Undefined without such a head.
 */
export function readFrontMatter(text: string): ReadonlyMap<string, string> | undefined {
  const [opening, ...lines] = text.split(/\r?\n/).map((line) => line.trimEnd())
  const end = lines.indexOf('---')
  if (opening !== '---' || end === -1) return undefined
  return new Map(entriesOf(lines.slice(0, end)).map(({ key, first, rest }) => [key, valueOf(first, rest)]))
}

function entriesOf(lines: readonly string[]): readonly Entry[] {
  const entries: Entry[] = []
  for (const line of lines) {
    const [, key, first = ''] = /^([\w-]+):(?:\s+(.*))?$/.exec(line) ?? []
    if (key !== undefined) entries.push({ key, first, rest: [] })
    else if (line === '' || /^\s/.test(line)) entries.at(-1)?.rest.push(line)
  }
  return entries
}

function valueOf(first: string, rest: readonly string[]): string {
  const [, style] = /^([|>])[+-]?\d?(?:\s+#.*)?$/.exec(first) ?? []
  if (style !== undefined) return blockOf(style === '>', rest)
  if (first === '') return ''
  const whole = [first, ...rest].map((line) => line.trim()).filter((line) => line !== '').join(' ')
  const [, double] = /^"((?:[^"\\]|\\.)*)"/.exec(whole) ?? []
  if (double !== undefined) return double.replace(/\\(.)/g, (_escape, sign: string) => ({ n: '\n', t: '\t' })[sign] ?? sign)
  const [, single] = /^'((?:[^']|'')*)'/.exec(whole) ?? []
  return single?.replaceAll("''", "'") ?? whole
}

/** A folded block joins its lines to paragraphs. */
function blockOf(folded: boolean, lines: readonly string[]): string {
  const indent = Math.min(...lines.filter((line) => line !== '').map((line) => line.search(/\S/)))
  const text = lines.map((line) => line.slice(indent)).join('\n').trim()
  return folded ? text.replace(/(?<!\n)\n(?!\n)/g, ' ').replace(/\n+/g, '\n') : text
}
